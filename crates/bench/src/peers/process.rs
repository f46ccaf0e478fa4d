//! A server process: started in a folder of its own, and killed when it is dropped.
//!
//! The kernel also kills it when the bench itself is killed, so no server outlives the run.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

use super::alone::Alone;
use crate::cpu::CpuClock;
use crate::run_delay::RunDelay;
use crate::workspace::Workspace;
use crate::{cpu_family, rss};

/// How long a server may take until it listens.
pub const START_WITHIN: Duration = Duration::from_secs(10);
/// How many bytes of a server's log an error shows.
const LOG_SHOWN: usize = 2000;

/// A running server.
pub struct Process {
    name: &'static str,
    child: Child,
    cpu: CpuClock,
    /// Its working folder, with its data and its log; removed at the end. None once it was handed on.
    dir: Option<TempDir>,
}

impl Process {
    /// Starts it in a new, empty folder; what it prints goes to a log there.
    pub fn start(name: &'static str, command: Command) -> Result<Process> {
        Process::start_in(folder()?, name, command)
    }

    /// The same in a folder that was prepared for it.
    pub fn start_in(dir: TempDir, name: &'static str, mut command: Command) -> Result<Process> {
        let log = File::create(dir.path().join("log")).context("cannot create the server's log")?;
        command.stdout(log.try_clone().context("cannot share the server's log")?).stderr(log);
        Process::spawn(name, command, dir)
    }

    /// Starts it in that folder and hands over the lines that it prints to stdout.
    pub fn start_printing(
        dir: TempDir,
        name: &'static str,
        mut command: Command,
    ) -> Result<(Process, Receiver<String>)> {
        let log = File::create(dir.path().join("log")).context("cannot create the server's log")?;
        command.stdout(Stdio::piped()).stderr(log);
        let mut process = Process::spawn(name, command, dir)?;
        let stdout = process.child.stdout.take().context("no pipe to the server")?;
        Ok((process, lines_of(stdout)))
    }

    fn spawn(name: &'static str, mut command: Command, dir: TempDir) -> Result<Process> {
        command.current_dir(dir.path()).stdin(Stdio::null());
        // SAFETY: prctl is a plain system call, allowed between fork and exec.
        unsafe { command.pre_exec(die_with_parent) };
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let cpu = CpuClock::of(child.id())?;
        Ok(Process { name, child, cpu, dir: Some(dir) })
    }

    /// CPU time that it has used so far.
    pub fn cpu(&self) -> CpuClock {
        self.cpu
    }

    /// CPU time that it and its children have used so far.
    pub fn family_cpu(&self) -> Result<Duration> {
        cpu_family::read(self.child.id())
    }

    /// Has all other servers of this benchmark stand still for as long as the result lives.
    pub fn alone(&self) -> Result<Alone> {
        Alone::but_for(self.child.id())
    }

    /// What it, and the thread that asks, had to wait for a core.
    pub fn run_delay(&self) -> Result<RunDelay> {
        RunDelay::of_process_and_this_thread(self.child.id())
    }

    /// The same of only those of its threads whose names begin so.
    pub fn run_delay_of(&self, threads: &str) -> Result<RunDelay> {
        RunDelay::of_threads_and_this_thread(self.child.id(), threads)
    }

    /// Bytes of memory that it holds now.
    pub fn rss_bytes(&self) -> Result<u64> {
        rss::of(self.child.id())
    }

    /// Ends it without warning, and leaves its folder.
    pub fn kill(mut self) -> Result<TempDir> {
        self.end().with_context(|| format!("cannot end {}", self.name))?;
        self.dir.take().context("a process without a folder")
    }

    /// Asks it to end, and waits until it has.
    #[expect(
        clippy::disallowed_methods,
        reason = "waiting for a child within a time takes a look now and then"
    )]
    pub fn stop(mut self, within: Duration) -> Result<()> {
        let pid = libc::pid_t::try_from(self.child.id()).context("not a process id")?;
        // SAFETY: takes no pointers; the child was not waited for, so nobody else has its id.
        if unsafe { libc::kill(pid, libc::SIGTERM) } != 0 {
            return Err(std::io::Error::last_os_error()).with_context(|| format!("cannot end {}", self.name));
        }
        let start = Instant::now();
        loop {
            match self.child.try_wait().context("cannot look at a child process")? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.failure(&format!("ended with {status}"))),
                None if start.elapsed() > within => return Err(self.failure("does not end")),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Waits until something answers on each of these addresses.
    pub fn await_listening(&mut self, addresses: &[SocketAddr]) -> Result<()> {
        self.await_listening_within(START_WITHIN, addresses)
    }

    /// The same, for a server that takes its time.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server that is not ours signals nothing when it listens"
    )]
    pub fn await_listening_within(&mut self, within: Duration, addresses: &[SocketAddr]) -> Result<()> {
        let start = Instant::now();
        for address in addresses {
            while TcpStream::connect(address).is_err() {
                if let Some(status) = self.child.try_wait().context("cannot look at a child process")? {
                    return Err(self.failure(&format!("ended with {status}")));
                }
                if start.elapsed() > within {
                    return Err(self.failure(&format!("does not listen on {address}")));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// An error that shows what it logged last.
    pub fn failure(&self, what: &str) -> anyhow::Error {
        anyhow!("{} {what}; its log ends: {}", self.name, self.log())
    }

    /// The end of what it has logged.
    pub fn log(&self) -> String {
        let log = self.dir.as_ref().map(|dir| dir.path().join("log"));
        let log = log.and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_SHOWN)..]).trim().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without a folder it was ended before.
        if self.dir.is_some()
            && let Err(error) = self.end()
        {
            eprintln!("cannot end {}: {error}", self.name);
        }
    }
}

/// A new, empty folder on the disk of the checkout: a temporary folder is often in memory, where a sync costs nothing.
pub fn folder() -> Result<TempDir> {
    let all = Workspace::locate()?.bench_dir().join("run");
    std::fs::create_dir_all(&all).with_context(|| format!("cannot create {}", all.display()))?;
    TempDir::with_prefix_in("server-", all).context("no temporary folder")
}

/// An address that nothing listens on at the moment, for servers that cannot choose one themselves.
pub fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free loopback port")?;
    listener.local_addr().context("a listener without an address")
}

/// Reads to the end of the pipe even when nobody listens any more, so that the server never blocks on it.
fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut listening = true;
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            listening = listening && sender.send(line).is_ok();
        }
    });
    receiver
}

fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: takes no pointers.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_ends_the_process() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let process = Process::start("sleep", command).unwrap();
        let cpu = process.cpu();
        cpu.read().unwrap();
        drop(process);
        assert!(cpu.read().is_err());
    }

    #[test]
    fn a_killed_process_leaves_its_folder() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let process = Process::start("sleep", command).unwrap();
        let cpu = process.cpu();
        let dir = process.kill().unwrap();
        assert!(cpu.read().is_err());
        assert!(dir.path().join("log").is_file());
    }

    #[test]
    fn a_server_that_ends_early_is_named_with_its_log() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such option >&2; exit 3"]);
        let mut process = Process::start("toy", command).unwrap();
        let error = process.await_listening(&[free_address().unwrap()]).unwrap_err().to_string();
        assert!(error.contains("toy ended") && error.contains("no such option"), "{error}");
    }
}
