//! `tidegate redrive`: another chance for dead letters.

use serde_json::json;

use super::queue_door::QueueDoor;
use super::{Failure, table};

const EXAMPLES: &str = "\
Each message goes back to the queue it came from, with no failed attempts.

Examples:
  tidegate redrive orders.dlq --count 1     try one first
  tidegate redrive orders.dlq
";

/// Move dead letters back to the queue they came from.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The queue that holds the dead letters, such as orders.dlq.
    queue: String,
    /// At most so many, oldest first [default: all].
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    #[command(flatten)]
    door: QueueDoor,
}

/// Moves them, and prints how many.
pub fn run(args: Args) -> Result<(), Failure> {
    let Args { queue, count, door } = args;
    let redriven = door.call(async |client| client.queue(&queue).redrive(count).await)?;
    door.print(&json!({ "redriven": redriven }), || match redriven {
        0 => format!("nothing to move: {queue} holds no dead letters, but for those in flight\n"),
        _ => format!("{} messages of {queue} are back where they came from\n", table::count(redriven)),
    })
}
