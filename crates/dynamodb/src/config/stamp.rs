//! What buckets are told of a change.
//!
//! zae-limiter's clients decide by what a bucket says, and read no settings while it has tokens. So whoever sets limits on an
//! entity writes them on its buckets, too: capacity, amount and period, never tokens; whether it is disabled; and whose child
//! it is. `vu = 0` has the next of their clients look closely once, and cut what is above a lowered capacity. A limit that holds no
//! longer is put aside with what it has, where only we find it: it may come back.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_core::ledger::Term;
use tidegate_ledger::{Loaded, Mode};

use super::load::Found;
use crate::bucket::attribute::{self, Kind};
use crate::layout::attribute::{Item, number, number_of, text};
use crate::layout::entity::{GENERATION, INCARNATION};
use crate::layout::expression::Expression;
use crate::layout::limit::{self, Stored, WRITES};

/// A bucket of defaults is forgotten after so many times the time that it takes to fill.
const FILLS: u64 = 7;

/// What others put on a bucket that is not understood here: such a bucket is left alone.
const STRANGE: [&str; 3] = ["sched", "rsched", "sched_tz"];

/// The limits that hold, and whether they are the entity's own.
fn in_force(loaded: &Loaded) -> (&[Term], bool) {
    let levels =
        [(&loaded.exact, true), (&loaded.default, true), (&loaded.resource, false), (&loaded.system, false)];
    let set = levels.into_iter().filter_map(|(level, own)| Some((&*level.as_ref()?.limits, own)));
    set.into_iter().find(|(terms, _)| !terms.is_empty()).unwrap_or((&[], false))
}

/// When a bucket of these limits may be forgotten, in seconds since the epoch.
fn forgotten_at(limits: &[Stored], now_ms: u64) -> u64 {
    let fills = limits.iter().map(|stored| {
        let fill = u128::from(stored.capacity) * u128::from(stored.period_s) * u128::from(FILLS);
        u64::try_from(fill.div_ceil(u128::from(stored.amount.max(1)))).unwrap_or(u64::MAX)
    });
    (now_ms / 1000).saturating_add(fills.max().unwrap_or(0))
}

/// The update that tells a bucket what was found; none if it says so already, or is not understood.
pub fn stamped(bucket: &Item, found: &Found, now_ms: u64) -> Option<Expression> {
    if found.loaded.unsupported.is_some() || STRANGE.iter().any(|name| bucket.contains_key(*name)) {
        return None;
    }
    let mut update = Expression::new();
    update.require_present("PK");
    stamp_limits(bucket, &found.loaded, now_ms, &mut update);
    stamp_mode(bucket, found.mode, &mut update);
    stamp_owner(bucket, found, &mut update);
    (!update.is_idle()).then_some(update)
}

fn set(bucket: &Item, update: &mut Expression, name: &str, value: AttributeValue) -> bool {
    let differs = bucket.get(name) != Some(&value);
    if differs {
        update.set(name, value);
    }
    differs
}

fn remove(bucket: &Item, update: &mut Expression, name: &str) {
    if bucket.contains_key(name) {
        update.remove(name);
    }
}

fn stamp_limits(bucket: &Item, loaded: &Loaded, now_ms: u64, update: &mut Expression) {
    let (terms, own) = in_force(loaded);
    let shared = |term: &Term| Some((term.name.to_string(), limit::shared(term)?));
    let limits: Vec<(String, Stored)> = terms.iter().filter_map(shared).collect();
    if limits.is_empty() {
        // There is nothing that would be right to write.
        return;
    }
    let mut differs = false;
    for (name, stored) in &limits {
        let milli = |amount: u64| number(u128::from(amount) * 1000);
        differs |= set(bucket, update, &format!("b_{name}_cp"), milli(stored.capacity));
        differs |= set(bucket, update, &format!("b_{name}_ra"), milli(stored.amount));
        differs |= set(bucket, update, &format!("b_{name}_rp"), milli(stored.period_s));
    }
    let mut fills: Vec<Stored> = limits.into_iter().map(|(_, stored)| stored).collect();
    for (name, kind) in stale(bucket, terms) {
        fills.extend(read(bucket, kind, name));
        put_aside(bucket, update, kind, name);
    }
    if differs {
        set(bucket, update, "vu", number(0));
    }
    if own {
        remove(bucket, update, "ttl");
    } else if !bucket.contains_key("ttl") {
        update.set("ttl", number(forgotten_at(&fills, now_ms)));
    }
}

/// Limits of a bucket that hold no longer, or hold as one of another kind.
fn stale<'a>(bucket: &'a Item, terms: &[Term]) -> BTreeMap<&'a str, Kind> {
    let holds = |kind: Kind, name: &str| {
        let term = terms.iter().find(|term| &*term.name == name && !term.bound.is_cap());
        term.is_some_and(|term| limit::shared(term).is_some() == (kind == Kind::Hard))
    };
    let is_stale = |kind: Kind, name: &str| match kind {
        Kind::Hard => name != WRITES && !holds(kind, name),
        Kind::Own => !holds(kind, name),
        Kind::Aside | Kind::Cap => false,
    };
    let names =
        bucket.keys().filter_map(|name| attribute::parse(name)).filter(|(_, _, field)| *field == "cp");
    names.filter(|(kind, name, _)| is_stale(*kind, name)).map(|(kind, name, _)| (name, kind)).collect()
}

/// A limit as a bucket has it.
fn read(bucket: &Item, kind: Kind, name: &str) -> Option<Stored> {
    let whole = |field| Some(number_of::<u64>(bucket, &attribute::field(kind, name, field))?.div_ceil(1000));
    Some(Stored { capacity: whole("cp")?, amount: whole("ra")?, period_s: whole("rp")? })
}

/// Others may take from it until this is written: what it has by then is put aside.
fn put_aside(bucket: &Item, update: &mut Expression, kind: Kind, name: &str) {
    for field in attribute::FIELDS {
        let from = attribute::field(kind, name, field);
        let Some(value) = bucket.get(&from) else { continue };
        let (aside, there) = (update.name(&attribute::field(Kind::Aside, name, field)), update.name(&from));
        let read = update.value(value.clone());
        update.set_to(format!("{aside} = if_not_exists({there}, {read})"));
        update.remove(&from);
    }
}

fn stamp_mode(bucket: &Item, mode: Option<Mode>, update: &mut Expression) {
    match mode {
        Some(Mode::Disabled) => {
            set(bucket, update, "disabled", AttributeValue::Bool(true));
            remove(bucket, update, "bypass");
        }
        // Their stamp of a bypass has to be renewed every minute; without one they enforce, which is safe.
        Some(Mode::Bypass) => remove(bucket, update, "disabled"),
        None => {
            remove(bucket, update, "disabled");
            remove(bucket, update, "bypass");
        }
    }
}

fn stamp_owner(bucket: &Item, found: &Found, update: &mut Expression) {
    let (Some(entity), Some(stamp)) = (&found.loaded.entity, &found.stamp) else { return };
    let levels = [&found.loaded.exact, &found.loaded.default, &found.loaded.resource];
    let said = levels.into_iter().find_map(|level| level.as_ref()?.cascade);
    let cascade = said.unwrap_or(entity.cascade) && entity.parent.is_some();
    set(bucket, update, "cascade", AttributeValue::Bool(cascade));
    match &entity.parent {
        Some(parent) => drop(set(bucket, update, "parent_id", text(parent))),
        None => remove(bucket, update, "parent_id"),
    }
    let Some(generation) = stamp.generation else { return };
    set(bucket, update, GENERATION, number(generation));
    let (name, value) = (update.name(GENERATION), update.value(number(generation)));
    let mut newer = format!("attribute_not_exists({name}) OR {name} <= {value}");
    if let Some(incarnation) = &stamp.incarnation {
        set(bucket, update, INCARNATION, text(incarnation));
        let (name, value) = (update.name(INCARNATION), update.value(text(incarnation)));
        newer = format!("attribute_not_exists({name}) OR {name} <> {value} OR {newer}");
    }
    update.require(newer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::entity::Stamp;
    use serde_json::json;
    use tidegate_ledger::ScopeSettings;

    fn settings(value: serde_json::Value) -> Option<ScopeSettings> {
        Some(serde_json::from_value(value).unwrap())
    }

    fn found(loaded: Loaded, mode: Option<Mode>) -> Found {
        let stamp = loaded.entity.as_ref().map(|_| Stamp::new(7, "inc".into()));
        Found { loaded, stamp, mode }
    }

    fn bucket() -> Item {
        let numbers = [
            ("b_tpm_tk", 5),
            ("b_tpm_cp", 10_000),
            ("b_tpm_ra", 10_000),
            ("b_tpm_rp", 60_000),
            ("b_tpm_tc", 1),
            ("b_wcu_cp", 1_000_000),
            ("ttl", 99),
        ];
        let mut item: Item = numbers.map(|(name, value)| (name.to_owned(), number(value))).into();
        item.insert("cascade".into(), AttributeValue::Bool(false));
        item
    }

    fn told(update: &Expression) -> (Vec<(String, AttributeValue)>, Vec<String>) {
        let (names, values) = (update.names().unwrap(), update.values().unwrap_or_default());
        let whole = update.update().unwrap();
        let (sets, removes) = whole.split_once("REMOVE ").unwrap_or((&whole, ""));
        // What is copied is told as what it copies.
        let copied = sets.replace("if_not_exists(#", "#").replace(", :", "|:").replace(')', "");
        let pairs =
            copied.trim_start_matches("SET ").trim().split(", ").filter_map(|part| part.split_once(" = "));
        let told = |value: &str| match value.trim().split_once('|') {
            Some((from, _)) => text(&*names[from]),
            None => values[value.trim()].clone(),
        };
        let sets = pairs.map(|(name, value)| (names[name].clone(), told(value))).collect();
        (sets, removes.split(", ").filter(|part| !part.is_empty()).map(|name| names[name].clone()).collect())
    }

    #[test]
    fn a_bucket_that_says_so_already_is_left_alone() {
        let loaded = Loaded { resource: settings(json!({"limits": ["tpm=10/minute"]})), ..Loaded::default() };
        assert!(stamped(&bucket(), &found(loaded, None), 0).is_none());
    }

    #[test]
    fn an_entitys_own_limits_are_written_and_its_bucket_stays() {
        let loaded = Loaded {
            exact: settings(json!({"limits": ["rpm=5/second,burst=9", "cap=3"]})),
            system: settings(json!({"limits": ["tpm=10/minute"]})),
            ..Loaded::default()
        };
        let update = stamped(&bucket(), &found(loaded, None), 0).unwrap();
        let (sets, removes) = told(&update);
        let set = [("b_rpm_cp", 9_000), ("b_rpm_ra", 5_000), ("b_rpm_rp", 1_000)];
        let mut expected: Vec<_> =
            set.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect();
        // What it had of the other one is put aside.
        let aside = ["tk", "cp", "ra", "rp", "tc"];
        expected.extend(aside.map(|field| (format!("a_tpm_{field}"), text(format!("b_tpm_{field}")))));
        expected.push(("vu".into(), number(0)));
        assert_eq!(sets, expected);
        assert_eq!(removes, ["b_tpm_tk", "b_tpm_cp", "b_tpm_ra", "b_tpm_rp", "b_tpm_tc", "ttl"]);
    }

    #[test]
    fn a_bucket_of_defaults_is_forgotten_again() {
        let mut item = bucket();
        item.remove("ttl");
        let loaded = Loaded { system: settings(json!({"limits": ["tpm=10/minute"]})), ..Loaded::default() };
        let (sets, _) = told(&stamped(&item, &found(loaded, None), 1_000_000).unwrap());
        assert_eq!(sets, [("ttl".to_owned(), number(1_000 + 7 * 60))]);
    }

    #[test]
    fn modes_are_written_where_others_look() {
        let disabled = stamped(&bucket(), &found(Loaded::default(), Some(Mode::Disabled)), 0).unwrap();
        assert_eq!(told(&disabled).0, [("disabled".to_owned(), AttributeValue::Bool(true))]);
        let mut item = bucket();
        item.insert("disabled".into(), AttributeValue::Bool(true));
        item.insert("bypass".into(), number(1));
        assert_eq!(
            told(&stamped(&item, &found(Loaded::default(), None), 0).unwrap()).1,
            ["disabled", "bypass"]
        );
        assert_eq!(
            told(&stamped(&item, &found(Loaded::default(), Some(Mode::Bypass)), 0).unwrap()).1,
            ["disabled"]
        );
    }

    #[test]
    fn a_child_is_told_of_its_parent_unless_a_newer_move_was() {
        let entity = json!({"id": "k", "parent": "p", "cascade": true, "version": 1, "created_at_ms": 1, "updated_at_ms": 1});
        let loaded = Loaded { entity: serde_json::from_value(entity).unwrap(), ..Loaded::default() };
        let update = stamped(&bucket(), &found(loaded.clone(), None), 0).unwrap();
        let sets = told(&update).0;
        assert!(sets.contains(&("cascade".into(), AttributeValue::Bool(true))));
        assert!(
            sets.contains(&("parent_id".into(), text("p"))) && sets.contains(&("pgen".into(), number(7)))
        );
        assert!(update.condition().unwrap().contains("<="));
        let loaded = Loaded { resource: settings(json!({"cascade": false})), ..loaded };
        let sets = told(&stamped(&bucket(), &found(loaded, None), 0).unwrap()).0;
        assert!(!sets.contains(&("cascade".into(), AttributeValue::Bool(true))));
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let loaded = Loaded { unsupported: Some("x".into()), ..Loaded::default() };
        assert!(stamped(&bucket(), &found(loaded, Some(Mode::Disabled)), 0).is_none());
        let mut item = bucket();
        item.insert("sched".into(), text("v1"));
        assert!(stamped(&item, &found(Loaded::default(), Some(Mode::Disabled)), 0).is_none());
    }
}
