//! What calls to the table cost, as it tells itself: the proxy asks for it with every call.
//!
//! A write is charged by the kilobyte for the item and for every index that changes with it, twice in a transaction. One whose
//! condition fails is charged for the item that it did not write, and tells nothing: the item is in the refusal, or counts
//! as a kilobyte.

use std::collections::BTreeMap;
use std::ops::Sub;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tidegate_emulator::{Call, Proxy};

/// Calls and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// All of them, reads included.
    pub calls: u64,
    /// `UpdateItem` alone.
    pub updates: u64,
    /// Units for what decisions need: buckets, and whatever is not named below.
    pub write_units: f64,
    /// Units for usage and audit.
    pub flush_units: f64,
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, before: Cost) -> Cost {
        Cost {
            calls: self.calls - before.calls,
            updates: self.updates - before.updates,
            write_units: self.write_units - before.write_units,
            flush_units: self.flush_units - before.flush_units,
        }
    }
}

/// Adds up what a proxy sees.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Read>>);

#[derive(Debug, Default)]
struct Read {
    cost: Cost,
    /// By operation, since somebody asked.
    operations: BTreeMap<String, u64>,
}

impl Meter {
    /// From now on.
    pub fn on(proxy: &Proxy) -> Meter {
        let meter = Meter::default();
        let told = meter.clone();
        proxy.watch(Box::new(move |call, answer| told.add(call, answer)));
        meter
    }

    /// So far.
    pub fn read(&self) -> Cost {
        self.state().cost
    }

    /// How many calls there were of what, since this was asked last: for the eye.
    pub fn operations_since_last(&self) -> String {
        let operations = std::mem::take(&mut self.state().operations);
        let each = operations.into_iter().map(|(operation, count)| format!("{operation} {count}"));
        each.collect::<Vec<_>>().join(", ")
    }

    fn state(&self) -> MutexGuard<'_, Read> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, call: &Call, answer: &Value) {
        let units = units(call, answer);
        let mut state = self.state();
        let refused = if answer["__type"].is_string() { " refused" } else { "" };
        *state.operations.entry(format!("{}{refused}", call.operation)).or_default() += 1;
        let cost = &mut state.cost;
        cost.calls += 1;
        cost.updates += u64::from(call.operation == "UpdateItem");
        if first_key(&call.body).is_some_and(is_record) {
            cost.flush_units += units;
        } else {
            cost.write_units += units;
        }
    }
}

/// Write units of a call; a read has none.
fn units(call: &Call, answer: &Value) -> f64 {
    match call.operation.as_str() {
        "UpdateItem" | "PutItem" | "DeleteItem" => match answer["ConsumedCapacity"]["CapacityUnits"].as_f64()
        {
            Some(units) => units,
            None => kilobytes(&answer["Item"]),
        },
        "BatchWriteItem" | "TransactWriteItems" => match answer["ConsumedCapacity"].as_array() {
            Some(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
            // A transaction is prepared before it is refused.
            None => call.body["TransactItems"].as_array().map_or(0.0, |items| items.len() as f64),
        },
        _ => 0.0,
    }
}

/// Whole kilobytes of an item, at least one.
fn kilobytes(item: &Value) -> f64 {
    let text = |value: &Value| value.as_str().map_or(0, str::len);
    let attribute = |(name, typed): (&String, &Value)| {
        name.len() + typed.as_object().map_or(0, |typed| typed.values().map(text).sum())
    };
    let bytes: usize = item.as_object().map_or(0, |item| item.iter().map(attribute).sum());
    bytes.div_ceil(1024).max(1) as f64
}

/// The first key in what is asked: the calls that write several items write them for one purpose.
fn first_key(body: &Value) -> Option<(&str, &str)> {
    if let (Some(pk), Some(sk)) = (body["PK"]["S"].as_str(), body["SK"]["S"].as_str()) {
        return Some((pk, sk));
    }
    match body {
        Value::Object(fields) => fields.values().find_map(first_key),
        Value::Array(items) => items.iter().find_map(first_key),
        _ => None,
    }
}

/// Whether it is the key of usage or of an audited change.
fn is_record((_, sk): (&str, &str)) -> bool {
    ["#USAGE#", "#MINUTES#", "#AUDIT#"].iter().any(|record| sk.starts_with(record))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(operation: &str, body: Value, answer: Value, expected: Cost) {
        let meter = Meter::default();
        meter.add(&Call { operation: operation.to_string(), body, is_passed_on: true }, &answer);
        assert_eq!(meter.read(), expected);
    }

    fn key(sk: &str) -> Value {
        json!({ "Key": { "PK": { "S": "n/ENTITY#a" }, "SK": { "S": sk } } })
    }

    #[test]
    fn a_write_costs_what_it_says_and_usage_is_told_apart() {
        let answer = json!({ "ConsumedCapacity": { "CapacityUnits": 2.0 } });
        let cost = Cost { calls: 1, updates: 1, write_units: 2.0, ..Cost::default() };
        check("UpdateItem", key("#STATE"), answer.clone(), cost);
        let cost = Cost { calls: 1, updates: 1, flush_units: 2.0, ..Cost::default() };
        check("UpdateItem", key("#USAGE#gpt-4#hourly#x"), answer, cost);
    }

    #[test]
    fn a_failed_condition_costs_the_item_that_is_there() {
        let cost = |units| Cost { calls: 1, updates: 1, write_units: units, ..Cost::default() };
        check("UpdateItem", key("#STATE"), json!({ "__type": "ConditionalCheckFailedException" }), cost(1.0));
        let item = json!({ "Item": { "v": { "S": "x".repeat(1024) } } });
        check("UpdateItem", key("#STATE"), item, cost(2.0));
    }

    #[test]
    fn a_transaction_tells_by_table_and_a_read_writes_nothing() {
        let body = json!({ "TransactItems": [{ "Put": { "Item": key("#STATE")["Key"] } }] });
        let answer = json!({ "ConsumedCapacity": [{ "CapacityUnits": 8.0 }] });
        check("TransactWriteItems", body, answer, Cost { calls: 1, write_units: 8.0, ..Cost::default() });
        let answer = json!({ "ConsumedCapacity": [{ "CapacityUnits": 0.5 }] });
        check("BatchGetItem", json!({}), answer, Cost { calls: 1, ..Cost::default() });
    }
}
