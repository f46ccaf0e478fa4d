//! Amounts and events as attributes.
//!
//! In the item of an hour, a day or a month, an amount is under its limit's name, as others read it, and events are in a map
//! `ev#`, which they pass over. In the item of minutes, both are under names with the minute in front.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_core::ledger::Window;

use super::flush::FlushStamp;
use super::place::Place;
use crate::layout::attribute::{Item, number, number_of, text, text_of};
use crate::layout::escape::unescaped;
use crate::layout::expression::Expression;
use crate::layout::time;

const EVENTS: &str = "ev#";
const TOTAL: &str = "total_events";

/// Names that an item has for itself. A limit called so has `l#` in front.
const TAKEN: [&str; 8] = ["PK", "SK", "entity_id", "resource", "window", "window_start", TOTAL, "ttl"];

/// Minutes within their hour (0 in other windows), and a limit.
pub type Slot = (u8, String);

/// What was taken, less what was given back; and how often something was granted.
pub type Sum = (i64, u64);

fn column(limit: &str) -> String {
    let is_index = limit.len() == 6 && (limit.starts_with("GSI") || limit.starts_with("LSI"));
    if TAKEN.contains(&limit) || is_index { format!("l#{limit}") } else { limit.to_owned() }
}

fn minute_column(slot: &Slot) -> String {
    format!("{:02}#{}", slot.0, slot.1)
}

/// What adds these to an item that is there, unless this part of the flush is in it.
pub fn adding(window: Window, sums: &[(Slot, Sum)], stamp: &FlushStamp, part: usize) -> Expression {
    let mut update = Expression::new();
    let (mark, told) = (stamp.attribute(), stamp.told(part));
    update.require_present("PK");
    let (name, flush, part) =
        (update.name(&mark), update.value(text(stamp.prefix())), update.value(text(&*told)));
    update.require(format!(
        "attribute_not_exists({name}) OR NOT begins_with({name}, {flush}) OR {name} < {part}"
    ));
    update.set_to(format!("{name} = {part}"));
    if window == Window::Minute {
        for (slot, (amount, events)) in sums {
            let column = minute_column(slot);
            update.add(&column, number(amount)).add(&format!("{column}#ev"), number(events));
        }
        return update;
    }
    let (map, zero) = (update.name(EVENTS), update.value(number(0)));
    for ((_, limit), (amount, events)) in sums {
        update.add(&column(limit), number(amount));
        let (limit, events) = (update.name(limit), update.value(number(events)));
        update.set_to(format!("{map}.{limit} = if_not_exists({map}.{limit}, {zero}) + {events}"));
    }
    update.add(TOTAL, number(sums.iter().map(|(_, (_, events))| events).sum::<u64>()));
    update
}

/// Puts these into a new item.
pub fn put(window: Window, sums: &[(Slot, Sum)], stamp: &FlushStamp, part: usize, item: &mut Item) {
    item.insert(stamp.attribute(), text(stamp.told(part)));
    if window == Window::Minute {
        for (slot, (amount, events)) in sums {
            let column = minute_column(slot);
            item.insert(format!("{column}#ev"), number(events));
            item.insert(column, number(amount));
        }
        return;
    }
    let mut map = HashMap::new();
    for ((_, limit), (amount, events)) in sums {
        item.insert(column(limit), number(amount));
        map.insert(limit.clone(), number(events));
    }
    item.insert(EVENTS.into(), AttributeValue::M(map));
    item.insert(TOTAL.into(), number(sums.iter().map(|(_, (_, events))| events).sum::<u64>()));
}

/// When a window begins, a limit, and what was used of it.
pub type Used = (u64, String, Sum);

/// What an item says: who, for what, and what was used; none if it is not ours.
pub fn read(item: &Item, window: Window) -> Option<(Vec<u8>, String, Vec<Used>)> {
    let entity = unescaped(text_of(item, "entity_id")?);
    let resource = text_of(item, "resource")?.to_owned();
    let (_, start) = text_of(item, "SK")?.rsplit_once('#')?;
    let start_ms = time::parse_ms(start)?;
    let sums = match window {
        Window::Minute => minutes(item, start_ms),
        _ => {
            let map = item.get(EVENTS)?.as_m().ok()?;
            let sum = |(limit, events): (&String, &AttributeValue)| {
                let events = events.as_n().ok()?.parse().ok()?;
                Some((start_ms, limit.clone(), (number_of(item, &column(limit))?, events)))
            };
            map.iter().filter_map(sum).collect()
        }
    };
    Some((entity, resource, sums))
}

fn minutes(item: &Item, start_ms: u64) -> Vec<Used> {
    let mut found = BTreeMap::new();
    for name in item.keys() {
        let Some((minute, limit)) = name.split_once('#') else { continue };
        let (Ok(minute), false) = (minute.parse::<u64>(), limit.ends_with("#ev")) else { continue };
        if let (Some(amount), Some(events)) = (number_of(item, name), number_of(item, &format!("{name}#ev")))
        {
            found.insert((start_ms + minute * 60_000, limit.to_owned()), (amount, events));
        }
    }
    found.into_iter().map(|((start_ms, limit), sum)| (start_ms, limit, sum)).collect()
}

/// What a place gets, by minute and limit.
pub type Sums = BTreeMap<Place, BTreeMap<Slot, Sum>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::key::Nsid;
    use tidegate_store::history::Retention;

    fn place(window: Window) -> Place {
        Place {
            ns: Nsid::new("a7"),
            entity: b"a#b".to_vec(),
            resource: "gpt-4".into(),
            window,
            start_ms: 7_200_000,
        }
    }

    fn stamp() -> FlushStamp {
        FlushStamp { node: 7, flush: "f1".into() }
    }

    fn sums() -> Vec<(Slot, Sum)> {
        vec![((3, "tpm".into()), (-5, 2)), ((3, "window".into()), (9, 1)), ((59, "GSI2PK".into()), (1, 1))]
    }

    #[test]
    fn what_is_put_is_read() {
        for window in [Window::Hour, Window::Minute] {
            let mut item = place(window).item(&Retention::default());
            put(window, &sums(), &stamp(), 0, &mut item);
            let (entity, resource, mut read) = read(&item, window).unwrap();
            read.sort();
            assert_eq!((entity, &*resource), (b"a#b".to_vec(), "gpt-4"));
            let at =
                |minute: u64| if window == Window::Minute { 7_200_000 + minute * 60_000 } else { 7_200_000 };
            let mut expected = vec![
                (at(3), "tpm".to_owned(), (-5, 2)),
                (at(3), "window".to_owned(), (9, 1)),
                (at(59), "GSI2PK".to_owned(), (1, 1)),
            ];
            expected.sort();
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn others_read_amounts_and_nothing_else_as_counters() {
        let mut item = place(Window::Hour).item(&Retention::default());
        put(Window::Hour, &sums(), &stamp(), 0, &mut item);
        let known = [TOTAL, "ttl"];
        let counters = item.iter().filter(|(name, value)| value.is_n() && !known.contains(&name.as_str()));
        let mut counters: Vec<&str> = counters.map(|(name, _)| name.as_str()).collect();
        counters.sort_unstable();
        assert_eq!(counters, ["l#GSI2PK", "l#window", "tpm"]);
        assert_eq!(item["window"], text("hourly"));
    }

    #[test]
    fn a_flush_is_added_unless_it_is_in() {
        let update = adding(Window::Hour, &sums()[..1], &stamp(), 3);
        let values = update.values().unwrap();
        assert!(values.values().any(|value| *value == text("f1/0003")));
        assert!(update.condition().unwrap().contains("NOT begins_with"));
        assert!(update.update().unwrap().contains("if_not_exists"));
    }

    #[test]
    fn a_snapshot_of_others_is_passed_over() {
        let item = Item::from([
            ("SK".to_owned(), text("#USAGE#gpt-4#2024-03-01T00:00:00Z")),
            ("entity_id".to_owned(), text("a")),
            ("resource".to_owned(), text("gpt-4")),
            ("tpm".to_owned(), number(5)),
        ]);
        assert_eq!(read(&item, Window::Hour), None);
    }
}
