//! The servers that share the table.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::limit::Limit;
use super::table::{CREDENTIALS, NAME, REGION, Table};
use crate::peers::Tidegate;
use crate::queue::broker::link::Link;
use crate::queue::broker::resp;

/// How long a server may take to return what it holds and to flush what it has counted: of 10,000 entities, that is some
/// 50,000 calls.
const STOP_WITHIN: Duration = Duration::from_secs(180);

/// Running servers, each with data of its own.
pub struct Nodes(Vec<Tidegate>);

impl Nodes {
    /// Starts so many.
    pub fn start(binary: &Path, table: &Table, count: usize) -> Result<Nodes> {
        let endpoint = table.endpoint();
        let ledger = [
            ("TIDEGATE_LEDGER_KIND", "dynamodb"),
            ("TIDEGATE_LEDGER_TABLE", NAME),
            ("TIDEGATE_LEDGER_REGION", REGION),
            ("TIDEGATE_LEDGER_ENDPOINT", &endpoint),
        ];
        let environment = [ledger, CREDENTIALS].concat();
        let nodes = (0..count).map(|_| Tidegate::start_with_env(binary, &environment));
        Ok(Nodes(nodes.collect::<Result<_>>()?))
    }

    /// Where each speaks the Redis protocol.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|node| node.doors.resp).collect()
    }

    /// Sets the limit of all entities for a resource.
    pub fn set_limit(&self, resource: &str, limit: Limit) -> Result<()> {
        let node = self.0.first().context("no nodes")?;
        let settings = serde_json::to_vec(&json!({ "limits": [limit.term()] }))?;
        let words = [b"LIMITS".as_slice(), b"SET", b"RESOURCE", resource.as_bytes(), &settings];
        resp::ask(&mut Link::connect(node.doors.resp)?, &words, resp::accepted)
    }

    /// What each has logged last.
    pub fn logs(&self) -> Vec<String> {
        self.0.iter().map(|node| node.process.log()).collect()
    }

    /// CPU time that all of them have used so far.
    pub fn cpu(&self) -> Result<Duration> {
        self.0.iter().map(|node| node.process.family_cpu()).sum()
    }

    /// Memory of the largest.
    pub fn rss_bytes(&self) -> Result<u64> {
        let each: Vec<u64> = self.0.iter().map(|node| node.process.rss_bytes()).collect::<Result<_>>()?;
        Ok(each.into_iter().max().unwrap_or(0))
    }

    /// Ends them as an operator does, so that nothing is left behind.
    pub fn stop(self) -> Result<()> {
        self.0.into_iter().try_for_each(|node| node.process.stop(STOP_WITHIN))
    }
}
