//! The names of files, and the order in which they are read.
//!
//! `keys-0000000007.snapshot` and `keys-0000000007.log` belong to generation 7. A file being made has `.tmp`
//! behind its name, a file set aside `.corrupt-N`. Any other name is none of ours, and is left alone.

use std::fmt;

/// Larger numbers are not taken for generations, so that counting on from the largest never overflows.
const MAX_GENERATION: u64 = u64::MAX / 2;

/// Whose files they are: the first word of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Series {
    /// Those of [`keys`](crate::keys).
    Keys,
    /// Those of [`book`](crate::book).
    Book,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Everything that counted while it was written.
    Snapshot,
    /// What changed, in order.
    Log,
}

/// The name of a file. Sorts in reading order: a snapshot comes before the log of its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileName {
    pub series: Series,
    pub generation: u64,
    pub kind: Kind,
}

impl Series {
    fn as_str(self) -> &'static str {
        match self {
            Series::Keys => "keys",
            Series::Book => "book",
        }
    }

    /// The file of this series that `name` stands for, if it is one.
    pub fn parse(self, name: &str) -> Option<FileName> {
        let numbered = name.strip_prefix(self.as_str())?.strip_prefix('-')?;
        let (digits, ending) = numbered.split_once('.')?;
        let kind = match ending {
            "snapshot" => Kind::Snapshot,
            "log" => Kind::Log,
            _ => return None,
        };
        let file = FileName { series: self, generation: digits.parse().ok()?, kind };
        // One spelling only: no sign, no missing or extra zeros.
        (file.generation <= MAX_GENERATION && file.to_string() == name).then_some(file)
    }

    /// Whether `name` is that of a file that was never finished.
    pub fn is_temp(self, name: &str) -> bool {
        name.strip_suffix(".tmp").is_some_and(|name| self.parse(name).is_some())
    }
}

impl FileName {
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
        write!(f, "{}-{:010}.{ending}", self.series.as_str(), self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_read_back() {
        for (series, other) in [(Series::Keys, Series::Book), (Series::Book, Series::Keys)] {
            for generation in [0, 1, 9_999_999_999, 10_000_000_000, MAX_GENERATION] {
                for kind in [Kind::Snapshot, Kind::Log] {
                    let file = FileName { series, generation, kind };
                    assert_eq!(series.parse(&file.to_string()), Some(file));
                    assert_eq!(other.parse(&file.to_string()), None);
                    assert!(series.is_temp(&file.temp()) && !other.is_temp(&file.temp()));
                    assert_eq!(series.parse(&file.temp()), None);
                    assert_eq!(series.parse(&file.corrupt(1)), None);
                }
            }
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        let others = [
            "",
            "lock",
            "keys-",
            "keys-.log",
            "keys-1.log",
            "keys-+000000001.log",
            "keys-00000000001.log",
            "keys-0000000001.LOG",
            "keys-0000000001",
            "keys0000000001.log",
            "keys-0000000001.log.corrupt-1",
            "keys-000000000x.log",
            "keys-18446744073709551615.log",
            "keys-99999999999999999999999.log",
            "Keys-0000000001.log",
        ];
        for name in others {
            assert_eq!(Series::Keys.parse(name), None, "{name}");
            assert!(!Series::Keys.is_temp(&format!("{name}.tmp")), "{name}");
        }
    }

    #[test]
    fn reading_order_is_by_generation_and_then_snapshot_first() {
        let in_order = ["book-0000000001.log", "book-0000000002.snapshot", "book-0000000002.log"];
        let mut names: Vec<_> = [1, 0, 2].map(|at: usize| Series::Book.parse(in_order[at]).unwrap()).into();
        names.sort();
        assert_eq!(names.iter().map(FileName::to_string).collect::<Vec<_>>(), in_order);
    }
}
