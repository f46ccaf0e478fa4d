//! How limits stand, as a table.

use std::time::Duration;

use tidegate_client::{Kind, Status};

use super::table::{Column, age, count, table};

/// A line for each limit. Where nobody says which level they come from, that is left out.
pub fn shown(statuses: &[Status]) -> String {
    let [entity, resource, limit] = ["ENTITY", "RESOURCE", "LIMIT"].map(Column::Left);
    let [available, of, asked] = ["AVAILABLE", "OF", "ASKED"].map(Column::Right);
    let [from, state] = ["FROM", "STATE"].map(Column::Left);
    let rows = statuses.iter().map(row);
    if statuses.iter().any(|status| status.level.is_some()) {
        return table(
            [entity, resource, limit, available, of, asked, from, state],
            &rows.collect::<Vec<_>>(),
        );
    }
    let without = rows.map(|[entity, resource, limit, available, of, asked, _, state]| {
        [entity, resource, limit, available, of, asked, state]
    });
    table([entity, resource, limit, available, of, asked, state], &without.collect::<Vec<_>>())
}

fn row(status: &Status) -> [String; 8] {
    [
        status.entity.clone(),
        status.resource.clone(),
        status.limit.clone(),
        signed(status.available),
        count(status.capacity),
        if status.requested == 0 { "-".to_owned() } else { count(status.requested) },
        status.level.clone().unwrap_or_else(|| "-".to_owned()),
        state(status),
    ]
}

/// Whether it is short, and for how long.
fn state(status: &Status) -> String {
    let soft = if status.soft { " (soft)" } else { "" };
    match (status.exceeded, status.retry_after) {
        (true, _) if status.soft => "exceeded (soft)".to_owned(),
        (true, Some(wait)) if is_closed(status) => format!("closed for {}", age(as_ms(wait))),
        (true, Some(wait)) => format!("short for {}", age(as_ms(wait))),
        (true, None) if status.kind == Some(Kind::Concurrency) => "short until one is given back".to_owned(),
        (true, None) => "short".to_owned(),
        (false, _) if status.available < 0 => format!("in debt{soft}"),
        (false, _) => format!("ok{soft}"),
    }
}

/// Whether it is short although what was asked for is there.
pub fn is_closed(status: &Status) -> bool {
    status.exceeded && i128::from(status.available) >= i128::from(status.requested)
}

/// When it could pass, in words that follow "try again".
pub fn when(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("in {}", age(as_ms(wait))),
        None => "when somebody gives back (nobody knows when)".to_owned(),
    }
}

/// `-1,234`
pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

pub fn as_ms(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn status(limit: &str, available: i64, exceeded: bool, retry_after: Option<u64>) -> Status {
        Status {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: limit.to_owned(),
            kind: Some(if limit == "inflight" { Kind::Concurrency } else { Kind::Rate }),
            level: Some("resource".to_owned()),
            capacity: 10_000,
            available,
            requested: 500,
            exceeded,
            soft: false,
            retry_after: retry_after.map(Duration::from_millis),
        }
    }

    #[test]
    fn each_state_has_its_words() {
        let soft = Status { soft: true, ..status("rpd", -5, true, Some(100)) };
        let unsaid = Status { level: None, requested: 0, ..status("tpm", -1_234, false, Some(0)) };
        let statuses = [
            status("rpm", 59, false, Some(0)),
            unsaid,
            status("tpm", 120, true, Some(2_280)),
            status("inflight", 0, true, None),
            soft,
        ];
        expect![[r#"
            ENTITY  RESOURCE  LIMIT     AVAILABLE      OF  ASKED  FROM      STATE
            acme    gpt-4     rpm              59  10,000    500  resource  ok
            acme    gpt-4     tpm          -1,234  10,000      -  -         in debt
            acme    gpt-4     tpm             120  10,000    500  resource  short for 2.2 s
            acme    gpt-4     inflight          0  10,000    500  resource  short until one is given back
            acme    gpt-4     rpd              -5  10,000    500  resource  exceeded (soft)
        "#]]
        .assert_eq(&shown(&statuses));
        assert_eq!(state(&status("tpm", 500, true, Some(1_900))), "closed for 1.9 s");
        let unsaid = Status { level: None, ..status("rpm", 59, false, Some(0)) };
        expect![[r#"
            ENTITY  RESOURCE  LIMIT  AVAILABLE      OF  ASKED  STATE
            acme    gpt-4     rpm           59  10,000    500  ok
        "#]]
        .assert_eq(&shown(&[unsaid]));
    }
}
