//! Half a batch: what is passed on, and what is told as unprocessed.

use serde_json::{Map, Value, json};

/// A batch in two halves.
pub struct Halves {
    /// To be passed on; nothing if the whole batch stays undone.
    pub passed_on: Option<Value>,
    /// Where the answer tells what was not done.
    pub told_under: &'static str,
    /// What was not done, as it was asked.
    pub unprocessed: Value,
    /// The answer of a batch of which nothing is done.
    pub empty: Value,
}

/// Splits the items of every table; nothing for calls that are no batches.
pub fn halve(operation: &str, body: &Value) -> Option<Halves> {
    let (told_under, empty) = match operation {
        "BatchGetItem" => ("UnprocessedKeys", json!({ "Responses": {}, "UnprocessedKeys": {} })),
        "BatchWriteItem" => ("UnprocessedItems", json!({ "UnprocessedItems": {} })),
        _ => return None,
    };
    let mut first = Map::new();
    let mut second = Map::new();
    for (table, asked) in body["RequestItems"].as_object()? {
        let items = items(asked)?;
        let (done, undone) = items.split_at(items.len() / 2);
        if !done.is_empty() {
            first.insert(table.clone(), with_items(asked, done));
        }
        second.insert(table.clone(), with_items(asked, undone));
    }
    let mut passed_on = body.clone();
    passed_on["RequestItems"] = Value::Object(first.clone());
    Some(Halves {
        passed_on: (!first.is_empty()).then_some(passed_on),
        told_under,
        unprocessed: Value::Object(second),
        empty,
    })
}

/// Keys stand one level deeper than writes.
fn items(asked: &Value) -> Option<&Vec<Value>> {
    asked.as_array().or_else(|| asked["Keys"].as_array())
}

fn with_items(asked: &Value, items: &[Value]) -> Value {
    if asked.is_array() {
        return Value::Array(items.to_vec());
    }
    let mut asked = asked.clone();
    asked["Keys"] = Value::Array(items.to_vec());
    asked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::halve;

    #[test]
    fn keys_are_halved() {
        let body = json!({ "RequestItems": { "t": { "Keys": [1, 2, 3], "ConsistentRead": true } } });
        let halves = halve("BatchGetItem", &body).expect("a batch");
        let done = json!({ "RequestItems": { "t": { "Keys": [1], "ConsistentRead": true } } });
        assert_eq!(halves.passed_on, Some(done));
        assert_eq!(halves.unprocessed, json!({ "t": { "Keys": [2, 3], "ConsistentRead": true } }));
    }

    #[test]
    fn a_batch_of_one_is_not_done() {
        let body = json!({ "RequestItems": { "t": [{ "PutRequest": {} }] } });
        let halves = halve("BatchWriteItem", &body).expect("a batch");
        assert_eq!(halves.passed_on, None);
        assert_eq!(halves.unprocessed, body["RequestItems"]);
        assert!(halve("UpdateItem", &body).is_none());
    }
}
