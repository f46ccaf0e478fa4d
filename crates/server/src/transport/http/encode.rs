//! The JSON that is sent back.
//!
//! A decision is five fields that never need escaping, so it is written by hand into one buffer; a refusal holds
//! text and goes through serde.

use serde::Serialize;
use tidegate_core::Decision;

use crate::api::Refusal;

/// What the longest decision takes: five names and four numbers of 19 digits.
const DECISION_BYTES: usize = 160;

/// `{"allowed":true,"limit":10,...}`
pub fn decision(decision: &Decision) -> Vec<u8> {
    let mut out = Vec::with_capacity(DECISION_BYTES);
    write_decision(decision, &mut out);
    out
}

/// `{"error":{"code":...}}`
pub fn refusal(refusal: &Refusal) -> Vec<u8> {
    let mut out = Vec::new();
    write_refusal(refusal, &mut out);
    out
}

/// `{"results":[...]}`, one for each request of a batch.
#[derive(Default)]
pub struct Results {
    out: Vec<u8>,
}

impl Results {
    /// Room for `count` decisions.
    pub fn with_capacity(count: usize) -> Results {
        let mut out = Vec::with_capacity(count * DECISION_BYTES);
        out.extend_from_slice(br#"{"results":["#);
        Results { out }
    }

    /// Adds the next result.
    pub fn push(&mut self, result: Result<Decision, Refusal>) {
        if self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
        match result {
            Ok(decision) => write_decision(&decision, &mut self.out),
            Err(refusal) => write_refusal(&refusal, &mut self.out),
        }
    }

    /// The whole document.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(b"]}");
        self.out
    }
}

/// `{"reset":2}`, and the like.
pub fn count(name: &'static str, count: u64) -> Vec<u8> {
    format!("{{\"{name}\":{count}}}").into_bytes()
}

fn write_decision(decision: &Decision, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(if decision.allowed {
        br#"{"allowed":true,"limit":"#
    } else {
        br#"{"allowed":false,"limit":"#
    });
    out.extend_from_slice(digits.format(decision.limit).as_bytes());
    out.extend_from_slice(br#","remaining":"#);
    out.extend_from_slice(digits.format(decision.remaining).as_bytes());
    out.extend_from_slice(br#","reset_after":"#);
    out.extend_from_slice(digits.format(decision.reset_after_s()).as_bytes());
    out.extend_from_slice(br#","retry_after":"#);
    out.extend_from_slice(digits.format(decision.retry_after.seconds()).as_bytes());
    out.push(b'}');
}

/// Adds a refusal to a document.
pub fn write_refusal(refusal: &Refusal, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Document<'a> {
        error: Error<'a>,
    }
    #[derive(Serialize)]
    struct Error<'a> {
        code: &'static str,
        message: &'a str,
        hint: &'a str,
    }
    let error = Error { code: refusal.code().as_str(), message: refusal.message(), hint: refusal.hint() };
    // Strings into memory: neither can fail.
    serde_json::to_writer(out, &Document { error }).expect("text becomes JSON");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tidegate_core::Wait;

    use super::*;

    const ALLOWED: Decision = Decision {
        allowed: true,
        limit: 10,
        remaining: 9,
        reset_after_ns: 1_000_000_001,
        retry_after: Wait::Now,
    };

    fn parsed(json: &[u8]) -> Value {
        serde_json::from_slice(json).unwrap()
    }

    #[test]
    fn a_decision_has_its_fields_in_order_and_its_times_rounded_up() {
        let text = String::from_utf8(decision(&ALLOWED)).unwrap();
        assert_eq!(text, r#"{"allowed":true,"limit":10,"remaining":9,"reset_after":2,"retry_after":0}"#);
    }

    #[test]
    fn the_longest_decision_fits_its_buffer() {
        let most = i64::MAX as u64;
        let longest = Decision {
            allowed: false,
            limit: most,
            remaining: most,
            reset_after_ns: u64::MAX,
            retry_after: Wait::Ns(u64::MAX),
        };
        let text = decision(&longest);
        assert!(text.len() <= DECISION_BYTES, "{}", text.len());
        assert_eq!(parsed(&text)["limit"], most);
        assert_eq!(parsed(&decision(&Decision { retry_after: Wait::Never, ..longest }))["retry_after"], -1);
    }

    #[test]
    fn a_refusal_is_escaped() {
        let quoted = Refusal::invalid_request("no \"such\"\nfield", "look");
        let expected =
            json!({"error": {"code": "invalid_request", "message": "no \"such\"\nfield", "hint": "look"}});
        assert_eq!(parsed(&refusal(&quoted)), expected);
    }

    #[test]
    fn results_are_decisions_and_refusals_in_order() {
        assert_eq!(parsed(&Results::with_capacity(0).finish()), json!({"results": []}));
        let mut results = Results::with_capacity(2);
        results.push(Ok(ALLOWED));
        results.push(Err(Refusal::invalid_quantity(-1)));
        let document = parsed(&results.finish());
        assert_eq!(document["results"][0]["remaining"], 9);
        assert_eq!(document["results"][1]["error"]["code"], "invalid_quantity");
    }
}
