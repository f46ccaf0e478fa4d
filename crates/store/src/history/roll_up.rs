//! Hours, days and months: sums of minutes, a quarter of an hour at a time.
//!
//! The minutes of a quarter are fifteen ranges in the order of buckets. They are merged, and what comes out for each
//! bucket goes to its three rows. That can stop after any bucket, and go on there in another transaction.

use super::key::Space;
use super::rows::next_space;
use super::tables::{DAYS, HOURS, MINUTES, MONTHS, ROLLED, UsageValue};
use redb::{AccessGuard, Error, Range, ReadableTable, StorageError, Table, WriteTransaction};
use std::ops::Bound;
use tidegate_core::ledger::Window;

/// Lies in one hour, and so in one day and one month.
const QUARTER: u32 = 15;
/// A quarter is summed up so long after its end: minutes that come later cost more.
const GRACE_MINUTES: u32 = 3;
const MINUTE_MS: u64 = 60_000;

/// How far the sums of a namespace go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rolled {
    /// All minutes before this are in the sums. A multiple of 15.
    pub minute: u32,
    /// And those of the quarter that begins there, up to this bucket.
    through: Vec<u8>,
}

impl Rolled {
    pub fn read(
        table: &impl ReadableTable<&'static str, (u32, &'static [u8])>,
        namespace: &str,
    ) -> Result<Rolled, StorageError> {
        Ok(table.get(namespace)?.map_or_else(Rolled::default, |row| {
            let (minute, through) = row.value();
            Rolled { minute, through: through.to_vec() }
        }))
    }

    /// Whether this minute of this bucket is in the sums.
    pub fn has(&self, minute: u32, bucket: &[u8]) -> bool {
        minute < self.minute || (minute - self.minute < QUARTER && bucket <= &self.through[..])
    }
}

/// The tables of sums.
pub(super) struct Sums<'a> {
    tables: [(Window, Table<'a, &'static [u8], UsageValue>); 3],
}

impl<'a> Sums<'a> {
    pub fn open(transaction: &'a WriteTransaction) -> Result<Sums<'a>, Error> {
        let hours = transaction.open_table(HOURS)?;
        let days = transaction.open_table(DAYS)?;
        let months = transaction.open_table(MONTHS)?;
        Ok(Sums { tables: [(Window::Hour, hours), (Window::Day, days), (Window::Month, months)] })
    }

    /// Adds to the hour, the day and the month that `minute` lies in.
    pub fn add(
        &mut self,
        space: &Space,
        minute: u32,
        bucket: &[u8],
        (amount, events): UsageValue,
    ) -> Result<(), StorageError> {
        for (window, table) in &mut self.tables {
            let key = space.key(start_minute(*window, minute), bucket);
            let before = table.get(&key[..])?.map_or((0, 0), |row| row.value());
            let value = (before.0.saturating_add(amount), before.1.saturating_add(events));
            table.insert(&key[..], value)?;
        }
        Ok(())
    }
}

/// The first minute of the window that `minute` lies in.
pub(super) fn start_minute(window: Window, minute: u32) -> u32 {
    (window.start_ms(u64::from(minute) * MINUTE_MS) / MINUTE_MS) as u32
}

/// Brings the sums up to `now`, for at most some `budget` rows, and says how many it took.
pub(super) fn roll_up(transaction: &WriteTransaction, now: u32, budget: usize) -> Result<usize, Error> {
    let minutes = transaction.open_table(MINUTES)?;
    let mut rolled_table = transaction.open_table(ROLLED)?;
    let mut sums = Sums::open(transaction)?;
    let mut taken = 0;
    let mut last: Option<Space> = None;
    while taken < budget
        && let Some(space) = next_space(&minutes, last.as_ref())?
    {
        let mut rolled = Rolled::read(&rolled_table, &space.name)?;
        let before = rolled.clone();
        while taken < budget
            && let Some(quarter) = next_quarter(&minutes, &space, rolled.minute)?
            && quarter.saturating_add(QUARTER + GRACE_MINUTES) <= now
        {
            if quarter > rolled.minute {
                rolled = Rolled { minute: quarter, ..Rolled::default() };
            }
            let mut merge = Merge::start(&minutes, &space, &rolled)?;
            while taken < budget
                && let Some(Summed { bucket, value, rows }) = merge.next()?
            {
                sums.add(&space, quarter, bucket, value)?;
                rolled.through.clear();
                rolled.through.extend_from_slice(bucket);
                taken += rows;
            }
            if taken < budget {
                rolled = Rolled { minute: quarter + QUARTER, ..Rolled::default() };
                // So that it is noted even if the last bucket was done before.
                taken += 1;
            }
        }
        if rolled != before {
            rolled_table.insert(&space.name[..], (rolled.minute, &rolled.through[..]))?;
        }
        last = Some(space);
    }
    Ok(taken)
}

/// The quarter of the first minute from `from` on.
fn next_quarter(
    minutes: &Table<'_, &'static [u8], UsageValue>,
    space: &Space,
    from: u32,
) -> Result<Option<u32>, StorageError> {
    let (first, last) = (space.at(from), space.end());
    match minutes.range(&first[..]..&last[..])?.next() {
        Some(row) => Ok(space.split(row?.0.value()).map(|(minute, _)| minute / QUARTER * QUARTER)),
        None => Ok(None),
    }
}

type Guards<'a> = (AccessGuard<'a, &'static [u8]>, AccessGuard<'a, UsageValue>);

/// The buckets of a quarter, each with the sum of its minutes, in order.
struct Merge<'a> {
    minutes: Vec<(Range<'a, &'static [u8], UsageValue>, Guards<'a>)>,
    /// The row that `next` handed out.
    current: Option<Guards<'a>>,
    /// Where the bucket begins in a key.
    bucket_at: usize,
}

/// What was used of a bucket in a quarter.
struct Summed<'a> {
    bucket: &'a [u8],
    value: UsageValue,
    /// In so many minutes.
    rows: usize,
}

impl<'a> Merge<'a> {
    /// All buckets of the quarter behind those that are summed up.
    fn start(
        table: &'a Table<'_, &'static [u8], UsageValue>,
        space: &Space,
        rolled: &Rolled,
    ) -> Result<Merge<'a>, StorageError> {
        let mut minutes = Vec::new();
        for minute in rolled.minute..rolled.minute + QUARTER {
            let (first, last) = (space.key(minute, &rolled.through), space.at(minute + 1));
            let mut rows = table.range::<&[u8]>((Bound::Excluded(&first[..]), Bound::Excluded(&last[..])))?;
            if let Some(row) = rows.next() {
                minutes.push((rows, row?));
            }
        }
        Ok(Merge { minutes, current: None, bucket_at: space.at(0).len() })
    }

    /// The next bucket.
    fn next(&mut self) -> Result<Option<Summed<'_>>, StorageError> {
        let Some(first) = (0..self.minutes.len()).min_by_key(|place| self.bucket(*place)) else {
            return Ok(None);
        };
        let (mut amount, mut events, mut rows) = (0i64, 0u64, 0);
        self.current = None;
        let mut place = self.minutes.len();
        // From the last on, so that those before stay where they are when one is done; `first` is the first of its like.
        while place > first {
            place -= 1;
            if self.bucket(place) != self.bucket(first) {
                continue;
            }
            let value = self.minutes[place].1.1.value();
            amount = amount.saturating_add(value.0);
            events = events.saturating_add(value.1);
            rows += 1;
            let current = match self.minutes[place].0.next() {
                Some(next) => std::mem::replace(&mut self.minutes[place].1, next?),
                None => self.minutes.remove(place).1,
            };
            self.current = Some(current);
        }
        let (key, _) = self.current.as_ref().expect("the first is like itself");
        let bucket = &key.value()[self.bucket_at..];
        Ok(Some(Summed { bucket, value: (amount, events), rows }))
    }

    fn bucket(&self, place: usize) -> &[u8] {
        &self.minutes[place].1.0.value()[self.bucket_at..]
    }
}
