//! Time that threads were ready to run and the machine ran something else.
//!
//! On a shared machine a reply may be late because nobody let the server run. The kernel counts that for each
//! thread (the second figure of its `schedstat`), so that it can be told from a pause of the server's own.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// The threads that a process had when it was opened, and the thread that opened it.
pub struct RunDelay {
    threads: Vec<File>,
}

impl RunDelay {
    /// Of the thread that opens it.
    pub fn of_this_thread() -> Result<RunDelay> {
        let own = File::open("/proc/thread-self/schedstat").context("cannot open this thread's schedstat")?;
        Ok(RunDelay { threads: vec![own] })
    }

    /// Opens the counters once, since reading them should cost little.
    pub fn of_process_and_this_thread(pid: u32) -> Result<RunDelay> {
        RunDelay::of_some_and_this_thread(pid, |_| true)
    }

    /// Of the threads of a process whose names begin so, and of the thread that opens it. Others may hold a lock that these
    /// sleep on: that is the process's own doing, and not taken off.
    pub fn of_threads_and_this_thread(pid: u32, name: &str) -> Result<RunDelay> {
        let is_named =
            |task: &Path| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.starts_with(name));
        let delay = RunDelay::of_some_and_this_thread(pid, is_named)?;
        anyhow::ensure!(delay.threads.len() > 1, "no thread of the server is called {name}");
        Ok(delay)
    }

    fn of_some_and_this_thread(pid: u32, is_one: impl Fn(&Path) -> bool) -> Result<RunDelay> {
        let mut threads = RunDelay::of_this_thread()?.threads;
        let tasks = format!("/proc/{pid}/task");
        for task in fs::read_dir(&tasks).with_context(|| format!("cannot list {tasks}"))? {
            let task = task.context("cannot list threads")?.path();
            if !is_one(&task) {
                continue;
            }
            match File::open(task.join("schedstat")) {
                Ok(schedstat) => threads.push(schedstat),
                Err(error) if error.kind() == ErrorKind::NotFound => {} // It has ended since it was listed.
                Err(error) => return Err(error).with_context(|| format!("cannot open {}", task.display())),
            }
        }
        Ok(RunDelay { threads })
    }

    /// All of them together so far. A thread that has ended counts no more.
    pub fn read(&self) -> Duration {
        self.threads.iter().filter_map(read).sum()
    }
}

fn read(schedstat: &File) -> Option<Duration> {
    let mut buffer = [0; 64];
    let len = schedstat.read_at(&mut buffer, 0).ok()?;
    parse(std::str::from_utf8(&buffer[..len]).ok()?)
}

/// Nanoseconds run, nanoseconds ready, times run.
fn parse(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_figure_is_the_delay() {
        assert_eq!(parse("37826180 712450 30\n"), Some(Duration::from_nanos(712_450)));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn this_process_has_counters() {
        let delay = RunDelay::of_process_and_this_thread(std::process::id()).unwrap();
        assert!(delay.threads.len() >= 2);
        let own = RunDelay::of_this_thread().unwrap();
        assert_eq!(own.threads.len(), 1);
        // The others may end between the two.
        assert!(own.read() <= own.read());
        let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        let named = RunDelay::of_threads_and_this_thread(std::process::id(), name.trim()).unwrap();
        assert!(named.threads.len() >= 2);
        assert!(RunDelay::of_threads_and_this_thread(std::process::id(), "no such thread").is_err());
    }
}
