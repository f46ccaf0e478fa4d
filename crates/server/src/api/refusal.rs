//! Refusals: what a caller did wrong, or what stands in its way, and what to do about it.
//!
//! One closed set of codes, each with its HTTP status and gRPC code. Every text that a caller gets to read
//! when it is refused is in this file, and in [`queue`] for what only the Queue door refuses.

mod queue;

use std::borrow::Cow;

/// A stable name for each kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The key is longer than allowed.
    KeyTooLong,
    /// Burst, count or period make no limit.
    InvalidLimit,
    /// The quantity is negative.
    InvalidQuantity,
    /// No limit came with the call, and there is no default.
    LimitRequired,
    /// The name of the namespace is no name.
    InvalidNamespace,
    /// The request cannot be read.
    InvalidRequest,
    /// Too many requests in one batch.
    BatchTooLarge,
    /// The body or frame is larger than allowed.
    BodyTooLarge,
    /// The body is encoded in a way that is not read here.
    UnsupportedMediaType,
    /// There is nothing at this path.
    NotFound,
    /// There is something at this path, for another method.
    MethodNotAllowed,
    /// The token is missing or wrong.
    Unauthenticated,
    /// The table is full of live keys, and refuses new ones.
    TableFull,
    /// The door has as many connections as it may.
    TooManyConnections,
    /// The server is stopping.
    ShuttingDown,
    /// The request took too long to arrive.
    Timeout,
    /// This server keeps no queues.
    QueuesOff,
    /// There is no queue of this name.
    QueueNotFound,
    /// There is a queue of this name already.
    QueueExists,
    /// The name of the queue is no name.
    InvalidName,
    /// The settings of the queue cannot be.
    InvalidSettings,
    /// A part of the message is out of its bounds.
    InvalidMessage,
    /// The message is larger than allowed.
    PayloadTooLarge,
    /// The receipt cannot be read.
    InvalidReceipt,
    /// There is no such message in flight.
    MessageNotFound,
    /// The lease that the receipt stands for has ended.
    StaleReceipt,
    /// There is no such subscription.
    ConsumerNotFound,
    /// The queue holds as much as it may.
    QueueFull,
    /// A charge asks for more than its limit ever holds.
    NeverPasses,
    /// The queue holds no dead letters.
    NotADeadLetterQueue,
    /// The queue that dead letters came from is gone.
    OriginGone,
    /// The throttle key has no limit.
    LimitNotFound,
    /// The setting has no value.
    SettingNotFound,
    /// The disk takes no more writes.
    StorageFull,
    /// The disk does not answer, or does not give a message back.
    StorageFault,
}

impl Code {
    /// Its name, HTTP status and gRPC code.
    const fn row(self) -> (&'static str, u16, i32) {
        use grpc::*;
        match self {
            Code::KeyTooLong => ("key_too_long", 400, INVALID_ARGUMENT),
            Code::InvalidLimit => ("invalid_limit", 400, INVALID_ARGUMENT),
            Code::InvalidQuantity => ("invalid_quantity", 400, INVALID_ARGUMENT),
            Code::LimitRequired => ("limit_required", 400, INVALID_ARGUMENT),
            Code::InvalidNamespace => ("invalid_namespace", 400, INVALID_ARGUMENT),
            Code::InvalidRequest => ("invalid_request", 400, INVALID_ARGUMENT),
            Code::BatchTooLarge => ("batch_too_large", 400, INVALID_ARGUMENT),
            Code::BodyTooLarge => ("body_too_large", 413, RESOURCE_EXHAUSTED),
            Code::UnsupportedMediaType => ("unsupported_media_type", 415, INVALID_ARGUMENT),
            Code::NotFound => ("not_found", 404, UNIMPLEMENTED),
            Code::MethodNotAllowed => ("method_not_allowed", 405, UNIMPLEMENTED),
            Code::Unauthenticated => ("unauthenticated", 401, UNAUTHENTICATED),
            Code::TableFull => ("table_full", 503, RESOURCE_EXHAUSTED),
            Code::TooManyConnections => ("too_many_connections", 503, UNAVAILABLE),
            Code::ShuttingDown => ("shutting_down", 503, UNAVAILABLE),
            Code::Timeout => ("timeout", 408, DEADLINE_EXCEEDED),
            Code::QueuesOff => ("queues_off", 501, UNIMPLEMENTED),
            Code::QueueNotFound => ("queue_not_found", 404, NOT_FOUND),
            Code::QueueExists => ("queue_exists", 409, ALREADY_EXISTS),
            Code::InvalidName => ("invalid_name", 400, INVALID_ARGUMENT),
            Code::InvalidSettings => ("invalid_settings", 400, INVALID_ARGUMENT),
            Code::InvalidMessage => ("invalid_message", 400, INVALID_ARGUMENT),
            Code::PayloadTooLarge => ("payload_too_large", 413, RESOURCE_EXHAUSTED),
            Code::InvalidReceipt => ("invalid_receipt", 400, INVALID_ARGUMENT),
            Code::MessageNotFound => ("message_not_found", 404, NOT_FOUND),
            Code::StaleReceipt => ("stale_receipt", 409, FAILED_PRECONDITION),
            Code::ConsumerNotFound => ("consumer_not_found", 404, NOT_FOUND),
            Code::QueueFull => ("queue_full", 429, RESOURCE_EXHAUSTED),
            Code::NeverPasses => ("never_passes", 400, INVALID_ARGUMENT),
            Code::NotADeadLetterQueue => ("not_a_dead_letter_queue", 409, FAILED_PRECONDITION),
            Code::OriginGone => ("origin_gone", 409, FAILED_PRECONDITION),
            Code::LimitNotFound => ("limit_not_found", 404, NOT_FOUND),
            Code::SettingNotFound => ("setting_not_found", 404, NOT_FOUND),
            Code::StorageFull => ("storage_full", 507, UNAVAILABLE),
            Code::StorageFault => ("storage_fault", 503, UNAVAILABLE),
        }
    }

    /// The name that goes over the wire.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status.
    pub const fn http_status(self) -> u16 {
        self.row().1
    }

    /// The gRPC status code, as its number.
    pub const fn grpc_code(self) -> i32 {
        self.row().2
    }

    /// Every code there is.
    pub const ALL: [Code; 35] = [
        Code::KeyTooLong,
        Code::InvalidLimit,
        Code::InvalidQuantity,
        Code::LimitRequired,
        Code::InvalidNamespace,
        Code::InvalidRequest,
        Code::BatchTooLarge,
        Code::BodyTooLarge,
        Code::UnsupportedMediaType,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::Unauthenticated,
        Code::TableFull,
        Code::TooManyConnections,
        Code::ShuttingDown,
        Code::Timeout,
        Code::QueuesOff,
        Code::QueueNotFound,
        Code::QueueExists,
        Code::InvalidName,
        Code::InvalidSettings,
        Code::InvalidMessage,
        Code::PayloadTooLarge,
        Code::InvalidReceipt,
        Code::MessageNotFound,
        Code::StaleReceipt,
        Code::ConsumerNotFound,
        Code::QueueFull,
        Code::NeverPasses,
        Code::NotADeadLetterQueue,
        Code::OriginGone,
        Code::LimitNotFound,
        Code::SettingNotFound,
        Code::StorageFull,
        Code::StorageFault,
    ];
}

/// gRPC's own numbers.
mod grpc {
    pub const INVALID_ARGUMENT: i32 = 3;
    pub const DEADLINE_EXCEEDED: i32 = 4;
    pub const NOT_FOUND: i32 = 5;
    pub const ALREADY_EXISTS: i32 = 6;
    pub const RESOURCE_EXHAUSTED: i32 = 8;
    pub const FAILED_PRECONDITION: i32 = 9;
    pub const UNIMPLEMENTED: i32 = 12;
    pub const UNAVAILABLE: i32 = 14;
    pub const UNAUTHENTICATED: i32 = 16;
}

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
    fn new(code: Code, message: impl Into<Text>, hint: impl Into<Text>) -> Refusal {
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
        Refusal::new(Code::NotFound, message, "GET /openapi.json lists what there is")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_map_to_errors() {
        let names: std::collections::HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(
            Code::ALL.iter().all(|code| (400..600).contains(&code.http_status()) && code.grpc_code() > 0)
        );
    }
}
