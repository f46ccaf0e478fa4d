//! `tidegate bucket`: put right by hand what is left of limits.

use std::time::{Duration, UNIX_EPOCH};

use clap::Subcommand;
use serde_json::json;
use tidegate_client::Status;

use super::amounts::{self, Amount, pairs};
use super::queue_door::QueueDoor;
use super::statuses::{self, as_ms};
use super::{Failure, millis, utc};

const EXAMPLES: &str = "\
With --key, a second call with the same key changes nothing: it is safe to try again.

Examples:
  tidegate bucket reset acme gpt-4
  tidegate bucket reset acme gpt-4 --limit tpm --key ticket-4711
  tidegate bucket top-up acme gpt-4 tpm=50000 --key invoice-2026-11
  tidegate bucket close acme gpt-4 30s                the provider has answered 429
";

/// Fill, top up and close what is left of an entity's limits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make full again, and forgive debt.
    Reset {
        #[command(flatten)]
        bucket: Bucket,
        /// Only this limit. May be repeated.
        #[arg(long = "limit", value_name = "NAME")]
        limits: Vec<String>,
        #[command(flatten)]
        once: Once,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Add tokens: debt is repaid first, and no more than the burst is there then.
    TopUp {
        #[command(flatten)]
        bucket: Bucket,
        /// How much.
        #[arg(value_name = "LIMIT=AMOUNT", value_parser = amounts::amount, required = true)]
        amounts: Vec<Amount>,
        #[command(flatten)]
        once: Once,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Let nobody take anything for a while.
    Close {
        #[command(flatten)]
        bucket: Bucket,
        /// How long: milliseconds, or 30s, 5m, 12h.
        #[arg(value_name = "MS", value_parser = millis::parse)]
        retry_after: u64,
        #[command(flatten)]
        door: QueueDoor,
    },
}

#[derive(Debug, clap::Args)]
struct Bucket {
    /// The entity.
    entity: String,
    /// The resource.
    resource: String,
}

#[derive(Debug, clap::Args)]
struct Once {
    /// An idempotency key: up to 64 letters, digits and . _ : -
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Does what was asked for, and prints how the limits stand.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::Reset { bucket: Bucket { entity, resource }, limits, once, door } => {
            let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
            let key = once.key.as_deref();
            let found =
                door.call(async |client| client.buckets().reset(&entity, &resource, &limits, key).await)?;
            print(&door, "reset", &found)
        }
        Action::TopUp { bucket: Bucket { entity, resource }, amounts, once, door } => {
            let key = once.key.as_deref();
            let found = door.call(async |client| {
                client.buckets().top_up(&entity, &resource, pairs(&amounts), key).await
            })?;
            print(&door, "topped up", &found)
        }
        Action::Close { bucket: Bucket { entity, resource }, retry_after, door } => {
            let wait = Duration::from_millis(retry_after);
            let until = door.call(async |client| client.buckets().close(&entity, &resource, wait).await)?;
            let until_ms = as_ms(until.duration_since(UNIX_EPOCH).unwrap_or_default());
            door.print(&json!({ "closed_until_ms": until_ms }), || {
                format!("{entity} on {resource} is closed until {} UTC\n", utc::second(until_ms))
            })
        }
    }
}

fn print(door: &QueueDoor, done: &str, found: &[Status]) -> Result<(), Failure> {
    door.print(&json!({ "statuses": found }), || format!("{done}\n\n{}", statuses::shown(found)))
}
