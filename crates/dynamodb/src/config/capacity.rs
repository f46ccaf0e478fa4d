//! What a resource could give, over all buckets that the table has for it.
//!
//! A bucket that nobody has used is not in the table, and counts for nothing here. Tokens that nodes hold count as there, as each
//! has said with its last write, until they would have decayed: what was spent of them since is not known here.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_ledger::{Capacity, status::Kind};

use super::page::Page;
use crate::bucket::attribute;
use crate::bucket::writer::Writer;
use crate::fault::Fault;
use crate::layout::attribute::{Item, number_of};
use crate::layout::escape::escaped;
use crate::layout::key::{self, Nsid};
use crate::layout::limit::WRITES;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Parts of the index that are read, at most: some 1 MB each.
const PARTS: usize = 1_000;

impl Table {
    /// What a resource could give over all buckets in the table, and whether these are all there are.
    pub async fn capacity(&self, ns: &Nsid, resource: &str, now_ms: u64) -> Result<Page<Capacity>, Fault> {
        let places = Places::From("BUCKET#".into());
        let query = Query::at(Index::Gsi2, key::resource_pk(ns, resource), places);
        let (mut sums, mut from) = (BTreeMap::new(), None);
        for _ in 0..PARTS {
            let part = self.query(&query, from).await?;
            part.items.iter().for_each(|bucket| add(bucket, now_ms, &mut sums));
            from = part.next;
            if from.is_none() {
                break;
            }
        }
        Ok(Page { items: sums.into_values().collect(), is_last: from.is_none() })
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

type Sums = BTreeMap<(Arc<str>, bool), Capacity>;

/// Adds up the limits of a bucket.
fn add(bucket: &Item, now_ms: u64, sums: &mut Sums) {
    let refilled_ms: u64 = number_of(bucket, "rf").unwrap_or(now_ms);
    let shards: i128 = number_of(bucket, "shard_count").unwrap_or(1).max(1);
    for attribute in bucket.keys() {
        if let Some(name) = limit_of(attribute, "_cp").filter(|name| *name != WRITES) {
            let prefix = &attribute[..attribute.len() - "cp".len()];
            let field = |field: &str| number_of::<i128>(bucket, &format!("{prefix}{field}"));
            let (Some(cp), Some(ra), Some(rp)) = (field("cp"), field("ra"), field("rp")) else { continue };
            let (cp, ra) = (cp / shards, ra / shards);
            let refill = i128::from(now_ms.saturating_sub(refilled_ms)).saturating_mul(ra) / rp.max(1);
            let level = field("tk").unwrap_or(cp).saturating_add(refill).min(cp);
            let held = held(bucket, name, now_ms);
            sum(sums, name, Kind::Rate, cp, level.saturating_add(held).min(cp), 1000);
        } else if let Some(name) = attribute.strip_prefix("c_").and_then(|rest| rest.strip_suffix("_cp")) {
            let field = |field: &str| number_of::<i128>(bucket, &format!("c_{name}_{field}"));
            if let Some(cap) = field("cp") {
                sum(sums, name, Kind::Concurrency, cap, cap - field("if").unwrap_or(0), 1);
            }
        }
    }
}

/// What nodes hold of a limit, as they last said.
fn held(bucket: &Item, limit: &str, now_ms: u64) -> i128 {
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let writers = bucket
        .iter()
        .filter_map(|(name, value)| Writer::parse(attribute::parse_writer(name)?, value.as_s().ok()?));
    let outstanding = writers.filter_map(|writer| writer.outstanding(limit));
    outstanding.filter(|held| held.gone_ms > now_ms).map(|held| i128::from(held.held)).sum()
}

/// The limit that an attribute of a bucket is about, one that others read or one of ours.
fn limit_of<'a>(attribute: &'a str, field: &str) -> Option<&'a str> {
    let rest = attribute.strip_prefix("b_").or_else(|| attribute.strip_prefix("s_"))?;
    rest.strip_suffix(field)
}

fn sum(sums: &mut Sums, name: &str, kind: Kind, capacity: i128, level: i128, unit: i128) {
    let limit: Arc<str> = name.into();
    let sum = sums.entry((Arc::clone(&limit), kind == Kind::Concurrency)).or_insert(Capacity {
        limit,
        kind,
        capacity: 0,
        available: 0,
        entities: 0,
    });
    sum.capacity += u128::try_from(capacity / unit).unwrap_or(0);
    sum.available += level.div_euclid(unit);
    sum.entities += 1;
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
        let mut sums = Sums::new();
        add(&one, 3_000, &mut sums);
        add(&other, 3_000, &mut sums);
        let sum = sums.into_values().next().unwrap();
        // -5 + 2 s of one a second, and a full one.
        assert_eq!((&*sum.limit, sum.capacity, sum.available, sum.entities), ("tpm", 200, -3 + 100, 2));
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
            let mut sums = Sums::new();
            add(&item, now_ms, &mut sums);
            assert_eq!(sums.into_values().next().unwrap().available, available, "at {now_ms}");
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
        let mut sums = Sums::new();
        add(&item, 0, &mut sums);
        let told: Vec<_> =
            sums.values().map(|sum| (&*sum.limit, sum.kind, sum.capacity, sum.available)).collect();
        assert_eq!(told, [("n", Kind::Concurrency, 8, 5), ("x", Kind::Rate, 5, 1)]);
    }
}
