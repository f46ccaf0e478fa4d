//! The table of paths: the only list of them in code. A test holds the OpenAPI document to it.

use http::{HeaderValue, Method, Response, header};

use super::outgoing::Outgoing;
use super::reply;
use crate::api::Refusal;

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// An operation on keys.
    Ask(Ask),
    /// An operation on queues, limits and settings.
    Queue(Queue),
    /// An operation on entities, their limits and leases.
    Ledger(Ledger),
    /// Does the process live?
    Health,
    /// Can it decide?
    Ready,
    /// What it counted.
    Metrics,
    /// What it offers.
    OpenApi,
}

/// An operation on keys, with a JSON body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Decide one call.
    Throttle,
    /// Tell what would be decided.
    Peek,
    /// Decide several calls.
    Batch,
    /// Forget some keys.
    Reset,
    /// Forget every key.
    Clear,
}

/// An operation of the Queue door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Put messages into a queue.
    Enqueue,
    /// Wait for messages.
    Receive,
    /// These are done with.
    Ack,
    /// These have failed.
    Nack,
    /// These need longer.
    Extend,
    /// These are given back.
    Release,
    /// Make a queue.
    Create,
    /// Tell of every queue.
    List,
    /// Tell of one.
    Inspect,
    /// Change its settings.
    Update,
    /// Delete it.
    Delete,
    /// Drop its messages.
    Purge,
    /// Deliver nothing.
    Pause,
    /// Deliver again.
    Resume,
    /// Move dead letters back.
    Redrive,
    /// Tell how it is doing.
    Stats,
    /// Tell how its flows are doing.
    Flows,
    /// Tell of every limit.
    ListLimits,
    /// Tell of one.
    GetLimit,
    /// Set it.
    SetLimit,
    /// Remove it.
    RemoveLimit,
    /// Take tokens of it.
    TakeLimit,
    /// Leave its key alone for a while.
    CloseLimit,
    /// Tell of settings.
    ListSettings,
    /// Tell of one.
    GetSetting,
    /// Set it.
    SetSetting,
    /// Remove it.
    RemoveSetting,
}

/// An operation on entities, their limits and leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ledger {
    /// Take charges, all or none.
    Acquire,
    /// End a lease at its real cost.
    SettleLease,
    /// Take more, or give some back.
    AdjustLease,
    /// End a lease and give all of it back.
    ReleaseLease,
    /// Let a lease last longer.
    ExtendLease,
    /// Tell of open leases.
    ListLeases,
    /// Tell of one.
    GetLease,
    /// Tell of every entity.
    ListEntities,
    /// Make one.
    CreateEntity,
    /// Make several, or change those that are there.
    PutEntities,
    /// Tell of one.
    GetEntity,
    /// Change it.
    UpdateEntity,
    /// Delete it.
    DeleteEntity,
    /// Give it another parent.
    MoveEntity,
    /// Tell of those whose parent it is.
    ListChildren,
    /// Set what holds for it on every resource.
    SetEntityDefault,
    /// Tell what is set there.
    GetEntityDefault,
    /// Remove that.
    RemoveEntityDefault,
    /// Set what holds for it on a resource.
    SetEntityResource,
    /// Tell what is set there.
    GetEntityResource,
    /// Remove that.
    RemoveEntityResource,
    /// Set what holds for a resource.
    SetResource,
    /// Tell what is set there.
    GetResource,
    /// Remove that.
    RemoveResource,
    /// Set what holds for everybody.
    SetSystem,
    /// Tell what is set there.
    GetSystem,
    /// Remove that.
    RemoveSystem,
    /// Tell what applies, and from which level.
    Resolve,
    /// Tell whether an acquire would pass.
    Available,
    /// Make buckets full.
    Reset,
    /// Add to buckets.
    TopUp,
    /// Let nobody take from them for a while.
    CloseBuckets,
    /// Tell what is left over all entities.
    Capacity,
    /// Tell who has limits of its own.
    ListCustom,
    /// Tell all that is set.
    Export,
    /// Tell what a manifest would change.
    Plan,
    /// Make what is set the same as a manifest says.
    Apply,
    /// Tell what was used.
    Usage,
    /// The same as a table.
    UsageCsv,
    /// Tell what was changed, by whom.
    Audit,
    /// The same, all of it, as compressed lines.
    AuditLines,
    /// Tell what waits for what.
    Why,
    /// Tell of every namespace.
    ListNamespaces,
    /// Refuse whoever names it.
    DeleteNamespace,
    /// Let them in again.
    RecoverNamespace,
    /// Forget it for good.
    PurgeNamespace,
}

/// One row of the table. A path has at most two parts in braces, which stand for any names.
pub struct Row {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Whether there is a part in braces.
    named: bool,
    route: Route,
}

const fn row(method: Method, path: &'static str, route: Route) -> Row {
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'{' {
        at += 1;
    }
    Row { method, path, named: at < bytes.len(), route }
}

impl Row {
    /// What stands in place of the braces, if the path is this row's.
    fn matches<'p>(&self, path: &'p str) -> Option<[&'p str; 2]> {
        if !self.named {
            return (self.path == path).then_some([""; 2]);
        }
        let (mut found, mut names) = ([""; 2], 0);
        let (mut asked, mut own) = (path.split('/'), self.path.split('/'));
        loop {
            match (asked.next(), own.next()) {
                (None, None) => return Some(found),
                (Some(part), Some(name)) if name.starts_with('{') => {
                    *found.get_mut(names)? = Some(part).filter(|part| !part.is_empty())?;
                    names += 1;
                }
                (Some(part), Some(name)) if part == name => {}
                _ => return None,
            }
        }
    }
}

/// Every path, the busiest first.
pub const TABLE: &[Row] = &[
    row(Method::POST, "/throttle", Route::Ask(Ask::Throttle)),
    row(Method::POST, "/throttle/batch", Route::Ask(Ask::Batch)),
    row(Method::POST, "/queues/{queue}/messages", Route::Queue(Queue::Enqueue)),
    row(Method::POST, "/queues/{queue}/receive", Route::Queue(Queue::Receive)),
    row(Method::POST, "/queues/{queue}/ack", Route::Queue(Queue::Ack)),
    row(Method::POST, "/queues/{queue}/nack", Route::Queue(Queue::Nack)),
    row(Method::POST, "/queues/{queue}/extend", Route::Queue(Queue::Extend)),
    row(Method::POST, "/queues/{queue}/release", Route::Queue(Queue::Release)),
    row(Method::POST, "/acquire", Route::Ledger(Ledger::Acquire)),
    row(Method::POST, "/leases/{lease}/settle", Route::Ledger(Ledger::SettleLease)),
    row(Method::POST, "/leases/{lease}/adjust", Route::Ledger(Ledger::AdjustLease)),
    row(Method::POST, "/limits/{key}/take", Route::Queue(Queue::TakeLimit)),
    row(Method::POST, "/limits/{key}/close", Route::Queue(Queue::CloseLimit)),
    row(Method::POST, "/throttle/peek", Route::Ask(Ask::Peek)),
    row(Method::POST, "/throttle/reset", Route::Ask(Ask::Reset)),
    row(Method::POST, "/throttle/clear", Route::Ask(Ask::Clear)),
    row(Method::GET, "/health", Route::Health),
    row(Method::GET, "/ready", Route::Ready),
    row(Method::GET, "/metrics", Route::Metrics),
    row(Method::GET, "/openapi.json", Route::OpenApi),
    row(Method::GET, "/queues", Route::Queue(Queue::List)),
    row(Method::POST, "/queues", Route::Queue(Queue::Create)),
    row(Method::GET, "/queues/{queue}", Route::Queue(Queue::Inspect)),
    row(Method::PATCH, "/queues/{queue}", Route::Queue(Queue::Update)),
    row(Method::DELETE, "/queues/{queue}", Route::Queue(Queue::Delete)),
    row(Method::POST, "/queues/{queue}/purge", Route::Queue(Queue::Purge)),
    row(Method::POST, "/queues/{queue}/pause", Route::Queue(Queue::Pause)),
    row(Method::POST, "/queues/{queue}/resume", Route::Queue(Queue::Resume)),
    row(Method::POST, "/queues/{queue}/redrive", Route::Queue(Queue::Redrive)),
    row(Method::GET, "/queues/{queue}/stats", Route::Queue(Queue::Stats)),
    row(Method::GET, "/queues/{queue}/flows", Route::Queue(Queue::Flows)),
    row(Method::GET, "/limits", Route::Queue(Queue::ListLimits)),
    row(Method::GET, "/limits/{key}", Route::Queue(Queue::GetLimit)),
    row(Method::PUT, "/limits/{key}", Route::Queue(Queue::SetLimit)),
    row(Method::DELETE, "/limits/{key}", Route::Queue(Queue::RemoveLimit)),
    row(Method::GET, "/settings", Route::Queue(Queue::ListSettings)),
    row(Method::GET, "/settings/{key}", Route::Queue(Queue::GetSetting)),
    row(Method::PUT, "/settings/{key}", Route::Queue(Queue::SetSetting)),
    row(Method::DELETE, "/settings/{key}", Route::Queue(Queue::RemoveSetting)),
    row(Method::POST, "/leases/{lease}/release", Route::Ledger(Ledger::ReleaseLease)),
    row(Method::POST, "/leases/{lease}/extend", Route::Ledger(Ledger::ExtendLease)),
    row(Method::GET, "/leases", Route::Ledger(Ledger::ListLeases)),
    row(Method::GET, "/leases/{lease}", Route::Ledger(Ledger::GetLease)),
    row(Method::GET, "/entities", Route::Ledger(Ledger::ListEntities)),
    row(Method::POST, "/entities", Route::Ledger(Ledger::CreateEntity)),
    row(Method::POST, "/entities/batch", Route::Ledger(Ledger::PutEntities)),
    row(Method::GET, "/entities/{entity}", Route::Ledger(Ledger::GetEntity)),
    row(Method::PATCH, "/entities/{entity}", Route::Ledger(Ledger::UpdateEntity)),
    row(Method::DELETE, "/entities/{entity}", Route::Ledger(Ledger::DeleteEntity)),
    row(Method::POST, "/entities/{entity}/move", Route::Ledger(Ledger::MoveEntity)),
    row(Method::GET, "/entities/{entity}/children", Route::Ledger(Ledger::ListChildren)),
    row(Method::PUT, "/entities/{entity}/limits", Route::Ledger(Ledger::SetEntityDefault)),
    row(Method::GET, "/entities/{entity}/limits", Route::Ledger(Ledger::GetEntityDefault)),
    row(Method::DELETE, "/entities/{entity}/limits", Route::Ledger(Ledger::RemoveEntityDefault)),
    row(Method::PUT, "/entities/{entity}/limits/{resource}", Route::Ledger(Ledger::SetEntityResource)),
    row(Method::GET, "/entities/{entity}/limits/{resource}", Route::Ledger(Ledger::GetEntityResource)),
    row(Method::DELETE, "/entities/{entity}/limits/{resource}", Route::Ledger(Ledger::RemoveEntityResource)),
    row(Method::PUT, "/resources/{resource}/limits", Route::Ledger(Ledger::SetResource)),
    row(Method::GET, "/resources/{resource}/limits", Route::Ledger(Ledger::GetResource)),
    row(Method::DELETE, "/resources/{resource}/limits", Route::Ledger(Ledger::RemoveResource)),
    row(Method::PUT, "/system/limits", Route::Ledger(Ledger::SetSystem)),
    row(Method::GET, "/system/limits", Route::Ledger(Ledger::GetSystem)),
    row(Method::DELETE, "/system/limits", Route::Ledger(Ledger::RemoveSystem)),
    row(Method::GET, "/entities/{entity}/resources/{resource}", Route::Ledger(Ledger::Resolve)),
    row(Method::GET, "/entities/{entity}/resources/{resource}/available", Route::Ledger(Ledger::Available)),
    row(Method::POST, "/entities/{entity}/resources/{resource}/reset", Route::Ledger(Ledger::Reset)),
    row(Method::POST, "/entities/{entity}/resources/{resource}/top-up", Route::Ledger(Ledger::TopUp)),
    row(Method::POST, "/entities/{entity}/resources/{resource}/close", Route::Ledger(Ledger::CloseBuckets)),
    row(Method::GET, "/resources/{resource}/capacity", Route::Ledger(Ledger::Capacity)),
    row(Method::GET, "/custom-limits", Route::Ledger(Ledger::ListCustom)),
    row(Method::GET, "/manifest", Route::Ledger(Ledger::Export)),
    row(Method::POST, "/manifest/plan", Route::Ledger(Ledger::Plan)),
    row(Method::POST, "/manifest/apply", Route::Ledger(Ledger::Apply)),
    row(Method::GET, "/usage", Route::Ledger(Ledger::Usage)),
    row(Method::GET, "/usage.csv", Route::Ledger(Ledger::UsageCsv)),
    row(Method::GET, "/audit", Route::Ledger(Ledger::Audit)),
    row(Method::GET, "/audit.jsonl.gz", Route::Ledger(Ledger::AuditLines)),
    row(Method::POST, "/why", Route::Ledger(Ledger::Why)),
    row(Method::GET, "/namespaces", Route::Ledger(Ledger::ListNamespaces)),
    row(Method::DELETE, "/namespaces/{namespace}", Route::Ledger(Ledger::DeleteNamespace)),
    row(Method::POST, "/namespaces/{namespace}/recover", Route::Ledger(Ledger::RecoverNamespace)),
    row(Method::POST, "/namespaces/{namespace}/purge", Route::Ledger(Ledger::PurgeNamespace)),
];

/// A request that has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'p> {
    /// Where it goes.
    pub route: Route,
    /// The names in its path, still encoded; empty where there is none.
    pub names: [&'p str; 2],
}

/// Why a request goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// There is no such path.
    Path(String),
    /// There is, for other methods.
    Method {
        /// The method that was used.
        used: Method,
        /// The rows' own.
        allowed: Vec<Method>,
    },
}

/// Finds the row of a request. `HEAD` goes wherever `GET` does: hyper leaves out the body.
pub fn find<'p>(method: &Method, path: &'p str) -> Result<Found<'p>, Miss> {
    let wanted = if *method == Method::HEAD { &Method::GET } else { method };
    let mut allowed = Vec::new();
    for row in TABLE {
        let Some(names) = row.matches(path) else { continue };
        if row.method == *wanted {
            return Ok(Found { route: row.route, names });
        }
        allowed.push(row.method.clone());
    }
    match allowed.is_empty() {
        true => Err(Miss::Path(path.to_owned())),
        false => Err(Miss::Method { used: method.clone(), allowed }),
    }
}

impl Miss {
    /// The refusal, and for a wrong method the header that HTTP asks for.
    pub fn response(&self) -> Response<Outgoing> {
        let mut response = reply::refusal(&self.refusal());
        if let Miss::Method { allowed, .. } = self {
            let named = allowed.iter().map(|method| match *method == Method::GET {
                true => "GET, HEAD",
                false => method.as_str(),
            });
            let allow = HeaderValue::from_str(&named.collect::<Vec<_>>().join(", "));
            response.headers_mut().insert(header::ALLOW, allow.expect("methods are text"));
        }
        response
    }

    fn refusal(&self) -> Refusal {
        match self {
            Miss::Path(path) => Refusal::not_found(path),
            Miss::Method { used, allowed } => {
                let allowed: Vec<&str> = allowed.iter().map(Method::as_str).collect();
                Refusal::method_not_allowed(used.as_str(), &allowed.join(" or "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &Method, path: &str) -> Route {
        find(method, path).unwrap().route
    }

    #[test]
    fn every_row_is_found_and_none_is_twice() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(route(&row.method, row.path), row.route);
            let same = |other: &Row| (other.path, &other.method) == (row.path, &row.method);
            assert!(!TABLE[..index].iter().any(same), "{}", row.path);
        }
    }

    #[test]
    fn a_name_in_the_path_is_found_as_it_was_sent() {
        let found = |path| find(&Method::POST, path).map(|found| (found.route, found.names[0]));
        let enqueue = Route::Queue(Queue::Enqueue);
        assert_eq!(found("/queues/a%2Fb/messages"), Ok((enqueue, "a%2Fb")));
        assert_eq!(found("/queues/messages/messages"), Ok((enqueue, "messages")));
        assert_eq!(found("/queues/%7Bqueue%7D/messages"), Ok((enqueue, "%7Bqueue%7D")));
        assert_eq!(found("/limits/tenant:acme/take"), Ok((Route::Queue(Queue::TakeLimit), "tenant:acme")));
        for path in ["/queues//messages", "/queues/a/b/messages", "/queues/a/messages/", "/queues/"] {
            assert_eq!(found(path), Err(Miss::Path(path.to_owned())));
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
        let allow = |method: Method, path: &str| {
            let miss = find(&method, path).unwrap_err();
            let response = miss.response();
            assert_eq!(response.status(), 405);
            let allow = response.headers()[header::ALLOW].to_str().unwrap().to_owned();
            (allow, miss.refusal().hint().to_owned())
        };
        let told = |allow: &str, hint: &str| (allow.to_owned(), hint.to_owned());
        assert_eq!(allow(Method::GET, "/throttle"), told("POST", "use POST"));
        assert_eq!(allow(Method::POST, "/health"), told("GET, HEAD", "use GET"));
        let several = told("GET, HEAD, PATCH, DELETE", "use GET or PATCH or DELETE");
        assert_eq!(allow(Method::PUT, "/queues/a"), several);
    }

    #[test]
    fn head_goes_where_get_does() {
        assert_eq!(route(&Method::HEAD, "/health"), Route::Health);
        assert_eq!(route(&Method::HEAD, "/queues/a"), Route::Queue(Queue::Inspect));
        assert!(find(&Method::HEAD, "/throttle").is_err());
    }

    #[test]
    fn a_path_is_exact() {
        for path in ["", "/", "/throttle/", "/Throttle", "//throttle", "/throttle/batch/x", "*"] {
            assert_eq!(find(&Method::POST, path), Err(Miss::Path(path.to_owned())));
        }
    }
}
