//! `tidegate lease`: what `tidegate acquire` has taken.

use std::time::{Duration, SystemTime};

use clap::Subcommand;
use serde_json::json;
use tidegate_client::{LeaseId, LeasePage, LeaseReport};

use super::amounts::{self, Amount, pairs};
use super::queue_door::QueueDoor;
use super::statuses::{as_ms, signed};
use super::table::{Column, age, facts, table};
use super::{Failure, millis};

const EXAMPLES: &str = "\
Examples:
  tidegate lease settle 0192f3c4a1b20001 tpm=812      it really cost this much
  tidegate lease adjust 0192f3c4a1b20001 tpm=312      take more, or less with tpm=-50
  tidegate lease release 0192f3c4a1b20001             nothing came of it: give everything back
  tidegate lease extend 0192f3c4a1b20001 5m
  tidegate lease list --entity acme
";

/// Settle, change and look at what was acquired.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// End a lease at its real cost. Limits that are not named stay as taken.
    Settle {
        /// The lease.
        lease: LeaseId,
        /// The real cost.
        #[arg(value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
        cost: Vec<Amount>,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Take more of a lease's limits, into debt if need be; below 0, give back.
    Adjust {
        /// The lease.
        lease: LeaseId,
        /// How much more.
        #[arg(value_name = "LIMIT=DELTA", value_parser = amounts::delta, required = true)]
        delta: Vec<Amount<i64>>,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// End a lease and give everything back.
    Release {
        /// The lease.
        lease: LeaseId,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Let a lease last longer.
    Extend {
        /// The lease.
        lease: LeaseId,
        /// How long from now: milliseconds, or 30s, 5m, 12h.
        #[arg(value_name = "MS", value_parser = millis::parse)]
        ttl: u64,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Show what a lease holds.
    Show {
        /// The lease.
        lease: LeaseId,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// List open leases.
    List {
        /// Only of this entity.
        #[arg(long, value_name = "ID")]
        entity: Option<String>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 100)]
        count: u32,
        /// Those after this one.
        #[arg(long, value_name = "LEASE")]
        after: Option<LeaseId>,
        #[command(flatten)]
        door: QueueDoor,
    },
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::Settle { lease, cost, door } => {
            door.call(async |client| client.leases().settle(lease, pairs(&cost)).await)?;
            door.print(&json!({ "done": true }), || format!("settled {lease}\n"))
        }
        Action::Adjust { lease, delta, door } => {
            door.call(async |client| client.leases().adjust(lease, pairs(&delta)).await)?;
            door.print(&json!({ "done": true }), || format!("adjusted {lease}\n"))
        }
        Action::Release { lease, door } => {
            door.call(async |client| client.leases().release(lease).await)?;
            door.print(&json!({ "done": true }), || format!("released {lease}: all is given back\n"))
        }
        Action::Extend { lease, ttl, door } => {
            let time = Duration::from_millis(ttl);
            door.call(async |client| client.leases().extend(lease, time).await)?;
            door.print(&json!({ "done": true }), || format!("extended {lease}: {} from now\n", age(ttl)))
        }
        Action::Show { lease, door } => {
            let report = door.call(async |client| client.leases().get(lease).await)?;
            door.print(&report, || one(&report, SystemTime::now()))
        }
        Action::List { entity, count, after, door } => {
            let page =
                door.call(async |client| client.leases().list(entity.as_deref(), count, after).await)?;
            door.print(&page, || list(&page, SystemTime::now()))
        }
    }
}

fn one(report: &LeaseReport, now: SystemTime) -> String {
    let words = facts(&[
        ("lease", report.lease.to_string()),
        ("expires in", expires_in(report, now)),
        ("then", then(report).to_owned()),
    ]);
    let columns =
        [Column::Left("ENTITY"), Column::Left("RESOURCE"), Column::Left("LIMIT"), Column::Right("HOLDS")];
    let rows: Vec<_> = report
        .holds
        .iter()
        .map(|hold| [hold.entity.clone(), hold.resource.clone(), hold.limit.clone(), signed(hold.amount)])
        .collect();
    format!("{words}\n{}", table(columns, &rows))
}

fn list(page: &LeasePage, now: SystemTime) -> String {
    if page.leases.is_empty() {
        return "no open leases\n".to_owned();
    }
    let columns = [Column::Left("LEASE"), Column::Right("EXPIRES IN"), Column::Left("HOLDS")];
    let rows: Vec<_> = page
        .leases
        .iter()
        .map(|report| [report.lease.to_string(), expires_in(report, now), holds(report)])
        .collect();
    let more = page.next.map(|next| format!("there may be more: --after {next}\n"));
    table(columns, &rows) + &more.unwrap_or_default()
}

/// The amounts of each entity and resource together: `acme/gpt-4: rpm=1 tpm=500`.
fn holds(report: &LeaseReport) -> String {
    let together = report.holds.chunk_by(|a, b| (&a.entity, &a.resource) == (&b.entity, &b.resource));
    let each = together.map(|holds| {
        let amounts: Vec<String> =
            holds.iter().map(|hold| format!("{}={}", hold.limit, hold.amount)).collect();
        let whose = holds.first().map(|hold| format!("{}/{}", hold.entity, hold.resource));
        format!("{}: {}", whose.unwrap_or_default(), amounts.join(" "))
    });
    each.collect::<Vec<_>>().join("; ")
}

fn expires_in(report: &LeaseReport, now: SystemTime) -> String {
    age(as_ms(report.expires_at().duration_since(now).unwrap_or_default()))
}

fn then(report: &LeaseReport) -> &'static str {
    match report.on_expiry {
        tidegate_client::OnExpiry::Keep => "its tokens are spent",
        tidegate_client::OnExpiry::GiveBack => "its tokens are given back",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;
    use tidegate_client::{Hold, Kind, OnExpiry};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["lease"].into_iter().chain(words.split_whitespace()));
        let id = "0192f3c4a1b20001";
        for words in
            ["settle ID", "settle ID tpm=5", "adjust ID tpm=-5", "release ID", "extend ID 5m", "show ID"]
        {
            let words = words.replace("ID", id);
            parse(&words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        parse("list --entity acme --count 5").unwrap();
        for words in ["", "settle x", "settle ID tpm=-5", "adjust ID", "extend ID", "show"] {
            assert!(parse(&words.replace("ID", id)).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn leases_in_words() {
        let hold = |limit: &str, amount| Hold {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: limit.to_owned(),
            kind: Kind::Rate,
            amount,
        };
        let report = LeaseReport {
            lease: LeaseId(0xaa),
            expires_at_ms: 30_500,
            on_expiry: OnExpiry::GiveBack,
            holds: vec![hold("rpm", 1), hold("tpm", 12_500)],
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        expect![[r#"
            lease       00000000000000aa
            expires in  29.5 s
            then        its tokens are given back

            ENTITY  RESOURCE  LIMIT   HOLDS
            acme    gpt-4     rpm         1
            acme    gpt-4     tpm    12,500
        "#]]
        .assert_eq(&one(&report, now));
        expect![[r#"
            LEASE             EXPIRES IN  HOLDS
            00000000000000aa      29.5 s  acme/gpt-4: rpm=1 tpm=12500
            there may be more: --after 00000000000000aa
        "#]]
        .assert_eq(&list(&LeasePage { leases: vec![report], next: Some(LeaseId(0xaa)) }, now));
    }
}
