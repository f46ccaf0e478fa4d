//! `tidegate`: the subcommands, and what becomes of their results.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use super::{
    Failure, ack, bench, completions, config, consume, enqueue, hooks, limit, queue, redrive, serve, setting,
    stats, throttle,
};

const EXAMPLES: &str = "\
Examples:
  tidegate serve                                        start with the defaults
  tidegate throttle user:42 --burst 10 --count 60 --period 60
                                                        ask it: 10 at once, 60 per 60 seconds
  redis-cli -p 6380 THROTTLE user:42 10 60 60           the same, from any Redis client
  tidegate queue create orders                          make a queue
  tidegate enqueue orders 'one more' --key tenant-7     put a message into it
  tidegate consume orders --exec './handle-order'       work on what is in it
  tidegate config print > tidegate.toml                 write down every option
";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Flow control for systems with many tenants: ask "may this run now?", or queue what is to run when it may.
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
    Queue(queue::Args),
    Enqueue(enqueue::Args),
    Consume(consume::Args),
    Ack(ack::AckArgs),
    Nack(ack::NackArgs),
    Redrive(redrive::Args),
    Stats(stats::Args),
    Limit(limit::Args),
    Setting(setting::Args),
    Bench(bench::Args),
    Hooks(hooks::Args),
    Config(config::Args),
    Completions(completions::Args),
}

impl Root {
    fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Serve(args) => serve::run(args)?,
            Command::Throttle(args) => return throttle::run(args),
            Command::Queue(args) => queue::run(args)?,
            Command::Enqueue(args) => return enqueue::run(args),
            Command::Consume(args) => return consume::run(args),
            Command::Ack(args) => return ack::ack(args),
            Command::Nack(args) => return ack::nack(args),
            Command::Redrive(args) => redrive::run(args)?,
            Command::Stats(args) => stats::run(args)?,
            Command::Limit(args) => return limit::run(args),
            Command::Setting(args) => setting::run(args)?,
            Command::Bench(args) => return bench::run(args),
            Command::Hooks(args) => return hooks::run(args),
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
