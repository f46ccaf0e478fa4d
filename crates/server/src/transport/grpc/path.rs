//! The table of methods. A test holds it to the .proto files.

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A method with one message each way.
    Unary(Method),
    /// A method of `tidegate.v1.Queue` with one message each way.
    Queue(QueueMethod),
    /// A method of `tidegate.v1.Ledger`.
    Ledger(LedgerMethod),
    /// A method with streams of messages.
    Stream(Stream),
    /// A method of the health service.
    Health,
    /// A method of the reflection service.
    ReflectionV1,
    /// The same, of the version before.
    ReflectionV1Alpha,
}

/// A method with one message each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `throttlecrab.RateLimiter/Throttle`
    LimiterThrottle,
    /// `tidegate.v1.Ask/Throttle`
    Throttle,
    /// `tidegate.v1.Ask/Peek`
    Peek,
    /// `tidegate.v1.Ask/ThrottleBatch`
    ThrottleBatch,
    /// `tidegate.v1.Ask/Reset`
    Reset,
    /// `tidegate.v1.Ask/Clear`
    Clear,
}

/// A method with streams of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// `tidegate.v1.Ask/ThrottleStream`
    Throttle,
    /// `tidegate.v1.Queue/EnqueueStream`
    Enqueue,
    /// `tidegate.v1.Queue/Consume`
    Consume,
}

/// A method of `tidegate.v1.Queue` with one message each way, by its name there.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMethod {
    Enqueue,
    Receive,
    Ack,
    Nack,
    Extend,
    Release,
    CreateQueue,
    UpdateQueue,
    DeleteQueue,
    ListQueues,
    GetQueue,
    PurgeQueue,
    PauseQueue,
    ResumeQueue,
    Redrive,
    Flows,
    SetLimit,
    GetLimit,
    ListLimits,
    RemoveLimit,
    TakeLimit,
    CloseLimit,
    SetSetting,
    GetSetting,
    ListSettings,
    RemoveSetting,
}

/// A method of `tidegate.v1.Ledger`, by its name there.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerMethod {
    Acquire,
    AcquireBatch,
    Adjust,
    Settle,
    SettleBatch,
    ReleaseLease,
    ExtendLease,
    GetLease,
    ListLeases,
    CreateEntity,
    UpdateEntity,
    PutEntities,
    MoveEntity,
    DeleteEntity,
    GetEntity,
    ListEntities,
    ListChildren,
    SetScope,
    GetScope,
    RemoveScope,
    Resolve,
    ListCustom,
    Available,
    Capacity,
    ResetBuckets,
    TopUp,
    CloseBuckets,
    Usage,
    Audit,
    Why,
    ExportManifest,
    PlanManifest,
    ApplyManifest,
    ListNamespaces,
    DeleteNamespace,
    RecoverNamespace,
    PurgeNamespace,
}

/// The services that are this server's own.
pub const SERVICES: [&str; 4] =
    ["throttlecrab.RateLimiter", "tidegate.v1.Ask", "tidegate.v1.Ledger", "tidegate.v1.Queue"];

/// Finds the target of a path.
pub fn find(path: &str) -> Option<Target> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    match (service, method) {
        ("throttlecrab.RateLimiter", "Throttle") => Some(Target::Unary(Method::LimiterThrottle)),
        ("tidegate.v1.Ask", "Throttle") => Some(Target::Unary(Method::Throttle)),
        ("tidegate.v1.Ask", "Peek") => Some(Target::Unary(Method::Peek)),
        ("tidegate.v1.Ask", "ThrottleBatch") => Some(Target::Unary(Method::ThrottleBatch)),
        ("tidegate.v1.Ask", "ThrottleStream") => Some(Target::Stream(Stream::Throttle)),
        ("tidegate.v1.Ask", "Reset") => Some(Target::Unary(Method::Reset)),
        ("tidegate.v1.Ask", "Clear") => Some(Target::Unary(Method::Clear)),
        ("tidegate.v1.Queue", "EnqueueStream") => Some(Target::Stream(Stream::Enqueue)),
        ("tidegate.v1.Queue", "Consume") => Some(Target::Stream(Stream::Consume)),
        ("tidegate.v1.Queue", method) => find_queue(method).map(Target::Queue),
        ("tidegate.v1.Ledger", method) => find_ledger(method).map(Target::Ledger),
        ("grpc.health.v1.Health", _) => Some(Target::Health),
        ("grpc.reflection.v1.ServerReflection", _) => Some(Target::ReflectionV1),
        ("grpc.reflection.v1alpha.ServerReflection", _) => Some(Target::ReflectionV1Alpha),
        _ => None,
    }
}

fn find_queue(method: &str) -> Option<QueueMethod> {
    Some(match method {
        "Enqueue" => QueueMethod::Enqueue,
        "Receive" => QueueMethod::Receive,
        "Ack" => QueueMethod::Ack,
        "Nack" => QueueMethod::Nack,
        "Extend" => QueueMethod::Extend,
        "Release" => QueueMethod::Release,
        "CreateQueue" => QueueMethod::CreateQueue,
        "UpdateQueue" => QueueMethod::UpdateQueue,
        "DeleteQueue" => QueueMethod::DeleteQueue,
        "ListQueues" => QueueMethod::ListQueues,
        "GetQueue" => QueueMethod::GetQueue,
        "PurgeQueue" => QueueMethod::PurgeQueue,
        "PauseQueue" => QueueMethod::PauseQueue,
        "ResumeQueue" => QueueMethod::ResumeQueue,
        "Redrive" => QueueMethod::Redrive,
        "Flows" => QueueMethod::Flows,
        "SetLimit" => QueueMethod::SetLimit,
        "GetLimit" => QueueMethod::GetLimit,
        "ListLimits" => QueueMethod::ListLimits,
        "RemoveLimit" => QueueMethod::RemoveLimit,
        "TakeLimit" => QueueMethod::TakeLimit,
        "CloseLimit" => QueueMethod::CloseLimit,
        "SetSetting" => QueueMethod::SetSetting,
        "GetSetting" => QueueMethod::GetSetting,
        "ListSettings" => QueueMethod::ListSettings,
        "RemoveSetting" => QueueMethod::RemoveSetting,
        _ => return None,
    })
}

fn find_ledger(method: &str) -> Option<LedgerMethod> {
    Some(match method {
        "Acquire" => LedgerMethod::Acquire,
        "AcquireBatch" => LedgerMethod::AcquireBatch,
        "Adjust" => LedgerMethod::Adjust,
        "Settle" => LedgerMethod::Settle,
        "SettleBatch" => LedgerMethod::SettleBatch,
        "ReleaseLease" => LedgerMethod::ReleaseLease,
        "ExtendLease" => LedgerMethod::ExtendLease,
        "GetLease" => LedgerMethod::GetLease,
        "ListLeases" => LedgerMethod::ListLeases,
        "CreateEntity" => LedgerMethod::CreateEntity,
        "UpdateEntity" => LedgerMethod::UpdateEntity,
        "PutEntities" => LedgerMethod::PutEntities,
        "MoveEntity" => LedgerMethod::MoveEntity,
        "DeleteEntity" => LedgerMethod::DeleteEntity,
        "GetEntity" => LedgerMethod::GetEntity,
        "ListEntities" => LedgerMethod::ListEntities,
        "ListChildren" => LedgerMethod::ListChildren,
        "SetScope" => LedgerMethod::SetScope,
        "GetScope" => LedgerMethod::GetScope,
        "RemoveScope" => LedgerMethod::RemoveScope,
        "Resolve" => LedgerMethod::Resolve,
        "ListCustom" => LedgerMethod::ListCustom,
        "Available" => LedgerMethod::Available,
        "Capacity" => LedgerMethod::Capacity,
        "ResetBuckets" => LedgerMethod::ResetBuckets,
        "TopUp" => LedgerMethod::TopUp,
        "CloseBuckets" => LedgerMethod::CloseBuckets,
        "Usage" => LedgerMethod::Usage,
        "Audit" => LedgerMethod::Audit,
        "Why" => LedgerMethod::Why,
        "ExportManifest" => LedgerMethod::ExportManifest,
        "PlanManifest" => LedgerMethod::PlanManifest,
        "ApplyManifest" => LedgerMethod::ApplyManifest,
        "ListNamespaces" => LedgerMethod::ListNamespaces,
        "DeleteNamespace" => LedgerMethod::DeleteNamespace,
        "RecoverNamespace" => LedgerMethod::RecoverNamespace,
        "PurgeNamespace" => LedgerMethod::PurgeNamespace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;
    use crate::transport::grpc::reflection::DESCRIPTOR;

    #[test]
    fn every_method_of_the_proto_files_is_found_and_streams_only_if_they_do() {
        let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap().file;
        let mut services = Vec::new();
        for file in &files {
            for service in &file.service {
                let name = format!("{}.{}", file.package(), service.name());
                for method in &service.method {
                    let target = find(&format!("/{name}/{}", method.name()));
                    let target = target.unwrap_or_else(|| panic!("{name}/{} goes nowhere", method.name()));
                    assert_eq!(
                        matches!(target, Target::Stream(_)),
                        method.client_streaming(),
                        "{name}/{}",
                        method.name()
                    );
                }
                services.push(name);
            }
        }
        assert_eq!(services, SERVICES);
    }

    #[test]
    fn anything_else_is_not() {
        let ask = "tidegate.v1.Ask";
        for path in ["", "/", "/x", &format!("{ask}/Peek"), &format!("/{ask}"), &format!("/{ask}/"), "/a/b/c"]
        {
            assert_eq!(find(path), None, "{path}");
        }
        assert_eq!(find("/tidegate.v1.Ask/peek"), None);
        assert_eq!(find("/tidegate.v1.Queue/Peek"), None);
    }
}
