//! Reading and writing attributes.

use std::collections::HashMap;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::key::{Key, Nsid};

/// An item: attributes by name.
pub type Item = HashMap<String, AttributeValue>;

/// A text.
pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// A number.
pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A text, or nothing as `NULL`.
pub fn text_or_null(value: Option<&str>) -> AttributeValue {
    value.map_or(AttributeValue::Null(true), text)
}

/// The text of an attribute.
pub fn text_of<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// The number of an attribute. None if it is no such number.
pub fn number_of<T: FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// The flag of an attribute.
pub fn flag_of(item: &Item, name: &str) -> Option<bool> {
    item.get(name)?.as_bool().ok().copied()
}

/// The key of an item that was read, from the table or an index.
pub fn key_of(item: &Item) -> Option<Key> {
    Some(Key::new(text_of(item, "PK")?, text_of(item, "SK")?))
}

/// A key as the attributes that name an item.
pub fn key_attributes(key: &Key) -> Item {
    Item::from([("PK".into(), text(&*key.pk)), ("SK".into(), text(&*key.sk))])
}

/// A new item with its key, to be found among all that its namespace has: what is purged with it.
pub fn item(key: &Key, ns: &Nsid, found_as: &str) -> Item {
    let mut item = key_attributes(key);
    item.insert("GSI4PK".into(), text(ns.as_str()));
    item.insert("GSI4SK".into(), text(found_as));
    item
}
