//! Refusals as gRPC statuses.
//!
//! The message is what a person reads; the stable code travels beside it, as metadata, for programs.

use http::HeaderMap;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::api::Refusal;

/// The metadata that holds the stable code of a refusal.
const CODE: &str = "tidegate-code";

impl From<&Refusal> for Status {
    fn from(refusal: &Refusal) -> Status {
        let mut metadata = MetadataMap::with_capacity(1);
        metadata.insert(CODE, MetadataValue::from_static(refusal.code().as_str()));
        let code = tonic::Code::from_i32(refusal.code().grpc_code());
        Status::with_metadata(code, refusal.to_string(), metadata)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        Status::from(&refusal)
    }
}

/// The stable code of a refusal, out of its status.
pub fn code_of(status: &Status) -> Option<&str> {
    status.metadata().get(CODE)?.to_str().ok()
}

/// The end of a call that is cut short.
pub fn trailers(refusal: &Refusal) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    let full = Status::from(refusal).add_header(&mut trailers);
    full.expect("a refusal is text, which a status can carry");
    trailers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_code_twice_and_the_words_once() {
        let status = Status::from(Refusal::invalid_quantity(-1));
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert_eq!(status.metadata().get(CODE).unwrap(), "invalid_quantity");
        assert!(status.message().starts_with("invalid_quantity: quantity must be 0 or more, not -1; "));
    }

    #[test]
    fn any_text_can_be_sent() {
        let refusal = Refusal::invalid_request("\u{0}\n\r% \u{e9}\u{1f980}", "\u{7f}");
        assert_eq!(trailers(&refusal)["grpc-status"], "3");
        assert_eq!(trailers(&refusal)["tidegate-code"], "invalid_request");
    }
}
