//! Everything drains once faults stop: no message stays behind, and the space of those that went comes back.

use super::checker::{Checker, Violation};
use crate::event::Event;

const RULE: &str = "everything drains";

/// Looks at what is left.
#[derive(Debug, Default)]
pub struct Drains;

impl Checker for Drains {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        let Event::Drained { depths, live_bytes, total_bytes, segments, segment_bytes, .. } = event else {
            return Ok(());
        };
        if let Some((queue, depth)) = depths.iter().find(|(_, depth)| *depth > 0) {
            return Err(Violation::of(RULE, format!("{depth} messages stay in queue {}", queue.0)));
        }
        if *live_bytes > 0 {
            return Err(Violation::of(
                RULE,
                format!("no message is left, and {live_bytes} bytes are said to live"),
            ));
        }
        // A segment takes its last batch past its size, and the last segment stays.
        if *segments > 1 && *total_bytes > 3 * segment_bytes + (64 << 10) {
            return Err(Violation::of(
                RULE,
                format!("no message is left, and the journal takes {total_bytes} bytes"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::QUEUE;
    use super::*;

    fn left(depth: u64, live_bytes: u64, total_bytes: u64, segments: u64) -> Result<(), Violation> {
        let depths = vec![(QUEUE, depth)];
        let segment_bytes = 4096;
        Drains.see(&Event::Drained { depths, live_bytes, total_bytes, segments, segment_bytes, now: 0 })
    }

    #[test]
    fn what_stays_behind_is_told() {
        assert_eq!(left(0, 0, 4096, 2), Ok(()));
        assert_eq!(left(0, 0, 1 << 20, 1), Ok(()));
        assert!(left(1, 0, 4096, 2).is_err());
        assert!(left(0, 1, 4096, 2).is_err());
        assert!(left(0, 0, 1 << 20, 2).is_err());
    }
}
