//! `tidegate`: the subcommands, and what becomes of their results.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use super::{
    Failure, ack, acquire, audit, available, bench, bucket, completions, config, consume, dynamodb, enqueue,
    entity, hooks, lease, limit, limits, namespace, queue, redrive, serve, setting, stats, throttle, usage,
    why,
};

const EXAMPLES: &str = "\
Examples:
  tidegate serve                                        start with the defaults
  tidegate throttle user:42 --burst 10 --count 60 --period 60
                                                        ask it: 10 at once, 60 per 60 seconds
  redis-cli -p 6380 THROTTLE user:42 10 60 60           the same, from any Redis client
  tidegate limits set --resource gpt-4 rpm=60/minute tpm=10000/minute
                                                        what everybody may use of gpt-4
  tidegate acquire acme gpt-4 rpm=1 tpm=500             take some of it; settle the real cost later
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
    Acquire(acquire::Args),
    Lease(lease::Args),
    Entity(entity::Args),
    Limits(limits::Args),
    Available(available::AvailableArgs),
    Capacity(available::CapacityArgs),
    Bucket(bucket::Args),
    Usage(usage::Args),
    Audit(audit::Args),
    Namespace(namespace::Args),
    Why(why::Args),
    Queue(queue::Args),
    Enqueue(enqueue::Args),
    Consume(consume::Args),
    Ack(ack::AckArgs),
    Nack(ack::NackArgs),
    Extend(ack::ExtendArgs),
    Release(ack::ReleaseArgs),
    Redrive(redrive::Args),
    Stats(stats::Args),
    Limit(limit::Args),
    Setting(setting::Args),
    Bench(bench::Args),
    Hooks(hooks::Args),
    Dynamodb(dynamodb::Args),
    Config(config::Args),
    Completions(completions::Args),
}

impl Root {
    fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Serve(args) => serve::run(args)?,
            Command::Throttle(args) => return throttle::run(args),
            Command::Acquire(args) => return acquire::run(args),
            Command::Lease(args) => lease::run(args)?,
            Command::Entity(args) => entity::run(args)?,
            Command::Limits(args) => return limits::run(args),
            Command::Available(args) => return available::available(args),
            Command::Capacity(args) => available::capacity(args)?,
            Command::Bucket(args) => bucket::run(args)?,
            Command::Usage(args) => usage::run(args)?,
            Command::Audit(args) => audit::run(args)?,
            Command::Namespace(args) => namespace::run(args)?,
            Command::Why(args) => why::run(args)?,
            Command::Queue(args) => queue::run(args)?,
            Command::Enqueue(args) => return enqueue::run(args),
            Command::Consume(args) => return consume::run(args),
            Command::Ack(args) => return ack::ack(args),
            Command::Nack(args) => return ack::nack(args),
            Command::Extend(args) => return ack::extend(args),
            Command::Release(args) => return ack::release(args),
            Command::Redrive(args) => redrive::run(args)?,
            Command::Stats(args) => stats::run(args)?,
            Command::Limit(args) => return limit::run(args),
            Command::Setting(args) => setting::run(args)?,
            Command::Bench(args) => return bench::run(args),
            Command::Hooks(args) => return hooks::run(args),
            Command::Dynamodb(args) => dynamodb::run(args)?,
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

    /// What is declared after the arguments of a door comes under their heading.
    #[test]
    fn only_the_ways_to_a_server_are_listed_under_server() {
        fn check(command: &clap::Command) {
            let name = command.get_name();
            for arg in command.get_arguments().filter(|arg| arg.get_help_heading() == Some("Server")) {
                let arg = arg.get_id().as_str();
                assert!(["namespace", "actor", "server", "token"].contains(&arg), "{name}: {arg}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Root::command());
    }
}
