//! Resident memory of a process, as the kernel counts it.

use anyhow::{Context, Result};

/// Bytes of the process that are in memory now.
pub fn of(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse(&status).with_context(|| format!("{path} has no VmRSS"))
}

fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_kilobytes() {
        assert_eq!(parse("Name:\tx\nVmHWM:\t  9 kB\nVmRSS:\t    1234 kB\nThreads:\t1\n"), Some(1234 * 1024));
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_is_somewhere() {
        assert!(of(std::process::id()).unwrap() > 4096);
    }
}
