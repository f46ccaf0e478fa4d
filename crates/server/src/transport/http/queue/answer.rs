//! The JSON that the Queue door sends back.

use serde::Serialize;

use crate::api::Refusal;
use crate::api::queue::document::{self, Read};
use crate::transport::http::encode;

/// What a result takes that is no refusal: `{"id":"0192f3c4a1b20001"},`.
const RESULT_BYTES: usize = 26;

/// `{"id":"0192f3c4a1b20001"}`
pub fn id(id: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESULT_BYTES);
    write_id(id, &mut out);
    out
}

/// `{"results":[...]}`: for each item the id of its message, or why not.
pub fn results<I: AsRef<[u8]>>(results: impl ExactSizeIterator<Item = Result<I, Refusal>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + results.len() * RESULT_BYTES);
    out.extend_from_slice(br#"{"results":["#);
    for (index, result) in results.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match result {
            Ok(id) => write_id(id.as_ref(), &mut out),
            Err(refusal) => encode::write_refusal(&refusal, &mut out),
        }
    }
    out.extend_from_slice(b"]}");
    out
}

/// An id is hexadecimal digits: nothing to escape.
fn write_id(id: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"id":""#);
    out.extend_from_slice(id);
    out.extend_from_slice(br#""}"#);
}

/// `{"messages":[...]}`
pub fn messages(messages: &[Read]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Messages<'a> {
        messages: Vec<document::Message<'a>>,
    }
    document::write(&Messages { messages: messages.iter().map(Read::document).collect() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn results_are_ids_and_refusals_in_order() {
        let parsed = |json: Vec<u8>| serde_json::from_slice::<Value>(&json).unwrap();
        assert_eq!(parsed(id(b"0192f3c4a1b20001")), json!({"id": "0192f3c4a1b20001"}));
        let none: [Result<&[u8], Refusal>; 0] = [];
        assert_eq!(parsed(results(none.into_iter())), json!({"results": []}));
        let refusal = Refusal::invalid_receipt(b"\"");
        let some = [Ok(&b"0192f3c4a1b20001"[..]), Err(refusal), Ok(b"0192f3c4a1b20002")];
        let document = parsed(results(some.into_iter()));
        assert_eq!(document["results"][0], json!({"id": "0192f3c4a1b20001"}));
        assert_eq!(document["results"][1]["error"]["code"], "invalid_receipt");
        assert_eq!(document["results"][2], json!({"id": "0192f3c4a1b20002"}));
    }

    #[test]
    fn no_messages_are_a_list_too() {
        assert_eq!(messages(&[]), br#"{"messages":[]}"#);
    }
}
