//! Somebody who looks at every call that was passed on, its answer and what it cost.

use std::fmt;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::call::Call;
use super::message::Message;

/// Told every call with its answer, from the thread of its connection.
pub type Watcher = Box<dyn Fn(&Call, &Value) + Send + Sync>;

/// Calls that say what they cost when they are asked to.
const TELL_COST: [&str; 10] = [
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
];

/// The one who looks, if there is one.
#[derive(Default)]
pub struct Watch(OnceLock<Watcher>);

impl Watch {
    /// From now on. Who came first stays.
    pub fn set(&self, watcher: Watcher) {
        // A second one is not told: nobody has two.
        self.0.set(watcher).ok();
    }

    /// The request as it is passed on: with the wish to be told its cost, if anybody looks.
    pub fn asked(&self, call: &Call, mut request: Message) -> Message {
        if self.0.get().is_some() && TELL_COST.contains(&call.operation.as_str()) {
            let mut body = call.body.clone();
            body["ReturnConsumedCapacity"] = json!("INDEXES");
            request.set_body(body.to_string().into_bytes());
        }
        request
    }

    /// Tells who looks what came of it.
    pub fn answered(&self, call: &Call, answer: &Message) {
        if let Some(watcher) = self.0.get() {
            watcher(call, &serde_json::from_slice(&answer.body).unwrap_or(Value::Null));
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.0.get().is_some()).finish()
    }
}
