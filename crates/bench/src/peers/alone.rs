//! One server at a time: the others stand still while it is measured.
//!
//! Servers stay up from one round to the next, and one that is idle has its timers all the same: on a few cores they are
//! in the tail of whoever is measured.

use anyhow::Result;

use crate::cpu_family;

/// Servers that stand still for as long as this lives.
pub struct Alone {
    stopped: Vec<u32>,
}

impl Alone {
    /// Stops all that this process has started, but for one of them, with what they have started themselves.
    pub fn but_for(measured: u32) -> Result<Alone> {
        // What is stopped so far goes on if the rest cannot be found.
        let mut alone = Alone { stopped: Vec::new() };
        for server in cpu_family::children(std::process::id())? {
            if server != measured {
                alone.stop(server);
            }
        }
        Ok(alone)
    }

    fn stop(&mut self, pid: u32) {
        if signal(pid, libc::SIGSTOP) {
            self.stopped.push(pid);
        }
        // One that has ended meanwhile has none.
        for child in cpu_family::children(pid).unwrap_or_default() {
            self.stop(child);
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        for &pid in &self.stopped {
            signal(pid, libc::SIGCONT);
        }
    }
}

/// False if there is no such process any more.
fn signal(pid: u32, signal: libc::c_int) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: takes no pointers. Our children keep their ids until we have waited for them.
    unsafe { libc::kill(pid, signal) == 0 }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn state(pid: u32) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    }

    /// A program that has said that it runs, and does nothing more.
    fn started() -> Child {
        let mut child = Command::new("sh");
        let mut child = child.args(["-c", "echo; exec sleep 60"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        child
    }

    #[test]
    fn the_others_stand_still_meanwhile() {
        let mut children = [started(), started()];
        let [measured, other] = [children[0].id(), children[1].id()];
        let alone = Alone::but_for(measured).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while state(other) != 'T' && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(state(other), 'T');
        assert_ne!(state(measured), 'T');
        drop(alone);
        while state(other) == 'T' && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_ne!(state(other), 'T');
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
