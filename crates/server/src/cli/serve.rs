//! `tidegate serve`.

use super::{Failure, Flags};
use crate::{logs, serve};

const EXAMPLES: &str = "\
Examples:
  tidegate serve
  tidegate serve --http 0.0.0.0:8080 --data-dir /var/lib/tidegate
  tidegate serve --config tidegate.toml --log-format json
  TIDEGATE_MSGPACK_ENABLED=false tidegate serve
";

/// Start the server.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Loads the configuration and serves until told to stop.
pub fn run(args: Args) -> Result<(), Failure> {
    let loaded = args.flags.load().map_err(Failure::Config)?;
    logs::init(&loaded.config);
    serve::run(loaded.config).map_err(Failure::Serve)
}
