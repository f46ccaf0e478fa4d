//! Doors that tests open.

mod http;

pub use http::Door;
