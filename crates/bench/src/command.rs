//! Programs that run to their end, within a time: a failure names the program.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Runs to the end; anything but success is an error. For builds and installations, which take what they take.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    check(command, status)
}

/// Runs to the end and returns what it wrote to stdout. Killed when it takes longer.
pub fn stdout_within(command: &mut Command, within: Duration) -> Result<String> {
    let name = name(command);
    let mut complaints = tempfile::tempfile().context("no temporary file")?;
    let stderr = complaints.try_clone().context("cannot share a temporary file")?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn();
    let mut child = child.with_context(|| format!("cannot start {name}"))?;
    let mut stdout = child.stdout.take().context("no pipe to a child process")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_to_string(&mut text).map(|_| text);
        // The receiver is gone only when it has given up on this program.
        sender.send(read).ok();
    });
    let Ok(text) = receiver.recv_timeout(within) else {
        child.kill().with_context(|| format!("cannot end {name}"))?;
        child.wait().with_context(|| format!("cannot end {name}"))?;
        bail!("{name} did not end within {} s", within.as_secs());
    };
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    check(command, status).with_context(|| said(&mut complaints))?;
    text.with_context(|| format!("{name} wrote something that is not text"))
}

/// What a program wrote to a file that it shares with us.
fn said(complaints: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = complaints.rewind().and_then(|()| complaints.read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).trim().to_string(),
        Err(error) => error.to_string(),
    }
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", name(command));
    }
    Ok(())
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_returned_and_a_failure_named() {
        let within = Duration::from_secs(10);
        assert_eq!(stdout_within(Command::new("echo").arg("hi"), within).unwrap(), "hi\n");
        let mut failing = Command::new("sh");
        let error = stdout_within(failing.args(["-c", "echo why >&2; exit 3"]), within).unwrap_err();
        assert_eq!(format!("{error:#}"), "why: sh ended with exit status: 3");
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let error = stdout_within(Command::new("sleep").arg("60"), Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("did not end"), "{error}");
    }
}
