//! What a load costs the server that it is put on.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::peers::Process;
use crate::peers::alone::Alone;
use crate::queue::broker::Broker;
use crate::queue::load::Life;
use crate::row::Figures;

/// How long a server may take until its queue is empty.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);

/// A server while it works, and no other does.
pub struct Cost<'a> {
    process: &'a Process,
    before: Duration,
    _alone: Alone,
}

impl Cost<'_> {
    /// From now on. What others have written is brought to disk before, so that nobody pays for it later.
    pub fn of(process: &Process) -> Result<Cost<'_>> {
        // SAFETY: takes no arguments and cannot fail.
        unsafe { libc::sync() };
        Ok(Cost { process, _alone: process.alone()?, before: process.family_cpu()? })
    }

    /// CPU time that the server and its children have used since.
    pub fn cpu(&self) -> Result<Duration> {
        Ok(self.process.family_cpu()?.saturating_sub(self.before))
    }

    /// Measures a whole life, after which the queue holds as many messages as before.
    pub fn of_life(process: &Process, broker: &dyn Broker, life: Life) -> Result<Figures> {
        let held = broker.left()?;
        let cost = Cost::of(process)?;
        let lived = life.run(broker)?;
        await_left(broker, held)?;
        Ok(Figures {
            ops_per_s: Some(lived.messages as f64 / lived.elapsed.as_secs_f64()),
            cpu_us_per_op: Some(cost.cpu()?.as_secs_f64() * 1e6 / lived.messages as f64),
            rss_bytes: Some(process.rss_bytes()? as f64),
            ..Figures::default()
        })
    }
}

/// Waits until the server holds so many messages: it may still be busy with the last acknowledgements.
#[expect(
    clippy::disallowed_methods,
    reason = "a server does not tell when it is done; asking is work for it"
)]
fn await_left(broker: &dyn Broker, expected: u64) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = broker.left()?;
        if left == expected {
            return Ok(());
        }
        if start.elapsed() > EMPTY_WITHIN {
            bail!("{left} messages are left instead of {expected}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
