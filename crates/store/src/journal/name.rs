//! The names of segments.
//!
//! `journal-0000000007.segment` is segment 7. A file being made has `.tmp` behind its name, a file set aside
//! `.corrupt-N`. `journal.spare` is the file of a segment that is gone. Any other name is none of ours, and is left alone.

use std::fmt;

/// Larger numbers are not taken for segments, so that counting on from the largest never overflows.
const MAX_NUMBER: u32 = u32::MAX / 2;

/// A file that the next segment is made of. No name of a segment.
pub(crate) const SPARE: &str = "journal.spare";

/// The name of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName(pub u32);

impl SegmentName {
    /// The segment that `name` stands for, if it is one.
    pub fn parse(name: &str) -> Option<SegmentName> {
        let digits = name.strip_prefix("journal-")?.strip_suffix(".segment")?;
        let segment = SegmentName(digits.parse().ok()?);
        // One spelling only: no sign, no missing or extra zeros.
        (segment.is_valid() && segment.to_string() == name).then_some(segment)
    }

    /// Whether a segment can have this number.
    pub fn is_valid(self) -> bool {
        self.0 <= MAX_NUMBER
    }

    /// Whether `name` is that of a segment that was never finished.
    pub fn is_temp(name: &str) -> bool {
        name.strip_suffix(".tmp").is_some_and(|name| SegmentName::parse(name).is_some())
    }

    /// The segment that `name` was, before it was set aside.
    pub fn parse_corrupt(name: &str) -> Option<SegmentName> {
        let (name, n) = name.rsplit_once(".corrupt-")?;
        n.parse::<u32>().ok().and(SegmentName::parse(name))
    }

    /// The name it has while it is being made.
    pub fn temp(self) -> String {
        format!("{self}.tmp")
    }

    /// The first name for it when it is set aside that is not `taken`, so that nothing is overwritten.
    pub fn corrupt(self, taken: &[String]) -> String {
        let names = (1u32..).map(|n| format!("{self}.corrupt-{n}"));
        let mut free = names.filter(|name| !taken.contains(name));
        free.next().expect("a directory holds fewer than 2^32 names")
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal-{:010}.segment", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_read() {
        for number in [0, 1, MAX_NUMBER] {
            let name = SegmentName(number);
            assert_eq!(SegmentName::parse(&name.to_string()), Some(name));
            assert!(SegmentName::is_temp(&name.temp()));
            let first = name.corrupt(&[]);
            assert_eq!(SegmentName::parse_corrupt(&first), Some(name));
            assert_eq!(SegmentName::parse(&first), None);
            assert_ne!(name.corrupt(std::slice::from_ref(&first)), first);
        }
        for name in [
            "journal-7.segment",
            "journal-0000000007.segment.tmp",
            "journal-4294967295.segment",
            SPARE,
            "lock",
        ] {
            assert_eq!(SegmentName::parse(name), None, "{name}");
        }
    }
}
