//! How many tests ran, read from the closing lines that the test runners print themselves.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process;

/// Tests that ran, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ended well.
    pub passed: u32,
    /// Did not.
    pub failed: u32,
    /// Said why they cannot run here.
    pub skipped: u32,
}

impl Tally {
    /// Runs a test command, passing its output on and counting what its closing lines say.
    pub fn of(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the tests")?;
        let stdout = child.stdout.take().context("the tests have no stdout")?;
        let mut tally = Self::default();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally += Self::from_closing_line(&line);
        }
        process::succeeded(command, child.wait()?)?;
        Ok(tally)
    }

    /// What one line adds: cargo's `test result: ok. 3 passed; 0 failed; ...` or pytest's `3 passed, 1 skipped in 2s`.
    fn from_closing_line(line: &str) -> Self {
        let is_closing =
            line.starts_with("test result:") || line.contains(" in ") && line.ends_with(['=', 's', ')']);
        let mut tally = Self::default();
        if !is_closing {
            return tally;
        }
        let words: Vec<&str> = line.split([' ', ';', ',', '=']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u32>() else { continue };
            match pair[1] {
                "passed" => tally.passed += count,
                "failed" | "error" | "errors" => tally.failed += count,
                "ignored" | "skipped" => tally.skipped += count,
                _ => {}
            }
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[track_caller]
    fn check(line: &str, said: &str) {
        assert_eq!(Tally::from_closing_line(line).to_string(), said, "{line}");
    }

    #[test]
    fn closing_lines_are_read() {
        check(
            "test result: ok. 25 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            "25 passed, 0 failed, 1 skipped",
        );
        check(
            "======== 120 passed, 2 skipped in 61.20s (0:01:01) ========",
            "120 passed, 0 failed, 2 skipped",
        );
        check("1 failed, 3 passed, 2 errors in 0.12s", "3 passed, 3 failed");
    }

    #[test]
    fn other_lines_are_not() {
        check("test core::burst_1_limits ... ok", "0 passed, 0 failed");
        check("running 25 tests", "0 passed, 0 failed");
    }
}
