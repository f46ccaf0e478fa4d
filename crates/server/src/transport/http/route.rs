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

/// One row of the table. A path has at most one part in braces, which stands for any name.
pub struct Row {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Where the braces begin and end; both at the end if there are none.
    braces: (usize, usize),
    route: Route,
}

const fn row(method: Method, path: &'static str, route: Route) -> Row {
    let bytes = path.as_bytes();
    let (mut open, mut close) = (0, 0);
    while open < bytes.len() && bytes[open] != b'{' {
        open += 1;
    }
    while close < bytes.len() && (close == 0 || bytes[close - 1] != b'}') {
        close += 1;
    }
    Row { method, path, braces: (open, close), route }
}

impl Row {
    /// What stands in place of the braces, if the path is this row's.
    fn matches<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (open, close) = self.braces;
        if open == close {
            return (self.path == path).then_some("");
        }
        let name = path.strip_prefix(&self.path[..open])?.strip_suffix(&self.path[close..])?;
        (!name.is_empty() && !name.contains('/')).then_some(name)
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
];

/// A request that has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'p> {
    /// Where it goes.
    pub route: Route,
    /// The name in its path, still encoded; empty if there is none.
    pub name: &'p str,
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
        let Some(name) = row.matches(path) else { continue };
        if row.method == *wanted {
            return Ok(Found { route: row.route, name });
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
        let found = |path| find(&Method::POST, path).map(|found| (found.route, found.name));
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
