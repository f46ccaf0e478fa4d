//! A command for a message: the payload is its stdin, its exit code the answer.

use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tidegate_client::Message;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Ran {
    /// It said that all is well.
    Succeeded,
    /// It did not, or could not be run.
    Failed(String),
    /// Somebody pressed Ctrl-C, which the command felt too.
    Interrupted,
}

/// Runs it, and keeps the lease of the message while it runs.
pub async fn run(command: &str, queue: &str, message: &Message, visibility: Duration) -> Ran {
    let mut child = Command::new("sh");
    child.arg("-c").arg(command).stdin(Stdio::piped());
    child.env("TIDEGATE_QUEUE", queue);
    child.env("TIDEGATE_ID", message.id.to_string()).env("TIDEGATE_RECEIPT", message.receipt.to_string());
    child.env("TIDEGATE_KEY", String::from_utf8_lossy(&message.key).as_ref());
    child.env("TIDEGATE_ATTEMPTS", message.attempts.to_string());
    let payload = message.payload.clone();
    let mut running = tokio::task::spawn_blocking(move || wait(child, &payload));

    // Twice as often as needed, so that one that is late does no harm.
    let period = (visibility / 2).max(Duration::from_millis(1));
    let mut extend = interval_at(Instant::now() + period, period);
    extend.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut interrupted = false;
    loop {
        tokio::select! {
            ended = &mut running => return match ended {
                Ok(Ok(status)) if status.success() => Ran::Succeeded,
                _ if interrupted => Ran::Interrupted,
                Ok(Ok(status)) => Ran::Failed(format!("the command ended with {status}")),
                Ok(Err(error)) => Ran::Failed(format!("the command cannot be run: {error}")),
                Err(_) => Ran::Failed("the command cannot be waited for".to_owned()),
            },
            // The end of the command tells, whatever became of this.
            _ = extend.tick() => drop(message.extend(visibility).await),
            pressed = tokio::signal::ctrl_c(), if !interrupted => interrupted = pressed.is_ok(),
        }
    }
}

fn wait(mut command: Command, payload: &[u8]) -> std::io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command may well end without reading all of it.
        stdin.write_all(payload).ok();
    }
    child.wait()
}
