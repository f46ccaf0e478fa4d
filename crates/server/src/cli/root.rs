//! `tidegate`: the subcommands, and what becomes of their results.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use super::{Failure, bench, completions, config, serve, throttle};

const EXAMPLES: &str = "\
Examples:
  tidegate serve                                        start with the defaults
  tidegate throttle user:42 --burst 10 --count 60 --period 60
                                                        ask it: 10 at once, 60 per 60 seconds
  redis-cli -p 6380 THROTTLE user:42 10 60 60           the same, from any Redis client
  tidegate config print > tidegate.toml                 write down every option
";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Flow control for systems with many tenants: ask "may this run now?" over the protocol you already speak.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, styles = STYLES, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Root {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Throttle(throttle::Args),
    Bench(bench::Args),
    Config(config::Args),
    Completions(completions::Args),
}

impl Root {
    fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Serve(args) => serve::run(args)?,
            Command::Throttle(args) => return throttle::run(args),
            Command::Bench(args) => return bench::run(args),
            Command::Config(args) => config::run(args)?,
            Command::Completions(args) => completions::run(args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    match Root::parse().run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn no_two_flags_collide() {
        Root::command().debug_assert();
    }
}
