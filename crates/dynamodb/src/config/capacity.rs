//! How the buckets of a resource stand, over all that the table has for it.
//!
//! A bucket that nobody has taken from is not in the table. Tokens that nodes hold count as there, as each has said with its last
//! write, until they would have decayed: what was spent of them since is not known here.

use std::collections::BTreeMap;

use tidegate_ledger::status::Kind;

use super::page::Page;
use crate::bucket::image::{Image, Stored};
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_of};
use crate::layout::escape::escaped;
use crate::layout::key::{self, Nsid, bucket_of};
use crate::layout::limit::WRITES;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// How an entity's bucket stands, all its items together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whose it is.
    pub entity: Vec<u8>,
    /// What is left of rates, in thousandths of tokens.
    left: BTreeMap<String, i64>,
    /// Slots of caps that are out.
    out: BTreeMap<String, i64>,
}

impl Standing {
    /// Whole tokens that are left of a rate, or slots of a cap that are out; nothing if none was ever taken.
    pub fn of(&self, limit: &str, kind: Kind) -> Option<i64> {
        match kind {
            Kind::Rate => self.left.get(limit).map(|milli| milli.div_euclid(1000)),
            Kind::Concurrency => self.out.get(limit).copied(),
        }
    }

    /// Adds an item of the bucket.
    fn add(&mut self, image: &Image, now_ms: i64) {
        let is_it = |stored: &&Stored| stored.limit != WRITES && image.keeps(stored);
        for stored in image.limits.iter().filter(is_it) {
            let rate = stored.share(image.shard_count());
            let level = rate.refilled(stored.level(), image.refilled_ms, now_ms).tokens;
            let held = image.writers.iter().filter_map(|writer| writer.outstanding(&stored.limit));
            let held: i64 = held.filter(|held| held.gone_ms > now_ms).map(|held| held.held).sum();
            *self.left.entry(stored.limit.clone()).or_default() +=
                level.saturating_add(held).min(rate.capacity);
        }
        for cap in &image.caps {
            *self.out.entry(cap.limit.clone()).or_default() += cap.out.unwrap_or(0);
        }
    }
}

impl Table {
    /// Shows how every bucket of a resource stands.
    pub async fn standings(
        &self,
        ns: &Nsid,
        resource: &str,
        now_ms: u64,
        mut show: impl FnMut(&Standing),
    ) -> Result<(), Fault> {
        let places = Places::From("BUCKET#".into());
        let query = Query::at(Index::Gsi2, key::resource_pk(ns, resource), places);
        let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
        let (mut open, mut from) = (None::<Standing>, None);
        loop {
            let part = self.query(&query, from).await?;
            for item in &part.items {
                let of = key_of(item).and_then(|key| bucket_of(ns, &key.pk));
                let (Some(of), Ok(image)) = (of, Image::of(item, now_ms)) else { continue };
                // All items of an entity come together.
                if let Some(ended) = open.take_if(|open| open.entity != of.entity) {
                    show(&ended);
                }
                let open = open.get_or_insert_with(|| Standing { entity: of.entity, ..Standing::default() });
                open.add(&image, now_ms);
            }
            from = part.next;
            if from.is_none() {
                break;
            }
        }
        open.iter().for_each(show);
        Ok(())
    }

    /// The buckets of all entities on a resource, whole, in order of their entities.
    pub async fn bucket_items_of_resource(
        &self,
        ns: &Nsid,
        resource: &str,
        after: Option<&[u8]>,
        max: usize,
    ) -> Result<Page<Item>, Fault> {
        let places = match after {
            // All shards of an entity come together: `#` is before any sign of an id, and `$` right after it.
            Some(after) => Places::Between(format!("BUCKET#{}$", escaped(after)), "BUCKET$".into()),
            None => Places::From("BUCKET#".into()),
        };
        let query = Query::at(Index::Gsi2, key::resource_pk(ns, resource), places).page(max.max(1));
        let part = self.query(&query, None).await?;
        Ok(Page { items: part.items, is_last: part.next.is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::attribute::number;

    fn bucket(numbers: &[(&str, i64)]) -> Item {
        numbers.iter().map(|(name, value)| ((*name).to_owned(), number(value))).collect()
    }

    #[test]
    fn buckets_are_refilled_and_added_up() {
        let one = bucket(&[
            ("rf", 1_000),
            ("b_tpm_tk", -5_000),
            ("b_tpm_cp", 100_000),
            ("b_tpm_ra", 60_000),
            ("b_tpm_rp", 60_000),
            ("b_wcu_cp", 1_000_000),
            ("b_wcu_ra", 1),
            ("b_wcu_rp", 1),
        ]);
        let other = bucket(&[
            ("rf", 0),
            ("b_tpm_tk", 99_500),
            ("b_tpm_cp", 100_000),
            ("b_tpm_ra", 60_000),
            ("b_tpm_rp", 60_000),
        ]);
        let mut standing = Standing::default();
        standing.add(&Image::of(&one, 3_000).unwrap(), 3_000);
        standing.add(&Image::of(&other, 3_000).unwrap(), 3_000);
        // -5 + 2 s of one a second, and a full one.
        assert_eq!(standing.of("tpm", Kind::Rate), Some(-3 + 100));
        assert_eq!((standing.of("wcu", Kind::Rate), standing.of("tpm", Kind::Concurrency)), (None, None));
    }

    #[test]
    fn what_nodes_hold_is_there_until_it_has_decayed() {
        let mut item = bucket(&[
            ("rf", 1_000_000),
            ("b_tpm_tk", 50_000),
            ("b_tpm_cp", 100_000),
            ("b_tpm_ra", 0),
            ("b_tpm_rp", 60_000),
        ]);
        // Two nodes have written at second 1000: one holds 20 until second 1002, the other 10 until second 1005.
        for (node, held) in
            [("w_1", "1000000000 tpm:20000:2000"), ("w_7", "1000000000 tpm:10000:5000 rpm:9:9")]
        {
            item.insert(node.to_owned(), crate::layout::attribute::text(held));
        }
        for (now_ms, available) in [(1_000_000, 80), (1_002_000, 60), (1_005_000, 50)] {
            let mut standing = Standing::default();
            standing.add(&Image::of(&item, now_ms).unwrap(), now_ms);
            assert_eq!(standing.of("tpm", Kind::Rate), Some(available), "at {now_ms}");
        }
    }

    #[test]
    fn a_limit_of_ours_and_a_cap_count_too() {
        let item = bucket(&[
            ("rf", 0),
            ("s_x_tk", 1_999),
            ("s_x_cp", 5_000),
            ("s_x_ra", 1),
            ("s_x_rp", 1_000),
            ("c_n_cp", 8),
            ("c_n_if", 3),
        ]);
        let mut standing = Standing::default();
        standing.add(&Image::of(&item, 0).unwrap(), 0);
        assert_eq!((standing.of("n", Kind::Concurrency), standing.of("x", Kind::Rate)), (Some(3), Some(1)));
    }
}
