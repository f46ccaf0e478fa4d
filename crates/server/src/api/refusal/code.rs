//! One closed set of codes, each with its HTTP status and gRPC code.

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
    /// No level has limits for this entity and resource.
    NoLimits,
    /// A limit of this name does not apply here.
    UnknownLimit,
    /// The table holds a limit of a kind that is not enforced here.
    UnsupportedLimit,
    /// An amount is negative, or no amount.
    InvalidAmount,
    /// The entity or resource is disabled.
    Disabled,
    /// There is no entity of this id.
    EntityNotFound,
    /// There is an entity of this id already.
    EntityExists,
    /// The parent of the entity is not there.
    ParentNotFound,
    /// The entity would be its own ancestor.
    Cycle,
    /// The entity would have too many ancestors.
    TooDeep,
    /// The entity has children.
    HasChildren,
    /// The entity has been changed by somebody else.
    VersionMismatch,
    /// Nothing is set at this level.
    ScopeNotFound,
    /// There is no such lease, or it has ended.
    LeaseNotFound,
    /// The lease is another server's, which cannot be asked.
    LeaseElsewhere,
    /// What holds a concurrency slot needs a lease.
    LeaseRequired,
    /// The call charges more than is allowed at once.
    TooManyCharges,
    /// There are as many names of resources and limits as there may be.
    TooManyNames,
    /// What is taken could not be written down.
    StoreUnavailable,
    /// The namespace is deleted.
    NamespaceDeleted,
    /// There is no such namespace, or it is not deleted.
    NamespaceNotFound,
    /// The manifest cannot be.
    InvalidManifest,
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
            Code::NoLimits => ("no_limits", 409, FAILED_PRECONDITION),
            Code::UnknownLimit => ("unknown_limit", 400, INVALID_ARGUMENT),
            Code::UnsupportedLimit => ("unsupported_limit", 409, FAILED_PRECONDITION),
            Code::InvalidAmount => ("invalid_amount", 400, INVALID_ARGUMENT),
            Code::Disabled => ("disabled", 403, PERMISSION_DENIED),
            Code::EntityNotFound => ("entity_not_found", 404, NOT_FOUND),
            Code::EntityExists => ("entity_exists", 409, ALREADY_EXISTS),
            Code::ParentNotFound => ("parent_not_found", 404, NOT_FOUND),
            Code::Cycle => ("cycle", 409, FAILED_PRECONDITION),
            Code::TooDeep => ("too_deep", 409, FAILED_PRECONDITION),
            Code::HasChildren => ("has_children", 409, FAILED_PRECONDITION),
            Code::VersionMismatch => ("version_mismatch", 412, ABORTED),
            Code::ScopeNotFound => ("scope_not_found", 404, NOT_FOUND),
            Code::LeaseNotFound => ("lease_not_found", 404, NOT_FOUND),
            Code::LeaseElsewhere => ("lease_elsewhere", 421, FAILED_PRECONDITION),
            Code::LeaseRequired => ("lease_required", 400, INVALID_ARGUMENT),
            Code::TooManyCharges => ("too_many_charges", 400, INVALID_ARGUMENT),
            Code::TooManyNames => ("too_many_names", 503, RESOURCE_EXHAUSTED),
            Code::StoreUnavailable => ("store_unavailable", 503, UNAVAILABLE),
            Code::NamespaceDeleted => ("namespace_deleted", 410, FAILED_PRECONDITION),
            Code::NamespaceNotFound => ("namespace_not_found", 404, NOT_FOUND),
            Code::InvalidManifest => ("invalid_manifest", 400, INVALID_ARGUMENT),
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
    pub const ALL: [Code; 57] = [
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
        Code::NoLimits,
        Code::UnknownLimit,
        Code::UnsupportedLimit,
        Code::InvalidAmount,
        Code::Disabled,
        Code::EntityNotFound,
        Code::EntityExists,
        Code::ParentNotFound,
        Code::Cycle,
        Code::TooDeep,
        Code::HasChildren,
        Code::VersionMismatch,
        Code::ScopeNotFound,
        Code::LeaseNotFound,
        Code::LeaseElsewhere,
        Code::LeaseRequired,
        Code::TooManyCharges,
        Code::TooManyNames,
        Code::StoreUnavailable,
        Code::NamespaceDeleted,
        Code::NamespaceNotFound,
        Code::InvalidManifest,
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
    pub const PERMISSION_DENIED: i32 = 7;
    pub const RESOURCE_EXHAUSTED: i32 = 8;
    pub const FAILED_PRECONDITION: i32 = 9;
    pub const ABORTED: i32 = 10;
    pub const UNIMPLEMENTED: i32 = 12;
    pub const UNAVAILABLE: i32 = 14;
    pub const UNAUTHENTICATED: i32 = 16;
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
