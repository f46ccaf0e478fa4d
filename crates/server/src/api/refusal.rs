//! Refusals: what a caller did wrong, or what stands in its way, and what to do about it.
//!
//! Every text that a caller gets to read when it is refused is in this file, in [`queue`] for what only the Queue door
//! refuses, and in [`ledger`] for entities and their limits.

mod code;
mod ledger;
mod queue;

use std::borrow::Cow;

pub use code::Code;

type Text = Cow<'static, str>;

/// A refusal: a code, what is wrong, and the next step. Displayed as `code: message; hint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    message: Text,
    hint: Text,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.code.as_str(), self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}

/// A parameter of a limit, as callers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `max_burst`
    MaxBurst,
    /// `count_per_period`
    CountPerPeriod,
    /// `period`
    Period,
}

impl Parameter {
    fn name(self) -> &'static str {
        match self {
            Parameter::MaxBurst => "max_burst",
            Parameter::CountPerPeriod => "count_per_period",
            Parameter::Period => "period",
        }
    }
}

impl Refusal {
    pub(in crate::api) fn new(code: Code, message: impl Into<Text>, hint: impl Into<Text>) -> Refusal {
        Refusal { code, message: message.into(), hint: hint.into() }
    }

    /// Which kind it is.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// A key of `len` bytes where `max` are allowed.
    pub fn key_too_long(len: usize, max: usize) -> Refusal {
        let message = format!("the key has {len} bytes, {max} are allowed");
        Refusal::new(Code::KeyTooLong, message, "shorten or hash the key, or raise keys.max_key_bytes")
    }

    /// A parameter of a limit that is not positive.
    pub fn invalid_limit(parameter: Parameter, value: i64) -> Refusal {
        let message = format!("{} must be at least 1, not {value}", parameter.name());
        let hint =
            "a limit is max_burst tokens at once and count_per_period tokens back every period seconds";
        Refusal::new(Code::InvalidLimit, message, hint)
    }

    /// A negative quantity.
    pub fn invalid_quantity(value: i64) -> Refusal {
        let message = format!("quantity must be 0 or more, not {value}");
        Refusal::new(
            Code::InvalidQuantity,
            message,
            "leave it out to take 1, or send 0 to look without taking",
        )
    }

    /// Parts of a limit are missing, or all of it and there is no default.
    pub fn limit_required(missing: Parameter, has_default: bool) -> Refusal {
        let message = format!("the call brings no {}", missing.name());
        let hint = match has_default {
            true => "send max_burst, count_per_period and period, or none of them for the default limit",
            false => "send max_burst, count_per_period and period, or set the three defaults of [limits]",
        };
        Refusal::new(Code::LimitRequired, message, hint)
    }

    /// A namespace by a name that is none.
    pub fn invalid_namespace(name: &[u8]) -> Refusal {
        let shown: String = String::from_utf8_lossy(name).chars().take(80).collect();
        let message = format!("'{}' is no name for a namespace", shown.escape_debug());
        Refusal::new(Code::InvalidNamespace, message, "use 1 to 64 letters, digits, '_', '-' or '.'")
    }

    /// A request that cannot be read.
    pub fn invalid_request(message: impl Into<Text>, hint: impl Into<Text>) -> Refusal {
        Refusal::new(Code::InvalidRequest, message, hint)
    }

    /// A batch of `len` requests where `max` are allowed.
    pub fn batch_too_large(len: usize, max: usize) -> Refusal {
        let message = format!("the batch has {len} requests, {max} are allowed");
        Refusal::new(Code::BatchTooLarge, message, "split the batch, or raise http.max_batch")
    }

    /// A body or frame above its bound, which `option` sets.
    pub fn body_too_large(max: usize, option: &str) -> Refusal {
        let message = format!("the request has more than {max} bytes");
        Refusal::new(Code::BodyTooLarge, message, format!("send less at once, or raise {option}"))
    }

    /// A body in an encoding that is not read here.
    pub fn unsupported_media_type(what: &str) -> Refusal {
        let message = format!("{what} is not supported");
        Refusal::new(Code::UnsupportedMediaType, message, "send plain JSON with no content-encoding")
    }

    /// Nothing at this path.
    pub fn not_found(path: &str) -> Refusal {
        let message = format!("there is nothing at {path}");
        Refusal::new(
            Code::NotFound,
            message,
            "GET /openapi.json lists what there is by HTTP, reflection what there is by gRPC",
        )
    }

    /// Another method than `allowed`.
    pub fn method_not_allowed(method: &str, allowed: &str) -> Refusal {
        let message = format!("{method} is not for this path");
        Refusal::new(Code::MethodNotAllowed, message, format!("use {allowed}"))
    }

    /// No token where one is asked for.
    pub fn no_token() -> Refusal {
        let hint = "send AUTH (RESP), `Authorization: Bearer ...` (HTTP, gRPC) or cmd 5 (MessagePack) first";
        Refusal::new(Code::Unauthenticated, "this server asks for a token", hint)
    }

    /// A token, but not the right one.
    pub fn wrong_token() -> Refusal {
        Refusal::new(Code::Unauthenticated, "the token is wrong", "compare it with auth_token of the server")
    }

    /// No room for a new key.
    pub fn table_full() -> Refusal {
        let hint = "retry later, raise keys.max_keys, or set keys.when_full to evict or admit";
        Refusal::new(Code::TableFull, "the table is full of live keys and takes no new ones", hint)
    }

    /// As many connections as `max`, which `option` sets.
    pub fn too_many_connections(max: usize, option: &str) -> Refusal {
        let message = format!("all {max} connections of this door are in use");
        Refusal::new(Code::TooManyConnections, message, format!("close idle ones, or raise {option}"))
    }

    /// The server is stopping.
    pub fn shutting_down() -> Refusal {
        Refusal::new(Code::ShuttingDown, "the server is stopping", "connect again in a moment")
    }

    /// A request that did not arrive whole in time.
    pub fn timeout(limit_ms: u64, option: &str) -> Refusal {
        let message = format!("the request was not complete within {limit_ms} ms");
        Refusal::new(Code::Timeout, message, format!("send it faster, or raise {option}"))
    }
}
