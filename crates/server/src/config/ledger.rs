//! What must hold for a ledger in a table that servers share.

use super::error::Problem;
use super::{Config, Ledger, LedgerKind};

/// The shortest and the longest name of a table, as DynamoDB has it.
const TABLE_NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=255;

impl Ledger {
    /// Where the table is, in words.
    pub fn location(&self) -> String {
        match (self.endpoint.as_str(), self.region.as_str()) {
            ("", "") => "AWS, in the region of the environment".to_owned(),
            ("", region) => format!("AWS, {region}"),
            (endpoint, _) => endpoint.to_owned(),
        }
    }

    /// The flags that name the table, each with this before its name.
    pub fn place_flags(&self, prefix: &str) -> String {
        let named = [("table", &self.table), ("region", &self.region), ("endpoint", &self.endpoint)];
        let flags = named.iter().filter(|(_, value)| !value.is_empty());
        flags.map(|(name, value)| format!("--{prefix}{name} {value}")).collect::<Vec<_>>().join(" ")
    }
}

/// Every rule that is broken. Nothing is said of a table that is not used.
pub fn check(config: &Config) -> Vec<Problem> {
    if config.ledger.kind == LedgerKind::Embedded {
        return Vec::new();
    }
    let rules = [built_in, has_a_place_for_queues];
    let ledger = [table_has_a_name, endpoint_is_a_url, attempts_fit, advertised_is_an_address];
    let of_all = rules.iter().filter_map(|rule| rule(config));
    of_all.chain(ledger.iter().filter_map(|rule| rule(&config.ledger))).collect()
}

fn broken(what: impl Into<String>, hint: impl Into<String>) -> Option<Problem> {
    Some(Problem::Rule { what: what.into(), hint: hint.into() })
}

fn built_in(_: &Config) -> Option<Problem> {
    (!cfg!(feature = "dynamodb")).then(without)
}

/// A binary that cannot do it.
pub fn without() -> Problem {
    Problem::Rule {
        what: "this tidegate was built without DynamoDB, and ledger.kind cannot be \"dynamodb\"".to_owned(),
        hint: "take a released binary, or build it with the cargo feature `dynamodb`, which is on by default"
            .to_owned(),
    }
}

fn has_a_place_for_queues(config: &Config) -> Option<Problem> {
    let off = [("queue.enabled", config.queue.enabled), ("persistence.enabled", config.persistence.enabled)];
    let off: Vec<&str> = off.iter().filter(|(_, on)| !on).map(|(name, _)| *name).collect();
    if off.is_empty() {
        return None;
    }
    let (off, are) = (off.join(" and "), if off.len() == 1 { "is" } else { "are" });
    broken(
        format!("ledger.kind is \"dynamodb\", and {off} {are} false"),
        format!("set {off} to true: leases and queues stay with their server, in data_dir"),
    )
}

fn table_has_a_name(ledger: &Ledger) -> Option<Problem> {
    let table = &ledger.table;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if TABLE_NAME_CHARS.contains(&table.len()) && table.bytes().all(sound) {
        return None;
    }
    broken(
        format!("ledger.table is {table:?}, which DynamoDB does not take as the name of a table"),
        "a name has 3 to 255 letters, digits, `_`, `-` and `.`",
    )
}

fn endpoint_is_a_url(ledger: &Ledger) -> Option<Problem> {
    let endpoint = &ledger.endpoint;
    let host = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
    if endpoint.is_empty() || host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', ':'])) {
        return None;
    }
    broken(
        format!("ledger.endpoint is {endpoint:?}, which is no URL"),
        "write it as http://host:port or https://host:port, or leave it out to use AWS itself",
    )
}

fn attempts_fit(ledger: &Ledger) -> Option<Problem> {
    let (call, request) = (ledger.timeout_ms, ledger.request_timeout_ms);
    if request <= call {
        return None;
    }
    broken(
        format!("ledger.request_timeout_ms is {request}, longer than ledger.timeout_ms = {call}"),
        "lower the first, or raise the second: a call waits for at least one request",
    )
}

fn advertised_is_an_address(ledger: &Ledger) -> Option<Problem> {
    let address = &ledger.advertise;
    let (host, port) = address.rsplit_once(':').unwrap_or_default();
    if address.is_empty() || (!host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return None;
    }
    broken(
        format!("ledger.advertise is {address:?}, which nobody could connect to"),
        "write it as host:port of this server's RESP door, as the other servers reach it",
    )
}
