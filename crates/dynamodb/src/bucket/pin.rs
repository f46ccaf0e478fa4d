//! Conditions that hold a write to what was read.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::layout::expression::Expression;

/// Only if the attribute compares so: `=`, `<=`, `<>`.
pub(crate) fn when(write: &mut Expression, attribute: &str, comparison: &str, value: AttributeValue) {
    let condition = format!("{} {comparison} {}", write.name(attribute), write.value(value));
    write.require(condition);
}

/// Only if the attribute is absent or compares so.
pub(crate) fn when_absent_or(
    write: &mut Expression,
    attribute: &str,
    comparison: &str,
    value: AttributeValue,
) {
    let (name, value) = (write.name(attribute), write.value(value));
    write.require(format!("attribute_not_exists({name}) OR {name} {comparison} {value}"));
}

/// Only if the attribute is what was read: this value, or absent.
pub(crate) fn when_as_read(write: &mut Expression, attribute: &str, read: Option<AttributeValue>) {
    match read {
        Some(value) => when(write, attribute, "=", value),
        None => {
            write.require_absent(attribute);
        }
    }
}
