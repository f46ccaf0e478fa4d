//! What goes wrong between a node and the table, and what to do about it.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No answer, or none that tells: a time-out, a connection, an error of the service.
    #[error(
        "DynamoDB did not answer: {what}; check the endpoint and the network, it is tried again by itself"
    )]
    Unavailable {
        /// What happened.
        what: String,
        /// It may have been done all the same.
        unsure: bool,
    },
    /// The table or the account takes no more for now.
    #[error("DynamoDB throttles the table: {0}; raise its capacity, or wait, it is tried again by itself")]
    Throttled(String),
    /// It is not allowed.
    #[error("DynamoDB refuses this node: {0}; check its credentials and its policy")]
    Denied(String),
    /// The table is not there.
    #[error(
        "there is no table `{0}`; make it with `tidegate dynamodb create-table`, or correct [ledger] table, region and endpoint"
    )]
    NoTable(String),
    /// What is there is not what is understood here.
    #[error("{0}")]
    Layout(String),
    /// Something else than what was read is there now.
    #[error("{0} was changed by somebody else in the meantime; try again")]
    Conflict(String),
    /// The namespace is deleted, and not purged.
    #[error("the namespace `{0}` is deleted; recover it, or purge it and begin anew")]
    Deleted(String),
    /// There is no such namespace.
    #[error("there is no namespace `{0}`")]
    NoNamespace(String),
    /// The call was wrong.
    #[error("a call to DynamoDB was wrong: {0}; this is a bug of Tidegate, please report it")]
    Bug(String),
}

/// Codes of errors that mean that there is too much going on.
const THROTTLES: [&str; 6] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "LimitExceededException",
    "ReplicatedWriteConflictException",
];

/// Codes of errors that mean that this node may not.
const DENIALS: [&str; 10] = [
    "AccessDeniedException",
    "AccessDenied",
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
    "MissingAuthenticationToken",
    "ExpiredTokenException",
    "ExpiredToken",
];

/// Codes of errors that another attempt may not meet.
const CONFLICTS: [&str; 4] = [
    "ConditionalCheckFailedException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "TransactionInProgressException",
];

impl Fault {
    /// The fault that an error of a call on this table is.
    pub fn of<E>(table: &str, error: SdkError<E, HttpResponse>) -> Fault
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        match &error {
            SdkError::ServiceError(service) => {
                let status = service.raw().status().as_u16();
                told(table, service.err().code(), service.err().message(), status)
            }
            SdkError::ConstructionFailure(_) => Fault::Bug(text(&error)),
            SdkError::DispatchFailure(failure) => {
                let sent =
                    failure.as_connector_error().is_some_and(|error| error.is_io() || error.is_timeout());
                undelivered(text(&error), sent)
            }
            _ => Fault::Unavailable { what: text(&error), unsure: true },
        }
    }

    /// Whether it may go away by itself.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Fault::Unavailable { .. } | Fault::Throttled(_) | Fault::Conflict(_))
    }

    /// Whether what was asked for may have been done all the same.
    pub fn is_unsure(&self) -> bool {
        matches!(self, Fault::Unavailable { unsure: true, .. })
    }

    /// The same, of a call that an earlier attempt may have done.
    #[must_use]
    pub fn after(self, unsure: bool) -> Fault {
        match self {
            Fault::Unavailable { what, .. } if unsure => Fault::Unavailable { what, unsure },
            Fault::Throttled(what) if unsure => Fault::Unavailable { what, unsure },
            other => other,
        }
    }

    /// The table holds something that is not understood.
    pub fn layout(what: impl Into<String>) -> Fault {
        Fault::Layout(what.into())
    }
}

/// The fault that a reply tells of.
pub(crate) fn told(table: &str, code: Option<&str>, message: Option<&str>, status: u16) -> Fault {
    let code = code.unwrap_or("an error without a code");
    let what = match message {
        Some(message) => format!("{code}: {message}"),
        None => code.to_owned(),
    };
    if THROTTLES.contains(&code) {
        Fault::Throttled(what)
    } else if DENIALS.contains(&code) {
        Fault::Denied(what)
    } else if code == "ResourceNotFoundException" {
        Fault::NoTable(table.to_owned())
    } else if CONFLICTS.contains(&code) {
        Fault::Conflict(format!("an item of `{table}` ({code})"))
    } else if status >= 500 {
        Fault::Unavailable { what, unsure: true }
    } else {
        Fault::Bug(what)
    }
}

/// A call that got no answer; `sent` if it got as far as a connection.
fn undelivered(what: String, sent: bool) -> Fault {
    // Credentials are looked for when a call is made; without any, nothing is sent.
    match what.contains("redential") && !sent {
        true => Fault::Denied(what),
        false => Fault::Unavailable { unsure: !was_never_sent(&what), what },
    }
}

/// Whether an attempt failed before anything was sent: no connection could be made.
pub(crate) fn was_never_sent(what: &str) -> bool {
    ["(Connect)", "(Connect,", "kind: Connect", "HTTP connect"].iter().any(|word| what.contains(word))
}

/// An error with all its reasons.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        let told = reason.to_string();
        if !text.ends_with(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        source = reason.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_kind() {
        let kind = |code, status| told("limits", Some(code), Some("why"), status);
        assert!(matches!(kind("ThrottlingException", 400), Fault::Throttled(_)));
        assert!(matches!(kind("AccessDeniedException", 400), Fault::Denied(_)));
        assert_eq!(kind("ResourceNotFoundException", 400), Fault::NoTable("limits".into()));
        assert!(matches!(kind("ConditionalCheckFailedException", 400), Fault::Conflict(_)));
        assert!(kind("InternalServerError", 500).is_unsure());
        assert!(matches!(kind("ValidationException", 400), Fault::Bug(_)));
        assert!(matches!(told("limits", None, None, 503), Fault::Unavailable { .. }));
    }

    #[test]
    fn who_may_try_again_is_told() {
        let unsure = Fault::Unavailable { what: "time-out".into(), unsure: true };
        assert!(unsure.is_retryable() && unsure.is_unsure());
        let throttled = Fault::Throttled("x".into());
        assert!(throttled.is_retryable() && !throttled.is_unsure());
        // A call that may have been done before it was throttled.
        assert!(throttled.clone().after(true).is_unsure());
        assert_eq!(throttled.clone().after(false), throttled);
        assert!(!Fault::Denied("x".into()).after(true).is_unsure());
    }

    #[test]
    fn a_call_that_got_no_answer_has_its_kind() {
        let none =
            "dispatch failure: other: an error occurred while loading credentials: no providers in chain";
        assert!(matches!(undelivered(none.into(), false), Fault::Denied(_)));
        let refused = "dispatch failure: io error: client error (Connect): tcp connect error";
        assert!(!undelivered(refused.into(), true).is_unsure());
        let late = "dispatch failure: timeout: HTTP connect timeout occurred after 1s";
        assert!(!undelivered(late.into(), true).is_unsure());
        let cut = "dispatch failure: io error: client error (SendRequest): connection closed";
        assert!(undelivered(cut.into(), true).is_unsure());
    }

    #[test]
    fn every_fault_says_what_to_do() {
        let faults = [
            (Fault::Unavailable { what: "x".into(), unsure: false }, "check the endpoint"),
            (Fault::Throttled("x".into()), "raise its capacity"),
            (Fault::Denied("x".into()), "credentials"),
            (Fault::NoTable("x".into()), "create-table"),
            (Fault::Conflict("x".into()), "try again"),
            (Fault::Deleted("x".into()), "recover"),
            (Fault::Bug("x".into()), "report it"),
        ];
        for (fault, hint) in faults {
            assert!(fault.to_string().contains(hint), "{fault}");
        }
    }
}
