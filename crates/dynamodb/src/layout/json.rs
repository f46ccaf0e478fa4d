//! JSON as attributes.
//!
//! A number of the table has 38 digits, and forgets how it was written: 1.0 comes back as 1. [`is_kept`] says whether a
//! value comes back as it was.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Number, Value};

/// JSON as an attribute.
pub fn attribute(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Number(number) => match is_sound(number) {
            true => AttributeValue::N(number.to_string()),
            false => AttributeValue::S(number.to_string()),
        },
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(values) => AttributeValue::L(values.iter().map(attribute).collect()),
        Value::Object(fields) => AttributeValue::M(map(fields)),
    }
}

/// An object as a map of attributes.
pub fn map(fields: &Map<String, Value>) -> HashMap<String, AttributeValue> {
    let named = fields.iter().filter(|(name, _)| !name.is_empty());
    named.map(|(name, value)| (name.clone(), attribute(value))).collect()
}

/// An attribute as JSON. Sets are lists; bytes are left out.
pub fn value(attribute: &AttributeValue) -> Value {
    match attribute {
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::N(number) => {
            number.parse::<Number>().map_or_else(|_| Value::String(number.clone()), Value::Number)
        }
        AttributeValue::Bool(flag) => Value::Bool(*flag),
        AttributeValue::L(values) => values.iter().map(value).collect(),
        AttributeValue::M(fields) => Value::Object(object(fields)),
        AttributeValue::Ss(texts) => texts.iter().cloned().map(Value::String).collect(),
        AttributeValue::Ns(numbers) => {
            numbers.iter().map(|number| value(&AttributeValue::N(number.clone()))).collect()
        }
        _ => Value::Null,
    }
}

/// A map of attributes as an object.
pub fn object(fields: &HashMap<String, AttributeValue>) -> Map<String, Value> {
    fields.iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// Whether these come back as they are.
pub fn is_kept(fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(name, value)| !name.is_empty() && is_value_kept(value))
}

fn is_value_kept(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_u64() || number.is_i64(),
        Value::Array(values) => values.iter().all(is_value_kept),
        Value::Object(fields) => is_kept(fields),
        _ => true,
    }
}

/// Whether the table can hold it at all.
fn is_sound(number: &Number) -> bool {
    number.is_u64()
        || number.is_i64()
        || number.as_f64().is_some_and(|real| real == 0.0 || (1e-120..1e120).contains(&real.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn json_comes_back() {
        let told = fields(json!({
            "a": null, "b": true, "c": -7, "d": u64::MAX, "e": "x", "f": [1, {"g": []}], "h": {}
        }));
        assert!(is_kept(&told));
        assert_eq!(object(&map(&told)), told);
    }

    #[test]
    fn what_would_not_come_back_is_known() {
        for value in [json!({"a": 1.5}), json!({"a": [1e300]}), json!({"": 1}), json!({"a": {"b": 2.0}})] {
            assert!(!is_kept(&fields(value)));
        }
        assert_eq!(attribute(&json!(1e300)), AttributeValue::S("1e+300".into()));
    }
}
