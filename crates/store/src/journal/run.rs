//! Reading many messages at once: those that lie close together cost one call.

use super::reader::{Body, Pinned};
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::sync::Arc;
use tidegate_core::prefetch::prefetch_bytes;

/// The most that is read at once. Stays in a core's own cache until it is taken apart.
const RUN_BYTES: u32 = 64 * 1024;
/// Bytes between two messages that are cheaper to read than to skip.
const GAP_BYTES: u32 = 4 * 1024;

/// How many messages ahead of the one that is looked at their bytes are asked for, and how many of them: the rest of a long
/// message comes by itself. Those of many flows are anywhere in memory.
const AHEAD: usize = 2;
const AHEAD_BYTES: usize = 2 * 1024;

/// A batch that is in memory, and where in it a message is; nothing if it has to be read.
type Found = Option<(Arc<Vec<u8>>, usize)>;

impl<D: Disk> Pinned<D> {
    /// Reads several messages of one journal, each as [`read`](Pinned::read) would. Those that were put one after the
    /// other, and are asked for in that order, are read together.
    pub fn read_all(pins: &[&Pinned<D>]) -> Vec<Result<Body, Error>> {
        let Some(first) = pins.first() else { return Vec::new() };
        let mut found: Vec<Found> = first.pin.files.recent_all(pins.iter().map(|pinned| pinned.place));
        let mut bodies = Vec::with_capacity(pins.len());
        while bodies.len() < pins.len() {
            let at = bodies.len();
            foresee(pins, &found, at + AHEAD);
            if let Some((bytes, start)) = found[at].take() {
                let body = Body::kept(bytes, start, pins[at].place);
                bodies.push(body.map_or_else(|| pins[at].read(), Ok));
                continue;
            }
            match &pins[at..][..run_length(&pins[at..], &found[at..])] {
                [alone] => bodies.push(alone.read()),
                run => read_run(run, &mut bodies),
            }
        }
        bodies
    }

    fn end(&self) -> u32 {
        self.place.offset.saturating_add(self.place.len)
    }
}

fn foresee<D: Disk>(pins: &[&Pinned<D>], found: &[Found], at: usize) {
    if let Some(Some((bytes, start))) = found.get(at) {
        let len = AHEAD_BYTES.min(pins[at].place.len as usize);
        prefetch_bytes(bytes.get(*start..start + len).unwrap_or_default());
    }
}

/// How many of the first pins are read together.
fn run_length<D: Disk>(pins: &[&Pinned<D>], found: &[Found]) -> usize {
    let start = pins[0].place.offset;
    let belongs = |(pair, found): &(&[&Pinned<D>], &Found)| {
        let gap = pair[1].place.offset.checked_sub(pair[0].end());
        found.is_none()
            && Arc::ptr_eq(&pair[0].pin.segment, &pair[1].pin.segment)
            && gap.is_some_and(|gap| gap <= GAP_BYTES)
            && pair[1].end() - start <= RUN_BYTES
    };
    1 + pins.windows(2).zip(&found[1..]).take_while(belongs).count()
}

fn read_run<D: Disk>(pins: &[&Pinned<D>], bodies: &mut Vec<Result<Body, Error>>) {
    let start = pins[0].place.offset;
    let mut bytes = vec![0; (pins[pins.len() - 1].end() - start) as usize];
    let segment = &pins[0].pin.segment;
    let read = segment.file().and_then(|file| file.read_at(&mut bytes, start.into()));
    let bytes = Arc::new(bytes);
    for pinned in pins {
        let at = (pinned.place.offset - start) as usize;
        let body = read.as_ref().ok();
        let body = body.and_then(|()| Body::checked(bytes.clone(), at, pinned.place, segment.seed));
        // One by one, each has its own error.
        bodies.push(body.map_or_else(|| pinned.read(), Ok));
    }
}
