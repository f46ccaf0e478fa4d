//! What must hold between options. What must hold for one option alone is in its bounds.

use super::error::Problem;
use super::{Address, Config, Framed, ledger};

/// Every rule that `config` breaks.
pub fn check(config: &Config) -> Vec<Problem> {
    let rules = [
        a_door_is_open,
        doors_are_apart,
        keys_fit_their_requests,
        default_limit_is_whole,
        leases_may_last,
        ledger::check,
    ];
    rules.iter().flat_map(|rule| rule(config)).collect()
}

/// The doors over frames, by name.
fn framed(config: &Config) -> [(&'static str, &Framed); 2] {
    [("resp", &config.resp), ("msgpack", &config.msgpack)]
}

/// The doors that are open, and where.
fn open_doors(config: &Config) -> Vec<(&'static str, &Address)> {
    let http = config.http.enabled.then_some(("http", &config.http.address));
    let framed = framed(config).into_iter().filter(|(_, door)| door.enabled);
    http.into_iter().chain(framed.map(|(name, door)| (name, &door.address))).collect()
}

fn a_door_is_open(config: &Config) -> Vec<Problem> {
    if !open_doors(config).is_empty() {
        return Vec::new();
    }
    vec![Problem::Rule {
        what: "every door is closed: http.enabled, resp.enabled and msgpack.enabled are all false".to_owned(),
        hint: "open at least one of them".to_owned(),
    }]
}

fn doors_are_apart(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut before: Vec<(&str, &Address)> = Vec::new();
    for (door, address) in open_doors(config) {
        let taken = before.iter().find(|(_, other)| *other == address && address.port() != 0);
        if let Some((other, _)) = taken {
            problems.push(Problem::Rule {
                what: format!("{other}.address and {door}.address are both {address}"),
                hint: format!("give {door}.address a port of its own, or port 0 for any that is free"),
            });
        }
        before.push((door, address));
    }
    problems
}

/// Room for what a request says beside its key: the command, a namespace, six numbers and their framing.
const BESIDE_THE_KEY_BYTES: usize = 512;

fn keys_fit_their_requests(config: &Config) -> Vec<Problem> {
    let longest = config.keys.max_key_bytes;
    let framed = framed(config).into_iter().filter(|(_, door)| door.enabled);
    let framed = framed.map(|(name, door)| (format!("{name}.max_frame_bytes"), door.max_frame_bytes));
    let http = config.http.enabled.then(|| ("http.max_body_bytes".to_owned(), config.http.max_body_bytes));
    let needed = longest + BESIDE_THE_KEY_BYTES;
    let small = http.into_iter().chain(framed).filter(|(_, room)| *room < needed);
    let told = |(path, room): (String, usize)| Problem::Rule {
        what: format!("{path} is {room}, too small for a key of keys.max_key_bytes = {longest}"),
        hint: format!("raise {path} to {needed} or more, or lower keys.max_key_bytes"),
    };
    small.map(told).collect()
}

fn default_limit_is_whole(config: &Config) -> Vec<Problem> {
    let limits = &config.limits;
    let parts = [
        ("limits.default_burst", limits.default_burst),
        ("limits.default_rate", limits.default_rate),
        ("limits.default_period", limits.default_period),
    ];
    let names = |set: bool| -> Vec<&str> {
        parts.iter().filter(|(_, value)| value.is_some() == set).map(|(name, _)| *name).collect()
    };
    let (set, unset) = (names(true), names(false));
    if set.is_empty() || unset.is_empty() {
        return Vec::new();
    }
    vec![Problem::Rule {
        what: format!("a default limit needs all of its parts: {} missing", are(&unset)),
        hint: format!("set {}, or leave out {}", unset.join(" and "), set.join(" and ")),
    }]
}

fn leases_may_last(config: &Config) -> Vec<Problem> {
    let (untold, most) = (config.ledger.lease_ttl_ms, config.ledger.max_lease_ttl_ms);
    if untold <= most {
        return Vec::new();
    }
    vec![Problem::Rule {
        what: format!("ledger.lease_ttl_ms is {untold}, longer than ledger.max_lease_ttl_ms = {most}"),
        hint: "lower the first, or raise the second".to_owned(),
    }]
}

fn are(names: &[&str]) -> String {
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}
