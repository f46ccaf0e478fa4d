//! The last batches, kept in memory for whoever reads soon after they were taken.
//!
//! Consumers that keep up are delivered what has just come in. With one flow such messages lie side by side in the
//! journal and one call reads many; flows that take turns would need a call for each.

use std::collections::VecDeque;
use std::sync::Arc;
use tidegate_core::queue::Place;

/// See the module.
#[derive(Debug)]
pub(super) struct Recent {
    /// In the order in which they lie in the journal.
    batches: VecDeque<Kept>,
    /// What their buffers take.
    buffer_bytes: usize,
    most_bytes: usize,
}

/// A batch, and where its bytes are in the journal.
#[derive(Debug)]
pub(super) struct Kept {
    segment: u32,
    offset: u32,
    bytes: Arc<Vec<u8>>,
}

impl Kept {
    /// Buffers are used again, and become as long as the longest batch. A short one is copied out of such a buffer, which
    /// costs less than what would have to go for it.
    pub fn new(segment: u32, offset: u32, bytes: &Arc<Vec<u8>>) -> Kept {
        let bytes = match bytes.capacity() > 2 * bytes.len() {
            true => Arc::new(bytes.to_vec()),
            false => bytes.clone(),
        };
        Kept { segment, offset, bytes }
    }
}

impl Recent {
    pub fn new(most_bytes: usize) -> Recent {
        Recent { batches: VecDeque::new(), buffer_bytes: 0, most_bytes }
    }

    /// Keeps a batch, the newest. The buffer of one that has to go for it comes back if nobody reads it.
    pub fn keep(&mut self, kept: Kept) -> Option<Vec<u8>> {
        let added = kept.bytes.capacity();
        let mut freed = None;
        while self.buffer_bytes + added > self.most_bytes
            && let Some(Kept { bytes, .. }) = self.batches.pop_front()
        {
            self.buffer_bytes -= bytes.capacity();
            freed = Arc::into_inner(bytes).or(freed);
        }
        if added <= self.most_bytes {
            self.buffer_bytes += added;
            self.batches.push_back(kept);
        }
        freed
    }

    /// The batch that a message is in, and where in it.
    pub fn find(&self, place: Place) -> Option<(Arc<Vec<u8>>, usize)> {
        let is_before = |kept: &Kept| (kept.segment, kept.offset) <= (place.segment, place.offset);
        let kept = self.batches.get(self.batches.partition_point(is_before).checked_sub(1)?)?;
        if kept.segment != place.segment {
            return None;
        }
        let start = (place.offset - kept.offset) as usize;
        let is_inside = start + place.len as usize <= kept.bytes.len();
        is_inside.then(|| (kept.bytes.clone(), start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(segment: u32, offset: u32, len: usize) -> Kept {
        Kept::new(segment, offset, &Arc::new(vec![segment as u8; len]))
    }

    fn place(segment: u32, offset: u32, len: u32) -> Place {
        Place { segment, offset, len }
    }

    #[test]
    fn what_is_inside_a_batch_is_found() {
        let mut recent = Recent::new(1000);
        assert!(recent.find(place(1, 28, 1)).is_none());
        for (segment, offset) in [(1, 28), (1, 128), (3, 28)] {
            assert!(recent.keep(kept(segment, offset, 100)).is_none());
        }
        let start = |segment, offset, len| recent.find(place(segment, offset, len)).map(|(_, start)| start);
        assert_eq!(start(1, 28, 100), Some(0));
        assert_eq!(start(1, 127, 1), Some(99));
        assert_eq!(start(1, 128, 40), Some(0));
        assert_eq!(start(3, 60, 68), Some(32));
        assert_eq!(start(3, 60, 69), None, "it ends behind the batch");
        assert_eq!(start(1, 228, 1), None);
        assert_eq!(start(2, 28, 1), None);
        assert_eq!(start(1, 0, 1), None);
    }

    #[test]
    fn the_oldest_make_room() {
        let mut recent = Recent::new(250);
        assert!(recent.keep(kept(1, 0, 100)).is_none());
        assert!(recent.keep(kept(1, 100, 100)).is_none());
        assert_eq!(recent.keep(kept(1, 200, 100)).unwrap().len(), 100);
        assert!(recent.find(place(1, 0, 1)).is_none());
        let (read, _) = recent.find(place(1, 100, 1)).unwrap();
        assert!(recent.keep(kept(1, 300, 100)).is_none(), "somebody reads it");
        assert_eq!(read.len(), 100);
        assert!(recent.keep(kept(1, 400, 251)).is_some(), "all others go");
        assert!(recent.find(place(1, 400, 1)).is_none(), "too large");
        assert!(recent.find(place(1, 300, 1)).is_none());
    }

    #[test]
    fn short_batches_in_long_buffers_take_little() {
        let mut recent = Recent::new(1000);
        for nth in 0..100 {
            let mut bytes = Vec::with_capacity(500);
            bytes.push(nth as u8);
            assert!(recent.keep(Kept::new(1, nth, &Arc::new(bytes))).is_none());
        }
        assert_eq!(recent.buffer_bytes, 100);
        let (bytes, start) = recent.find(place(1, 7, 1)).unwrap();
        assert_eq!(bytes[start], 7);
    }
}
