//! What goes wrong.

use std::io;

use tidegate_store::disk::simulated::Fault;

use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::world::World;

impl World {
    /// Something may go wrong.
    pub(crate) fn torment(&mut self) -> Result<(), Violation> {
        let odds = self.plan.odds.clone();
        if self.chance.percent(odds.power) {
            let calls = self.chance.below(40);
            self.note(format_args!("the power will go in {calls} calls of the disk"));
            self.disk.inject(calls, Fault::Crash);
        }
        if self.chance.percent(odds.fail) {
            let calls = self.chance.below(20);
            self.note(format_args!("a call of the disk will fail in {calls}"));
            self.disk.inject(calls, Fault::Error(io::ErrorKind::Other));
        }
        if self.chance.percent(odds.fail_sync) {
            self.note(format_args!("the next sync will fail"));
            self.disk.fail_next_sync(io::ErrorKind::Other);
        }
        if self.chance.percent(odds.full) && self.full_until.is_none() {
            let room = self.chance.below(6_000);
            self.note(format_args!("the disk has {room} bytes left"));
            self.disk.set_capacity(Some(self.disk.used_bytes() + room));
            self.full_until = Some(self.clock.now + self.chance.between(MS, 4 * SECOND));
        }
        if self.chance.percent(odds.jump) {
            let span = *self.chance.pick(&[SECOND, 30 * SECOND, 600 * SECOND]);
            let span = self.chance.below(span);
            self.note(format_args!("the clock jumps by {} ms", span / MS));
            self.disturb(None)?;
            self.clock.pass(span);
        }
        if self.chance.percent(odds.gone) {
            self.vanish()?;
        }
        if self.chance.percent(odds.kill) {
            self.crash(false)?;
        } else if self.chance.percent(odds.stop) {
            self.stop()?;
        }
        Ok(())
    }
}
