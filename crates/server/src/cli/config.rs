//! `tidegate config`: look at the configuration without starting anything.

use clap::{Subcommand, ValueEnum};

use super::{Failure, Flags, stdout};
use crate::config::{print, reference};

const EXAMPLES: &str = "\
Examples:
  tidegate config check --config tidegate.toml
  tidegate config print > tidegate.toml
  tidegate config print --format json | jq .http.address
";

/// Check or print the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say whether the configuration is good, and which options are set.
    Check {
        #[command(flatten)]
        flags: Flags,
    },
    /// Print every option with its value and where that came from.
    Print {
        /// How to print it; JSON has the values only.
        #[arg(long, value_enum, default_value_t = Format::Toml)]
        format: Format,
        #[command(flatten)]
        flags: Flags,
    },
    /// Print the reference page of every option, as Markdown.
    Reference,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Toml,
    Json,
}

/// Writes what was asked for to stdout.
pub fn run(args: Args) -> Result<(), Failure> {
    let text = match args.action {
        Action::Check { flags } => print::summary(&flags.load().map_err(Failure::Config)?),
        Action::Print { format, flags } => {
            let loaded = flags.load().map_err(Failure::Config)?;
            match format {
                Format::Toml => print::toml(&loaded),
                Format::Json => print::json(&loaded),
            }
        }
        Action::Reference => reference::markdown(),
    };
    stdout::write(&text)
}
