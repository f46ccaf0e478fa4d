//! The names of book files, and the order in which they are read.
//!
//! `book-0000000007.snapshot` and `book-0000000007.log` belong to generation 7. A file being made has `.tmp`
//! behind its name, a file set aside `.corrupt-N`. Any other name is none of ours, and is left alone.

use std::fmt;

/// Larger numbers are not taken for generations, so that counting on from the largest never overflows.
const MAX_GENERATION: u64 = u64::MAX / 2;

/// What a book file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Every record that counted while it was written.
    Snapshot,
    /// What changed, in order.
    Log,
}

/// The name of a book file. Sorts in reading order: a snapshot comes before the log of its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileName {
    pub generation: u64,
    pub kind: Kind,
}

impl FileName {
    /// The file that `name` stands for, if it is one of ours.
    pub fn parse(name: &str) -> Option<FileName> {
        let (digits, ending) = name.strip_prefix("book-")?.split_once('.')?;
        let kind = match ending {
            "snapshot" => Kind::Snapshot,
            "log" => Kind::Log,
            _ => return None,
        };
        let file = FileName { generation: digits.parse().ok()?, kind };
        // One spelling only: no sign, no missing or extra zeros.
        (file.generation <= MAX_GENERATION && file.to_string() == name).then_some(file)
    }

    /// Whether `name` is that of a file that was never finished.
    pub fn is_temp(name: &str) -> bool {
        name.strip_suffix(".tmp").is_some_and(|name| FileName::parse(name).is_some())
    }

    /// The name it has while it is being made.
    pub fn temp(self) -> String {
        format!("{self}.tmp")
    }

    /// The `n`th name that it may have when it is set aside.
    pub fn corrupt(self, n: u32) -> String {
        format!("{self}.corrupt-{n}")
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.kind {
            Kind::Snapshot => "snapshot",
            Kind::Log => "log",
        };
        write!(f, "book-{:010}.{ending}", self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_read_back() {
        for generation in [0, 1, 9_999_999_999, 10_000_000_000, MAX_GENERATION] {
            for kind in [Kind::Snapshot, Kind::Log] {
                let file = FileName { generation, kind };
                assert_eq!(FileName::parse(&file.to_string()), Some(file));
                assert!(FileName::is_temp(&file.temp()));
                assert_eq!(FileName::parse(&file.temp()), None);
                assert_eq!(FileName::parse(&file.corrupt(1)), None);
            }
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        let others = [
            "",
            "lock",
            "book-",
            "book-.log",
            "book-1.log",
            "book-+000000001.log",
            "book-00000000001.log",
            "book-0000000001.LOG",
            "book-0000000001",
            "book-0000000001.log.corrupt-1",
            "book-000000000x.log",
            "book-18446744073709551615.log",
            "book-99999999999999999999999.log",
            "Book-0000000001.log",
        ];
        for name in others {
            assert_eq!(FileName::parse(name), None, "{name}");
            assert!(!FileName::is_temp(&format!("{name}.tmp")), "{name}");
        }
    }

    #[test]
    fn reading_order_is_by_generation_and_then_snapshot_first() {
        let mut names: Vec<_> = ["book-0000000002.snapshot", "book-0000000001.log", "book-0000000002.log"]
            .iter()
            .map(|name| FileName::parse(name).unwrap())
            .collect();
        names.sort();
        let names: Vec<_> = names.iter().map(FileName::to_string).collect();
        assert_eq!(names, ["book-0000000001.log", "book-0000000002.snapshot", "book-0000000002.log"]);
    }
}
