//! A table as it is shown.

use serde_json::{Value, json};
use tidegate_dynamodb::node::peer::Peer;
use tidegate_dynamodb::{Migrated, Status};

use super::place::Place;
use crate::cli::Failure;
use crate::cli::table::{bytes, count, facts};

/// For programs.
pub fn document(status: &Status, servers: &[Peer]) -> Value {
    let server = |peer: &Peer| json!({"number": peer.number, "address": peer.address});
    json!({
        "table": status.table,
        "state": status.state,
        "usable": status.problem.is_none(),
        "problem": status.problem,
        "layout": status.version.as_ref().map(|version| &version.schema),
        "client_min_version": status.version.as_ref().map(|version| &version.client_min),
        "tidegate_version": status.version.as_ref().and_then(|version| version.own),
        "items": status.items,
        "bytes": status.bytes,
        "billing": status.billing,
        "indexes": status.indexes,
        "missing_indexes": status.missing_indexes,
        "expires": status.expires,
        "deletion_protection": status.deletion_protection,
        "servers": servers.iter().map(server).collect::<Vec<_>>(),
    })
}

/// For people.
pub fn status(status: &Status, servers: &[Peer], place: &Place) -> Result<String, Failure> {
    Ok(text(status, servers, place.location()?))
}

/// Those that use the table, each with its number.
fn told_servers(servers: &[Peer]) -> String {
    let told = |peer: &Peer| match &peer.address {
        Some(address) => format!("{} at {address}", peer.number),
        None => format!("{} (does not say where: set ledger.advertise)", peer.number),
    };
    match servers {
        [] => "none".to_owned(),
        servers => servers.iter().map(told).collect::<Vec<_>>().join(", "),
    }
}

fn text(status: &Status, servers: &[Peer], location: String) -> String {
    let on = |on: bool| if on { "on" } else { "off" }.to_owned();
    let layout = match &status.version {
        Some(version) => match version.own {
            Some(own) => format!("{}, Tidegate {own}", version.schema),
            None => format!("{}, nothing of Tidegate yet", version.schema),
        },
        None => "none yet".to_owned(),
    };
    let billing = match status.billing.as_str() {
        "PAY_PER_REQUEST" => "by request",
        "PROVISIONED" => "by provisioned capacity",
        other => other,
    };
    facts(&[
        ("table", status.table.clone()),
        ("where", location),
        ("state", status.state.to_lowercase()),
        ("usable", status.problem.clone().map_or("yes".to_owned(), |problem| format!("no: {problem}"))),
        ("layout", layout),
        ("items", format!("{} (counted every six hours)", count(status.items))),
        ("size", bytes(status.bytes)),
        ("billing", billing.to_owned()),
        ("expiry of items", on(status.expires)),
        ("deletion protection", on(status.deletion_protection)),
        ("servers", told_servers(servers)),
    ])
}

/// What was done, for programs.
pub fn migrated_document(migrated: &Migrated) -> Value {
    json!({
        "wrote_version": migrated.version,
        "wrote_tidegate_version": migrated.own_version,
        "made_default_namespace": migrated.default_namespace,
    })
}

/// What was done, for people.
pub fn migrated(migrated: &Migrated, place: &Place) -> Result<String, Failure> {
    let name = place.table()?;
    if migrated.is_nothing() {
        return Ok(format!("{name} is up to date: nothing to do\n"));
    }
    let done = [
        (migrated.version, "the version of the layout"),
        (migrated.own_version, "what Tidegate has to know of it"),
        (migrated.default_namespace, "the namespace default"),
    ];
    let done: Vec<&str> = done.iter().filter(|(done, _)| *done).map(|(_, what)| *what).collect();
    Ok(format!("{name} is ready: wrote {}\n", done.join(", ")))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tidegate_dynamodb::table::version::Version;

    use super::*;

    #[test]
    fn a_table_is_shown_as_facts() {
        let version = Version {
            schema: "0.10.0".to_owned(),
            client_min: "0.0.0".to_owned(),
            lambda: None,
            own: Some(1),
        };
        let status = Status {
            table: "limits".to_owned(),
            state: "ACTIVE".to_owned(),
            items: 12_345,
            bytes: 6_543_210,
            billing: "PAY_PER_REQUEST".to_owned(),
            indexes: Vec::new(),
            missing_indexes: Vec::new(),
            expires: true,
            deletion_protection: false,
            version: Some(version),
            problem: None,
        };
        let server = |number, address: Option<&str>| Peer {
            number,
            life: 1,
            expires_ms: 0,
            address: address.map(str::to_owned),
            owner: None,
        };
        let servers = [server(1, Some("10.0.3.17:6380")), server(4, None)];
        expect![[r#"
            table                limits
            where                AWS, eu-central-1
            state                active
            usable               yes
            layout               0.10.0, Tidegate 1
            items                12,345 (counted every six hours)
            size                 6.24 MiB
            billing              by request
            expiry of items      on
            deletion protection  off
            servers              1 at 10.0.3.17:6380, 4 (does not say where: set ledger.advertise)
        "#]]
        .assert_eq(&text(&status, &servers, "AWS, eu-central-1".to_owned()));
        assert_eq!(told_servers(&[]), "none");
    }
}
