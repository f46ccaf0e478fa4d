//! A delivered message, for people and for programs.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use tidegate_client::{DeadLetter, Message};

use crate::cli::table::{age, count, facts};

/// The message as the HTTP door has it. Its payload is text if it can be, else base64.
pub fn document(message: &Message) -> Value {
    let headers: BTreeMap<String, String> =
        message.headers.iter().map(|(name, value)| (lossy(name), lossy(value))).collect();
    let throttle_keys: Vec<String> = message.throttle_keys.iter().map(|key| lossy(key)).collect();
    let charges: Vec<Value> = message
        .charges
        .iter()
        .map(|charge| {
            json!({
                "entity": lossy(&charge.entity),
                "resource": lossy(&charge.resource),
                "limit": lossy(&charge.limit),
                "amount": charge.amount,
            })
        })
        .collect();
    let mut document = json!({
        "id": message.id,
        "receipt": message.receipt,
        "attempts": message.attempts,
        "fairness_key": lossy(&message.key),
        "weight": message.weight,
        "cost": message.cost,
        "enqueued_at_ms": unix_ms(message.enqueued_at),
        "headers": headers,
        "throttle_keys": throttle_keys,
        "charges": charges,
        "dead_letter": message.dead_letter.as_deref().map(|dead| json!({
            "queue": dead.queue,
            "reason": dead.reason,
            "at_ms": unix_ms(dead.at),
            "attempts": dead.attempts,
        })),
    });
    let (name, payload) = match std::str::from_utf8(&message.payload) {
        Ok(text) => ("payload", text.to_owned()),
        Err(_) => ("payload_base64", BASE64_STANDARD.encode(&message.payload)),
    };
    document[name] = payload.into();
    document
}

/// The message in words, with an empty line behind it.
pub fn words(message: &Message) -> String {
    let now = SystemTime::now();
    let mut rows = vec![
        ("receipt", message.receipt.to_string()),
        ("key", format!("{} (weight {}, cost {})", lossy(&message.key), message.weight, message.cost)),
        ("attempts", format!("{} failed", count(message.attempts.into()))),
        ("age", since(message.enqueued_at, now)),
    ];
    if !message.headers.is_empty() {
        let headers = message.headers.iter().map(|(name, value)| format!("{}={}", lossy(name), lossy(value)));
        rows.push(("headers", headers.collect::<Vec<_>>().join(" ")));
    }
    if !message.throttle_keys.is_empty() {
        let keys = message.throttle_keys.iter().map(|key| lossy(key));
        rows.push(("throttle", keys.collect::<Vec<_>>().join(" ")));
    }
    if !message.charges.is_empty() {
        let each = message.charges.iter().map(|charge| {
            let names = [&charge.entity, &charge.resource, &charge.limit].map(|name| lossy(name)).join("/");
            format!("{names}={}", charge.amount)
        });
        rows.push(("charges", each.collect::<Vec<_>>().join(" ")));
    }
    if let Some(DeadLetter { queue, reason, at, attempts }) = message.dead_letter.as_deref() {
        let since = since(*at, now);
        rows.push(("dead", format!("{since} ago, from {queue}, after {attempts} attempts: {reason}")));
    }
    rows.push((
        "payload",
        match std::str::from_utf8(&message.payload) {
            Ok(text) => text.to_owned(),
            Err(_) => format!(
                "{} bytes that are not text; --json or --raw shows them",
                count(message.payload.len() as u64)
            ),
        },
    ));
    facts(&rows) + "\n"
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn since(then: SystemTime, now: SystemTime) -> String {
    age(now.duration_since(then).unwrap_or_default().as_millis() as u64)
}

fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
