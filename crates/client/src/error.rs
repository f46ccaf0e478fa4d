//! Everything that can go wrong with a call. A denial is not among it: that is a [`Decision`](crate::Decision).

use std::io;
use std::sync::Arc;

/// Why a call has no answer.
///
/// The list is closed on purpose, so that a caller can decide about each case. [`hint`](Error::hint) says what
/// to do next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be opened. The call was not sent.
    ///
    /// Shared, because every call that waited for the connection hears of the same failure.
    #[error("cannot reach the server: {0}")]
    Io(Arc<io::Error>),
    /// No answer came in time. The server may have counted the call.
    #[error("no answer in time")]
    Timeout,
    /// The connection broke while the call was on it. The server may have counted the call.
    #[error("the connection broke before the answer came")]
    Disconnected,
    /// The server refused the call; it counted nothing.
    #[error("refused ({code}): {message}")]
    Refused {
        /// The stable code, `invalid_limit` for example. Where the server gave none (a Redis-style error such
        /// as a wrong number of arguments), this is the first word of the error: `ERR`, `WRONGPASS`.
        code: String,
        /// What was wrong and what to do about it, in words.
        message: String,
    },
    /// The other end does not speak as a Tidegate server does.
    #[error("the server's answer makes no sense: {reason}")]
    Protocol {
        /// What was expected, or what came instead.
        reason: &'static str,
    },
}

impl Error {
    /// Whether the server may have counted the call although no answer came.
    pub fn may_have_counted(&self) -> bool {
        match self {
            Error::Timeout | Error::Disconnected | Error::Protocol { .. } => true,
            Error::Io(_) | Error::Refused { .. } => false,
        }
    }

    /// The next step for whoever reads the message. Empty for a refusal: its message holds the server's own hint.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Io(_) => "is the server running? start it with `tidegate serve`",
            Error::Timeout => "is the server overloaded or the network slow? a longer time-out may help",
            Error::Disconnected => "was the server restarted? the next call opens a new connection",
            Error::Refused { .. } => "",
            Error::Protocol { .. } => {
                "is this the address of the server's RESP door? it is 127.0.0.1:6380 unless configured"
            }
        }
    }

    pub(crate) fn protocol(reason: &'static str) -> Error {
        Error::Protocol { reason }
    }

    /// A refusal out of the text of a RESP error: `ERR code: message`, or Redis's own `PREFIX message`.
    pub(crate) fn refused(text: &str) -> Error {
        let (prefix, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (code, message) = match rest.split_once(": ") {
            Some((code, message)) if is_code(code) => (code, message),
            _ => (prefix, rest),
        };
        Error::Refused { code: code.to_owned(), message: message.to_owned() }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(Arc::new(error))
    }
}

fn is_code(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_taken_apart() {
        let check = |text: &str, expected: [&str; 2]| match Error::refused(text) {
            Error::Refused { code, message } => {
                assert_eq!([code.as_str(), message.as_str()], expected, "{text}")
            }
            other => panic!("{text}: {other}"),
        };
        check(
            "ERR invalid_limit: max_burst must be at least 1, not 0; raise it",
            ["invalid_limit", "max_burst must be at least 1, not 0; raise it"],
        );
        check(
            "ERR wrong number of arguments for 'throttle' command",
            ["ERR", "wrong number of arguments for 'throttle' command"],
        );
        check("ERR Protocol error: too big", ["ERR", "Protocol error: too big"]);
        check("WRONGPASS invalid password", ["WRONGPASS", "invalid password"]);
        check("ERR", ["ERR", ""]);
        check("", ["", ""]);
    }
}
