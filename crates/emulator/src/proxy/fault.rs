//! What may happen to a call, and the words of the service for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Refused as the service does when a partition or a table is out of units. Not passed on.
    Throttled,
    /// Refused as the service does when somebody else's transaction holds the item. Not passed on.
    Conflict,
    /// Refused for want of a permission. Not passed on.
    Denied,
    /// 500. Not passed on.
    Failed,
    /// 503. Not passed on.
    Unavailable,
    /// The connection is closed before the request is passed on.
    Cut,
    /// Passed on and done; the connection is closed instead of the answer.
    Lost,
    /// Passed on and done; the caller hears 500.
    FailedAfter,
    /// Passed on and done; the answer comes so many milliseconds later.
    Late(u64),
    /// Of a batch, the second half is not done and told as unprocessed; a batch of one is not done at all. Other calls are left alone.
    Partial,
    /// Waits here until [`release`](super::Proxy::release), and is passed on then.
    Held,
    /// Passed on and done; the answer waits until [`release`](super::Proxy::release).
    HeldAnswer,
}

/// An answer that the proxy gives by itself.
pub struct Refusal {
    /// Of HTTP.
    pub status: &'static str,
    /// JSON.
    pub body: Value,
}

impl Fault {
    /// What is told instead of passing the call on, or instead of the answer.
    pub fn refusal(self, operation: &str, items: usize) -> Option<Refusal> {
        const SERVICE: &str = "com.amazonaws.dynamodb.v20120810";
        let (status, kind, message) = match self {
            Self::Throttled => (
                "400 Bad Request",
                format!("{SERVICE}#ProvisionedThroughputExceededException"),
                "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
                 provisioning level with the UpdateTable API.",
            ),
            Self::Conflict if operation == "TransactWriteItems" => return Some(cancelled(SERVICE, items)),
            Self::Conflict => (
                "400 Bad Request",
                format!("{SERVICE}#TransactionConflictException"),
                "Transaction is ongoing for the item",
            ),
            Self::Denied => (
                "400 Bad Request",
                "com.amazon.coral.service#AccessDeniedException".to_owned(),
                "User: arn:aws:iam::123456789012:user/test is not authorized to perform this operation",
            ),
            Self::Failed | Self::FailedAfter => (
                "500 Internal Server Error",
                format!("{SERVICE}#InternalServerError"),
                "The request processing has failed because of an unknown error, exception or failure.",
            ),
            Self::Unavailable => (
                "503 Service Unavailable",
                "com.amazon.coral.availability#ServiceUnavailableException".to_owned(),
                "Service Unavailable",
            ),
            _ => return None,
        };
        Some(Refusal { status, body: json!({ "__type": kind, "message": message }) })
    }

    /// Whether the service does what is asked, whatever the caller hears of it.
    pub fn is_passed_on(self) -> bool {
        !matches!(
            self,
            Self::Throttled | Self::Conflict | Self::Denied | Self::Failed | Self::Unavailable | Self::Cut
        )
    }

    /// How long after the service's own answer the caller hears of it.
    pub fn lateness(self) -> Duration {
        match self {
            Self::Late(ms) => Duration::from_millis(ms),
            _ => Duration::ZERO,
        }
    }
}

/// A transaction whose first item is held by another one.
fn cancelled(service: &str, items: usize) -> Refusal {
    let mut reasons =
        vec![json!({ "Code": "TransactionConflict", "Message": "Transaction is ongoing for the item" })];
    reasons.resize(items.max(1), json!({ "Code": "None" }));
    let codes: Vec<&str> = reasons.iter().filter_map(|reason| reason["Code"].as_str()).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    let kind = format!("{service}#TransactionCanceledException");
    let body = json!({ "__type": kind, "message": message, "CancellationReasons": reasons });
    Refusal { status: "400 Bad Request", body }
}
