//! A call that came to the proxy.

use serde_json::Value;

/// One request of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `UpdateItem` and so on; empty for what is no call of DynamoDB.
    pub operation: String,
    /// What was asked; null for what is no JSON.
    pub body: Value,
    /// Whether it was passed on, whatever became of the answer.
    pub is_passed_on: bool,
}
