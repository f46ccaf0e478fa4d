//! `tidegate acquire`: take amounts of an entity's limits from a shell.
//!
//! The exit code is the answer, so that `tidegate acquire ... && call-the-model` works.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use serde_json::json;
use tidegate_client::{Acquire, Acquired, Lease, Manner, OnExpiry, OnUnavailable, Term};

use super::amounts::{self, Amount, EntityAmount};
use super::queue_door::QueueDoor;
use super::statuses::{self, as_ms, when};
use super::table::age;
use super::{Failure, millis, terms};

const NOTES: &str = "\
All of it is taken, or none. What is taken is held by a lease: settle it with the real cost, release it, or let it \
expire. Nothing is given back when this command ends.

Exit code:
  0  granted
  1  denied
  2  no answer: the server is not there, or refused

Examples:
  tidegate acquire acme gpt-4 rpm=1 tpm=500
  lease=$(tidegate acquire acme gpt-4 tpm=500 --quiet) && ./call-the-model
  tidegate lease settle $lease tpm=812
  tidegate acquire acme gpt-4 tpm=500 --wait 30s --ttl 5m
  tidegate acquire acme gpt-4 tpm=500 --and region:eu/gpt-4/tpm=500
  tidegate acquire guest api rpm=1 --no-lease --limit rpm=5/minute
";

/// Take amounts of an entity's limits, all or none.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Who is charged, and its parents by cascade.
    entity: String,
    /// What is used.
    resource: String,
    /// How much of which limits.
    #[arg(value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
    cost: Vec<Amount>,
    /// Take of another entity in the same step. May be repeated.
    #[arg(long = "and", value_name = "ENTITY/RESOURCE/LIMIT=AMOUNT", value_parser = amounts::of_entity)]
    also: Vec<EntityAmount>,
    /// Wait in line for so long if it cannot pass now: milliseconds, or 30s, 5m.
    #[arg(long, value_name = "MS", value_parser = millis::parse, conflicts_with_all = ["no_lease", "limits"])]
    wait: Option<u64>,
    /// How long the lease lasts: milliseconds, or 30s, 5m, 12h [server's default: 60s].
    #[arg(long, value_name = "MS", value_parser = millis::parse, conflicts_with = "no_lease")]
    ttl: Option<u64>,
    /// What becomes of the tokens if the lease expires [server's default: keep].
    #[arg(long, value_name = "WORD", value_enum, conflicts_with = "no_lease")]
    on_expiry: Option<Expiry>,
    /// Take for good: there is nothing to settle or to give back.
    #[arg(long)]
    no_lease: bool,
    /// A limit of this call, instead of all that are stored: tpm=10000/minute,burst=20000. May be repeated.
    #[arg(long = "limit", value_name = "LIMIT", value_parser = terms::parse)]
    limits: Vec<Term>,
    /// What is answered while the server cannot write down what is taken [server's default: block].
    #[arg(long, value_name = "WORD", value_enum)]
    on_unavailable: Option<Unavailable>,
    /// Print the id of the lease only.
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Expiry {
    /// They are spent.
    Keep,
    /// They are given back.
    #[value(alias = "give_back")]
    GiveBack,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Unavailable {
    /// A refusal.
    Block,
    /// What the limits say, although a crash would forget it.
    Allow,
}

impl From<Expiry> for OnExpiry {
    fn from(word: Expiry) -> OnExpiry {
        match word {
            Expiry::Keep => OnExpiry::Keep,
            Expiry::GiveBack => OnExpiry::GiveBack,
        }
    }
}

impl From<Unavailable> for OnUnavailable {
    fn from(word: Unavailable) -> OnUnavailable {
        match word {
            Unavailable::Block => OnUnavailable::Block,
            Unavailable::Allow => OnUnavailable::Allow,
        }
    }
}

impl Args {
    fn acquire(&self) -> Acquire<'_> {
        let acquire = Acquire::of(&self.entity, &self.resource);
        let acquire =
            amounts::pairs(&self.cost).fold(acquire, |acquire, (limit, amount)| acquire.cost(limit, amount));
        let mut acquire = self.also.iter().fold(acquire, |acquire, also| {
            acquire.and(&also.entity, &also.resource).cost(&also.limit, also.amount)
        });
        if let Some(wait_ms) = self.wait {
            acquire = acquire.wait(Duration::from_millis(wait_ms));
        }
        if let Some(ttl_ms) = self.ttl {
            acquire = acquire.ttl(Duration::from_millis(ttl_ms));
        }
        if let Some(on_expiry) = self.on_expiry {
            acquire = acquire.on_expiry(on_expiry.into());
        }
        if let Some(on_unavailable) = self.on_unavailable {
            acquire = acquire.on_unavailable(on_unavailable.into());
        }
        if self.no_lease {
            acquire = acquire.without_lease();
        }
        self.limits.iter().fold(acquire, Acquire::limit)
    }

    fn granted(&self, lease: Lease) -> Result<(), Failure> {
        let (expires_at, statuses) = (lease.expires_at(), lease.statuses().to_vec());
        let (bypassed, degraded) = (lease.manner() == Manner::Bypassed, lease.manner() == Manner::Degraded);
        let manner = match lease.manner() {
            Manner::Taken => "",
            Manner::Bypassed => ", by a bypass: counted, and nothing taken",
            Manner::Degraded => ", while the store is unavailable: a crash forgets it",
        };
        // It is to outlive this process.
        let id = lease.detach();
        let expires_at_ms = expires_at.map(unix_ms);
        let document = json!({
            "granted": true, "lease": id, "expires_at_ms": expires_at_ms, "retry_after_ms": 0,
            "bypassed": bypassed, "degraded": degraded, "statuses": statuses,
        });
        self.door.print(&document, || match id {
            Some(id) if self.quiet => format!("{id}\n"),
            None if self.quiet => String::new(),
            None => format!("granted, for good{manner}\n\n{}", statuses::shown(&statuses)),
            Some(id) => {
                let left =
                    expires_at.and_then(|at| at.duration_since(SystemTime::now()).ok()).unwrap_or_default();
                let lease = format!("granted: lease {id}, for {}{manner}\n", age(as_ms(left)));
                let table = statuses::shown(&statuses);
                format!("{lease}\n{table}\nsettle it with `tidegate lease settle {id} LIMIT=AMOUNT`\n")
            }
        })
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    as_ms(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// Asks, prints the answer, and gives it as an exit code.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    args.door.run(async |client| {
        let acquired = client.acquire(args.acquire()).await.map_err(|error| args.door.failed(error))?;
        match acquired {
            Acquired::Granted(lease) => args.granted(lease).map(|()| ExitCode::SUCCESS),
            Acquired::Denied(denied) => {
                let document = json!({
                    "granted": false, "lease": null, "expires_at_ms": null,
                    "retry_after_ms": denied.retry_after.map(as_ms), "statuses": denied.statuses,
                });
                args.door.print(&document, || {
                    if args.quiet {
                        return String::new();
                    }
                    let again = when(denied.retry_after);
                    format!("denied: try again {again}\n\n{}", statuses::shown(&denied.statuses))
                })?;
                Ok(ExitCode::FAILURE)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(["acquire"].into_iter().chain(words.split_whitespace())).map(|line| line.args)
    }

    #[test]
    fn flags_make_an_acquire() {
        let words = "acme gpt-4 rpm=1 tpm=500 --and a/b/gpt-4/tpm=5 --wait 5s --ttl 1m --on-expiry give-back \
            --on-unavailable allow";
        let args = parse(words).unwrap();
        let expected =
            Acquire::of("acme", "gpt-4").cost("rpm", 1).cost("tpm", 500).and("a/b", "gpt-4").cost("tpm", 5);
        let expected =
            expected.wait(Duration::from_secs(5)).ttl(Duration::from_secs(60)).on_expiry(OnExpiry::GiveBack);
        let expected = expected.on_unavailable(OnUnavailable::Allow);
        assert_eq!(format!("{:?}", args.acquire()), format!("{expected:?}"));
        let args = parse("acme gpt-4 tpm=5 --no-lease --limit tpm=10/minute,soft").unwrap();
        let expected = Acquire::of("acme", "gpt-4").cost("tpm", 5).without_lease();
        let expected = expected.limit(&Term::per_minute("tpm", 10).soft());
        assert_eq!(format!("{:?}", args.acquire()), format!("{expected:?}"));
    }

    #[test]
    fn words_that_are_understood() {
        for words in ["acme gpt-4", "acme gpt-4 tpm=0", "acme gpt-4 tpm=5 --no-lease --quiet"] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in [
            "acme",
            "acme gpt-4 tpm",
            "acme gpt-4 tpm=-1",
            "acme gpt-4 --no-lease --ttl 5s",
            "acme gpt-4 --quiet --json",
            "acme gpt-4 --and gpt-4/tpm=5",
            "acme gpt-4 --limit tpm",
            "acme gpt-4 --wait 5s --no-lease",
            "acme gpt-4 --wait 5s --limit tpm=5/minute",
        ] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
