//! Adding minutes.

use super::key::{Bucket, Space};
use super::roll_up::{Rolled, Sums};
use super::tables::{META, META_NEWEST_MINUTE, MINUTES, ROLLED, UsageValue};
use redb::{Error, ReadableTable, WriteTransaction};

/// What was used of one bucket in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute<'a> {
    /// Where.
    pub namespace: &'a str,
    /// By whom.
    pub entity: &'a [u8],
    /// Of what.
    pub resource: &'a str,
    /// By which limit it is measured.
    pub limit: &'a str,
    /// Minutes since the epoch.
    pub minute: u32,
    /// Net: what was given back counts against it.
    pub amount: i64,
    /// How many times something was granted.
    pub events: u32,
}

impl<'a> Minute<'a> {
    fn bucket(&self) -> Bucket<'a> {
        Bucket { entity: self.entity, resource: self.resource, limit: self.limit }
    }
}

/// Adds minutes, but for those that were added before.
pub(super) fn add(transaction: &WriteTransaction, minutes: &[Minute<'_>]) -> Result<(), Error> {
    let rolled = transaction.open_table(ROLLED)?;
    let mut table = transaction.open_table(MINUTES)?;
    let mut sums = Sums::open(transaction)?;
    let mut minutes: Vec<_> = minutes.iter().collect();
    minutes.sort_by_key(|minute| minute.namespace);
    for minutes in minutes.chunk_by(|one, other| one.namespace == other.namespace) {
        let space = Space::new(minutes[0].namespace);
        let rolled = Rolled::read(&rolled, &space.name)?;
        let keys = Keys::new(&space, minutes);
        for (key, value) in keys.sorted() {
            let before = table.insert(key, value)?.map(|before| before.value());
            if let Some(before) = before {
                table.insert(key, before)?;
            } else if let Some((minute, bucket)) =
                space.split(key).filter(|(minute, bucket)| rolled.has(*minute, bucket))
            {
                // Late: the disk was full, say.
                sums.add(&space, minute, bucket, value)?;
            }
        }
    }
    Ok(())
}

/// Notes the newest of these minutes, if none was newer.
pub(super) fn note_newest(transaction: &WriteTransaction, minutes: &[Minute<'_>]) -> Result<(), Error> {
    let newest = minutes.iter().map(|minute| u64::from(minute.minute)).max().unwrap_or(0);
    let mut meta = transaction.open_table(META)?;
    let before = meta.get(META_NEWEST_MINUTE)?.map_or(0, |before| before.value());
    if newest > before {
        meta.insert(META_NEWEST_MINUTE, newest)?;
    }
    Ok(())
}

/// The keys of some minutes. In their order a page is written once, and not for every row in it.
struct Keys {
    bytes: Vec<u8>,
    /// Where each key ends, and its value.
    rows: Vec<(usize, UsageValue)>,
}

impl Keys {
    fn new(space: &Space, minutes: &[&Minute<'_>]) -> Keys {
        let mut keys = Keys { bytes: Vec::new(), rows: Vec::with_capacity(minutes.len()) };
        for minute in minutes {
            keys.bytes.extend_from_slice(&space.prefix);
            keys.bytes.extend_from_slice(&minute.minute.to_be_bytes());
            minute.bucket().put(&mut keys.bytes);
            keys.rows.push((keys.bytes.len(), (minute.amount, minute.events.into())));
        }
        keys
    }

    fn sorted(&self) -> Vec<(&[u8], UsageValue)> {
        let mut start = 0;
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .map(|(end, value)| (&self.bytes[std::mem::replace(&mut start, *end)..*end], *value))
            .collect();
        // Of two with the same key the first stays first.
        rows.sort_by_key(|(key, _)| *key);
        rows
    }
}
