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

/// One row of the table.
pub struct Row {
    pub(super) method: Method,
    pub(super) path: &'static str,
    route: Route,
}

const fn row(method: Method, path: &'static str, route: Route) -> Row {
    Row { method, path, route }
}

/// Every path, the busiest first.
pub const TABLE: &[Row] = &[
    row(Method::POST, "/throttle", Route::Ask(Ask::Throttle)),
    row(Method::POST, "/throttle/batch", Route::Ask(Ask::Batch)),
    row(Method::POST, "/throttle/peek", Route::Ask(Ask::Peek)),
    row(Method::POST, "/throttle/reset", Route::Ask(Ask::Reset)),
    row(Method::POST, "/throttle/clear", Route::Ask(Ask::Clear)),
    row(Method::GET, "/health", Route::Health),
    row(Method::GET, "/ready", Route::Ready),
    row(Method::GET, "/metrics", Route::Metrics),
    row(Method::GET, "/openapi.json", Route::OpenApi),
];

/// Why a request goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// There is no such path.
    Path(String),
    /// There is, for another method.
    Method {
        /// The method that was used.
        used: Method,
        /// The row's own.
        allowed: Method,
    },
}

/// Finds the row of a request. `HEAD` goes wherever `GET` does: hyper leaves out the body.
pub fn find(method: &Method, path: &str) -> Result<Route, Miss> {
    let row = TABLE.iter().find(|row| row.path == path).ok_or_else(|| Miss::Path(path.to_owned()))?;
    let head_for_get = *method == Method::HEAD && row.method == Method::GET;
    if *method == row.method || head_for_get {
        return Ok(row.route);
    }
    Err(Miss::Method { used: method.clone(), allowed: row.method.clone() })
}

impl Miss {
    /// The refusal, and for a wrong method the header that HTTP asks for.
    pub fn response(&self) -> Response<Outgoing> {
        let mut response = reply::refusal(&self.refusal());
        if let Miss::Method { allowed, .. } = self {
            let allow = if *allowed == Method::GET { "GET, HEAD" } else { "POST" };
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    }

    fn refusal(&self) -> Refusal {
        match self {
            Miss::Path(path) => Refusal::not_found(path),
            Miss::Method { used, allowed } => Refusal::method_not_allowed(used.as_str(), allowed.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_and_no_path_is_twice() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(find(&row.method, row.path), Ok(row.route));
            assert!(TABLE[..index].iter().all(|other| other.path != row.path), "{}", row.path);
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_one() {
        let miss = find(&Method::GET, "/throttle").unwrap_err();
        let response = miss.response();
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()[header::ALLOW], "POST");
        assert_eq!(miss.refusal().hint(), "use POST");
        assert_eq!(
            find(&Method::POST, "/health").unwrap_err().response().headers()[header::ALLOW],
            "GET, HEAD"
        );
    }

    #[test]
    fn head_goes_where_get_does() {
        assert_eq!(find(&Method::HEAD, "/health"), Ok(Route::Health));
        assert!(find(&Method::HEAD, "/throttle").is_err());
    }

    #[test]
    fn a_path_is_exact() {
        for path in ["", "/", "/throttle/", "/Throttle", "//throttle", "/throttle/batch/x", "*"] {
            assert_eq!(find(&Method::POST, path), Err(Miss::Path(path.to_owned())));
        }
    }
}
