//! A bucket item as it was read: levels, rates, caps, and what other writers have to say.
//!
//! What this project does not understand (schedules, quotas, windows, live soft stamps) makes the item unsupported: a write on
//! it would move the refill time that they all share, and take from them what was due.

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_core::ledger::source::{Level, Rate};

use crate::layout::attribute::{Item, flag_of, text_of};

use super::attribute::{self, Holder, Kind};
use super::writer::Writer;

/// What an item says that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bucket's attribute {attribute} is no whole number of 64 bits")]
pub struct Malformed {
    /// The attribute.
    pub attribute: String,
}

/// A rate limit on an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Its name.
    pub(crate) limit: String,
    /// Any but `Kind::Cap`.
    pub(crate) kind: Kind,
    /// The whole limit, not this item's share of it.
    pub(crate) rate: Rate,
    /// Thousandths of tokens.
    pub(crate) tokens: i64,
    /// What the refill that `rf` tells of left over; nothing if another writer has refilled since.
    pub(crate) remainder: i64,
    /// Whether there is an attribute for it, good or not.
    pub(crate) has_remainder: bool,
}

/// A cap on an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cap {
    /// Its name.
    pub(crate) limit: String,
    /// Slots that are out; nothing if none ever was.
    pub(crate) out: Option<i64>,
    /// Of which with whom.
    pub(crate) holders: Vec<(Holder, i64)>,
}

/// A bucket item as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    /// When it was refilled, in milliseconds.
    pub(crate) refilled_ms: i64,
    /// Into how many items the bucket is split.
    pub(crate) shards: Option<i64>,
    pub(crate) limits: Vec<Stored>,
    pub(crate) caps: Vec<Cap>,
    /// Last writes of nodes.
    pub(crate) writers: Vec<Writer>,
    pub(crate) expires_s: Option<i64>,
    pub(crate) valid_until: Option<i64>,
    pub(crate) disabled: bool,
    pub(crate) cascade: bool,
    pub(crate) parent: Option<String>,
    pub(crate) generation: Option<i64>,
    pub(crate) incarnation: Option<String>,
    /// The attribute that makes it one that this project must not write to.
    pub(crate) unsupported: Option<String>,
}

fn number(item: &Item, attribute: &str) -> Result<Option<i64>, Malformed> {
    match item.get(attribute) {
        None => Ok(None),
        Some(AttributeValue::N(text)) => {
            text.parse().map(Some).map_err(|_| Malformed { attribute: attribute.to_owned() })
        }
        Some(_) => Err(Malformed { attribute: attribute.to_owned() }),
    }
}

/// Whether a stamp's deadline is yet to come.
fn is_after(value: &AttributeValue, now_ms: i64) -> bool {
    value.as_n().ok().and_then(|text| text.parse::<i64>().ok()).is_some_and(|until| until > now_ms)
}

impl Image {
    /// Reads an item. `now_ms` tells which stamps have run out.
    pub(crate) fn of(item: &Item, now_ms: i64) -> Result<Image, Malformed> {
        let mut image = Image {
            refilled_ms: number(item, attribute::REFILLED)?.unwrap_or(0),
            shards: number(item, attribute::SHARDS)?,
            expires_s: number(item, attribute::EXPIRES)?,
            valid_until: number(item, attribute::VALID_UNTIL)?,
            // Present means disabled, whatever it says: other clients test for its presence alone.
            disabled: item.contains_key(attribute::DISABLED),
            cascade: flag_of(item, attribute::CASCADE).unwrap_or(false),
            parent: text_of(item, attribute::PARENT).map(str::to_owned),
            generation: number(item, attribute::GENERATION)?,
            incarnation: text_of(item, attribute::INCARNATION).map(str::to_owned),
            ..Image::default()
        };
        for (name, value) in item {
            if let Some(node) = attribute::parse_writer(name) {
                image.writers.extend(value.as_s().ok().and_then(|text| Writer::parse(node, text)));
            } else if let Some((kind, limit, field)) = attribute::parse(name) {
                image.learn(item, (kind, limit, field), value, now_ms)?;
            } else if matches!(name.as_str(), "sched" | "rsched") {
                image.refuse(name);
            }
        }
        // The order of a map is nobody's; a test and a trace want one.
        image.limits.sort_by(|a, b| a.limit.cmp(&b.limit));
        image.caps.sort_by(|a, b| a.limit.cmp(&b.limit));
        image.caps.iter_mut().for_each(|cap| cap.holders.sort());
        image.writers.sort_by_key(|writer| writer.node);
        Ok(image)
    }

    fn learn(
        &mut self,
        item: &Item,
        (kind, limit, field): (Kind, &str, &str),
        value: &AttributeValue,
        now_ms: i64,
    ) -> Result<(), Malformed> {
        match (kind, field) {
            (Kind::Cap, "if") => {
                self.cap(limit).out = number(item, &attribute::field(kind, limit, field))?;
            }
            (Kind::Cap, _) => {
                let Some(holder) = Holder::parse(field) else { return Ok(()) };
                let held = number(item, &attribute::field(kind, limit, field))?.unwrap_or(0);
                self.cap(limit).holders.push((holder, held));
            }
            // A level without a capacity is no limit: an older client left such behind.
            (_, "tk") if item.contains_key(&attribute::field(kind, limit, "cp")) => {
                let stored = self.stored(item, kind, limit)?;
                self.limits.push(stored);
            }
            // `-` says that there is no schedule.
            (Kind::Hard, "sched" | "rsched") if value.as_s().is_ok_and(|text| text == "-") => {}
            (Kind::Hard, "sched" | "rsched" | "rsa" | "ws" | "wa" | "gc" | "tu" | "rn") => {
                self.refuse(&attribute::field(kind, limit, field));
            }
            // A stamp means something before its deadline only.
            (Kind::Hard, "soft") if is_after(value, now_ms) => {
                self.refuse(&attribute::field(kind, limit, field));
            }
            _ => {}
        }
        Ok(())
    }

    fn stored(&self, item: &Item, kind: Kind, limit: &str) -> Result<Stored, Malformed> {
        let required = |name: &str| {
            let attribute = attribute::field(kind, limit, name);
            number(item, &attribute)?.ok_or(Malformed { attribute })
        };
        let left = attribute::field(kind, limit, "rr");
        let remainder = text_of(item, &left)
            .and_then(|text| text.split_once('@'))
            .and_then(|(left, at)| (at.parse() == Ok(self.refilled_ms)).then(|| left.parse().ok()).flatten());
        Ok(Stored {
            limit: limit.to_owned(),
            kind,
            rate: Rate { capacity: required("cp")?, amount: required("ra")?, period_ms: required("rp")? },
            tokens: required("tk")?,
            remainder: remainder.unwrap_or(0).max(0),
            has_remainder: item.contains_key(&left),
        })
    }

    fn cap(&mut self, limit: &str) -> &mut Cap {
        let place = self.caps.iter().position(|cap| cap.limit == limit).unwrap_or_else(|| {
            self.caps.push(Cap { limit: limit.to_owned(), ..Cap::default() });
            self.caps.len() - 1
        });
        &mut self.caps[place]
    }

    fn refuse(&mut self, attribute: &str) {
        // The same one every time, so that the message does not change with the order of a map.
        if self.unsupported.as_deref().is_none_or(|known| attribute < known) {
            self.unsupported = Some(attribute.to_owned());
        }
    }

    /// A limit of the item.
    pub(crate) fn limit(&self, kind: Kind, limit: &str) -> Option<&Stored> {
        self.limits.iter().find(|stored| stored.kind == kind && stored.limit == limit)
    }

    /// What is known of a limit, where it is kept now: it may have become one of another kind, or have been taken away.
    pub(crate) fn known(&self, kind: Kind, limit: &str) -> Option<&Stored> {
        let kinds = [kind, Kind::Hard, Kind::Own, Kind::Aside];
        kinds.into_iter().find_map(|kind| self.limit(kind, limit))
    }

    /// Whether this is where a limit is kept now. What others have made anew goes before what was put aside.
    pub(crate) fn keeps(&self, stored: &Stored) -> bool {
        self.known(Kind::Hard, &stored.limit).is_some_and(|known| known.kind == stored.kind)
    }

    /// Into how many items the bucket is split.
    pub(crate) fn shard_count(&self) -> i64 {
        self.shards.unwrap_or(1).max(1)
    }

    /// The sequence of a node's last write.
    pub(crate) fn written_by(&self, node: u16) -> Option<i64> {
        self.writers.iter().find(|writer| writer.node == node).map(|writer| writer.sequence)
    }
}

impl Stored {
    /// This item's share of the limit, as the other clients reckon it. The limit on writes is each item's own.
    pub(crate) fn share(&self, shards: i64) -> Rate {
        match self.kind == Kind::Hard && self.limit == attribute::WRITES {
            true => self.rate,
            false => share(self.rate, shards),
        }
    }

    /// Its level now.
    pub(crate) fn level(&self) -> Level {
        Level { tokens: self.tokens, remainder: self.remainder }
    }
}

/// One of `shards` equal parts of a limit, rounded down.
pub(crate) fn share(rate: Rate, shards: i64) -> Rate {
    Rate { capacity: rate.capacity / shards.max(1), amount: rate.amount / shards.max(1), ..rate }
}

#[cfg(test)]
mod tests {
    use crate::layout::attribute::{number as n_of, text as s_of};

    use super::*;

    fn item(numbers: &[(&str, i64)], texts: &[(&str, &str)]) -> Item {
        let numbers = numbers.iter().map(|(name, n)| ((*name).to_owned(), n_of(*n)));
        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), s_of(*text)));
        numbers.chain(texts).collect()
    }

    const PLAIN: [(&str, i64); 7] = [
        ("rf", 1000),
        ("shard_count", 2),
        ("b_rpm_tk", 5_000),
        ("b_rpm_cp", 10_000),
        ("b_rpm_ra", 10_000),
        ("b_rpm_rp", 60_000),
        ("b_rpm_tc", 77),
    ];

    #[test]
    fn a_plain_item_is_read_whole() {
        let mut numbers = PLAIN.to_vec();
        numbers.extend([("c_inflight_if", 3), ("c_inflight_h4.1", 2), ("c_inflight_h9.3", 1), ("ttl", 9)]);
        let image =
            Image::of(&item(&numbers, &[("b_rpm_rr", "17@1000"), ("w_4", "17"), ("b_rpm_sched", "-")]), 0)
                .unwrap();
        let rpm = image.limit(Kind::Hard, "rpm").unwrap();
        assert_eq!(rpm.level(), Level { tokens: 5_000, remainder: 17 });
        assert_eq!(rpm.share(2), Rate { capacity: 5_000, amount: 5_000, period_ms: 60_000 });
        assert_eq!((image.shard_count(), image.expires_s, image.unsupported.clone()), (2, Some(9), None));
        assert_eq!((image.written_by(4), image.written_by(5)), (Some(17), None));
        let holders = vec![(Holder { node: 4, life: 1 }, 2), (Holder { node: 9, life: 3 }, 1)];
        assert_eq!(image.caps, [Cap { limit: "inflight".into(), out: Some(3), holders }]);
    }

    #[test]
    fn a_remainder_of_another_refill_is_none() {
        let image = Image::of(&item(&PLAIN, &[("b_rpm_rr", "17@999")]), 0).unwrap();
        let rpm = image.limit(Kind::Hard, "rpm").unwrap();
        assert_eq!((rpm.remainder, rpm.has_remainder), (0, true));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let with = |numbers: &[(&str, i64)], texts: &[(&str, &str)]| {
            let mut all = PLAIN.to_vec();
            all.extend(numbers);
            Image::of(&item(&all, texts), 5_000).unwrap().unsupported
        };
        assert_eq!(with(&[], &[("sched", "1|x")]).as_deref(), Some("sched"));
        assert_eq!(with(&[], &[("b_rpm_rsched", "1|x")]).as_deref(), Some("b_rpm_rsched"));
        assert_eq!(with(&[("b_q_rsa", 60)], &[]).as_deref(), Some("b_q_rsa"));
        assert_eq!(with(&[("b_rpm_soft", 5_001)], &[]).as_deref(), Some("b_rpm_soft"));
        assert_eq!(with(&[("b_rpm_soft", 5_000), ("unknown", 1)], &[("b_rpm_x", "?")]), None);
    }

    #[test]
    fn a_level_that_is_no_number_is_an_error_and_one_without_capacity_no_limit() {
        let mut broken = item(&PLAIN, &[]);
        broken.insert("b_rpm_tk".into(), AttributeValue::N("1.5".into()));
        assert_eq!(Image::of(&broken, 0), Err(Malformed { attribute: "b_rpm_tk".into() }));
        let image = Image::of(&item(&[("rf", 1), ("b_x_tk", 0)], &[]), 0).unwrap();
        assert!(image.limits.is_empty());
    }
}
