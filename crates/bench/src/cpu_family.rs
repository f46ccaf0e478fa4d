//! CPU time of a process and of all that it started.
//!
//! A server may work through children: Redis rewrites its log in one, Erlang's runtime has a few. What lives is read
//! from the CPU clocks; what has ended and was waited for is in its parent's `stat`, in ticks of 10 ms.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cpu::CpuClock;

/// User and system time of that process, of its descendants, and of those that have ended.
pub fn read(pid: u32) -> Result<Duration> {
    let mut total = CpuClock::of(pid)?.read()? + reaped(pid)?;
    for child in children(pid)? {
        // A child may end while we look; its time is then its parent's.
        total += read(child).unwrap_or_default();
    }
    Ok(total)
}

/// What that process has started and not waited for.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let tasks = format!("/proc/{pid}/task");
    let mut found = Vec::new();
    for task in fs::read_dir(&tasks).with_context(|| format!("cannot list {tasks}"))? {
        let list = task.context("cannot list threads")?.path().join("children");
        let list = fs::read_to_string(list).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Ok(found)
}

fn reaped(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = reaped_ticks(&stat).with_context(|| format!("{path} is not as expected"))?;
    // SAFETY: takes no pointers.
    let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(Duration::from_secs_f64(ticks as f64 / per_s as f64))
}

/// `cutime` and `cstime`, the 16th and 17th field; the second may hold spaces, but ends at the last bracket.
fn reaped_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(13);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    #[test]
    fn ended_children_are_read_from_their_fields() {
        let stat = "7 (a name) b) S 1 7 7 0 -1 4194560 2533 99 0 1 3 5 20 22 20 0 1 0 12 0 0";
        assert_eq!(reaped_ticks(stat), Some(42));
        assert_eq!(reaped_ticks("7 (x) S 1"), None);
    }

    #[test]
    fn a_living_child_counts() {
        // The child works until it is ended; its parent, a shell, only waits for it.
        let script = "(while :; do :; done) & wait";
        let mut shell =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let pid = shell.id();
        let enough = Duration::from_millis(20);
        let deadline = Instant::now() + Duration::from_secs(20);
        while read(pid).unwrap() < enough && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let (family, alone) = (read(pid).unwrap(), CpuClock::of(pid).unwrap().read().unwrap());
        // SAFETY: takes no pointers; the group is the shell's own.
        unsafe { libc::kill(-i32::try_from(pid).unwrap(), libc::SIGKILL) };
        shell.wait().unwrap();
        assert!(family >= enough && alone < family, "{family:?} {alone:?}");
    }
}
