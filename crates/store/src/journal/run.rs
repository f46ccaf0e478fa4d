//! Reading many messages at once: those that lie close together cost one call.

use super::reader::{Body, Pinned};
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::sync::Arc;

/// The most that is read at once. Stays in a core's own cache until it is taken apart.
const RUN_BYTES: u32 = 64 * 1024;
/// Bytes between two messages that are cheaper to read than to skip.
const GAP_BYTES: u32 = 4 * 1024;

impl<D: Disk> Pinned<D> {
    /// Reads several messages, each as [`read`](Pinned::read) would. Those that were put one after the other, and are
    /// asked for in that order, are read together.
    pub fn read_all(pins: &[&Pinned<D>]) -> Vec<Result<Body, Error>> {
        let mut bodies = Vec::with_capacity(pins.len());
        let mut rest = pins;
        while let Some((first, _)) = rest.split_first() {
            let (run, after) = rest.split_at(run_length(rest));
            rest = after;
            match run.len() {
                1 => bodies.push(first.read()),
                _ => read_run(run, &mut bodies),
            }
        }
        bodies
    }

    fn end(&self) -> u32 {
        self.place.offset.saturating_add(self.place.len)
    }
}

/// How many of the first pins are read together.
fn run_length<D: Disk>(pins: &[&Pinned<D>]) -> usize {
    let start = pins[0].place.offset;
    let belongs = |pair: &&[&Pinned<D>]| {
        let gap = pair[1].place.offset.checked_sub(pair[0].end());
        Arc::ptr_eq(&pair[0].segment, &pair[1].segment)
            && gap.is_some_and(|gap| gap <= GAP_BYTES)
            && pair[1].end() - start <= RUN_BYTES
    };
    1 + pins.windows(2).take_while(belongs).count()
}

fn read_run<D: Disk>(pins: &[&Pinned<D>], bodies: &mut Vec<Result<Body, Error>>) {
    let start = pins[0].place.offset;
    let mut bytes = vec![0; (pins[pins.len() - 1].end() - start) as usize];
    let segment = &pins[0].segment;
    let read = segment.file().and_then(|file| file.read_at(&mut bytes, start.into()));
    for pinned in pins {
        let body =
            read.as_ref().ok().and_then(|()| Body::from_bytes(&bytes, start, pinned.place, segment.seed));
        // One by one, each has its own error.
        bodies.push(body.map_or_else(|| pinned.read(), Ok));
    }
}
