//! `tidegate hooks test`: one call of a script, offline.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ValueEnum, ValueHint};
use tidegate_hooks::{Bounds, EnqueueInput, FailureInput, Hook, Hooks, Sandbox, Usage};

use super::message::Message;
use super::report::{Report, Verdict};
use crate::cli::{Failure, stdout};

const NOTES: &str = "\
Exit code:
  0  the script gave its verdict
  1  the script failed
  2  it was not run: a mistake in the command line, or no such file

Examples:
  tidegate hooks test script.lua --message '{\"headers\":{\"tenant\":\"a\"},\"payload\":\"hello\",\"queue\":\"mail\"}'
  tidegate hooks test script.lua --message '{\"headers\":{\"tenant\":\"a\"}}' --set weight.a=5 --json
  tidegate hooks test script.lua --hook on_failure --error 'connection reset' --attempts 3
";

/// Run a script on one message, with the bounds that a server has, and print its verdict.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// The script, in Lua 5.4.
    #[arg(value_hint = ValueHint::FilePath)]
    script: PathBuf,
    /// The message as JSON: `queue`, `headers`, `payload`, `id`, each optional.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    message: Message,
    /// The function to call.
    #[arg(long, value_enum, default_value_t = Function::OnEnqueue)]
    hook: Function,
    /// What the consumer said, for `on_failure`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    error: String,
    /// Failed attempts, this one included, for `on_failure`.
    #[arg(long, value_name = "N", default_value_t = 1)]
    attempts: u32,
    /// A setting that `get(key)` finds; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Function {
    OnEnqueue,
    OnFailure,
}

/// Why a script was not run.
#[derive(Debug)]
pub struct Error {
    script: PathBuf,
    error: io::Error,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { script, error } = self;
        write!(f, "error: cannot read {}: {error}\nhint: name a file with Lua source", script.display())
    }
}

/// Runs the script; a script that fails is an answer, too.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let source = fs::read_to_string(&args.script)
        .map_err(|error| Failure::Hooks(Error { script: args.script.clone(), error }))?;
    let report = try_once(&args, &source);
    let name = args.script.display().to_string();
    match (&report.verdict, args.json) {
        (_, true) => stdout::write(&report.json())?,
        (Ok(_), false) => stdout::write(&report.text())?,
        (Err(failure), false) => eprint!("{}", report.complaint(&name, failure)),
    }
    Ok(if report.verdict.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the script twice: as a server does, for the verdict and the time, and once more to count every instruction.
fn try_once(args: &Args, source: &str) -> Report {
    let (verdict, timed) = attempt(args, source, Bounds::default());
    let exact = Bounds { step: 1, wall_ns: u64::MAX, ..Bounds::default() };
    let (counted_verdict, counted) = attempt(args, source, exact);
    let verdict = verdict.map_err(|mut failure| {
        failure.line = failure.line.or(counted_verdict.err().and_then(|failure| failure.line));
        failure
    });
    let hook = args.hook.hook();
    Report { hook, verdict, usage: Usage { wall_ns: timed.wall_ns, ..counted } }
}

fn attempt(args: &Args, source: &str, bounds: Bounds) -> (Result<Verdict, tidegate_hooks::Failure>, Usage) {
    let hooks = match args.hook {
        Function::OnEnqueue => Hooks::new(Some(source), None),
        Function::OnFailure => Hooks::new(None, Some(source)),
    };
    let settings: HashMap<String, String> = args.settings.iter().cloned().collect();
    let mut sandbox = match Sandbox::new(&hooks, bounds, Arc::new(settings)) {
        Ok(sandbox) => sandbox,
        Err(failure) => return (Err(failure), Usage::default()),
    };
    let (message, headers) = (&args.message, args.message.headers());
    let queue = &message.queue;
    let verdict = match args.hook {
        Function::OnEnqueue => {
            let payload_size = message.payload.len() as u64;
            let input = EnqueueInput { queue, headers: &headers, payload_size };
            sandbox.on_enqueue(&input).map(Verdict::Enqueue)
        }
        Function::OnFailure => {
            let Args { attempts, error, .. } = args;
            let input =
                FailureInput { queue, id: &message.id, headers: &headers, attempts: *attempts, error };
            sandbox.on_failure(&input).map(Verdict::Failure)
        }
    };
    (verdict, sandbox.usage())
}

impl Function {
    fn hook(self) -> Hook {
        match self {
            Function::OnEnqueue => Hook::OnEnqueue,
            Function::OnFailure => Hook::OnFailure,
        }
    }
}

fn setting(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as key=value"),
    }
}
