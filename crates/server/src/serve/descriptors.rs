//! Every connection is an open file: as many as the system lets us have.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::Config;

/// Files that are open besides connections: listeners, data files, the runtime's own.
const SPARE: u64 = 64;

/// Raises the soft limit to the hard one, and says so if that is still less than the doors may need.
pub fn raise(config: &Config) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit = raised,
            Err(error) => tracing::debug!(%error, "the limit on open files stays as it is"),
        }
    }
    let doors = [
        (config.http.enabled, config.http.max_connections),
        (config.resp.enabled, config.resp.max_connections),
        (config.msgpack.enabled, config.msgpack.max_connections),
    ];
    let largest = doors.iter().filter(|door| door.0).map(|door| door.1 as u64).max().unwrap_or(0);
    if let Some(files) = limit.current
        && files < largest + SPARE
    {
        tracing::warn!(
            files,
            max_connections = largest,
            "fewer open files than connections: raise `ulimit -n`"
        );
    }
}
