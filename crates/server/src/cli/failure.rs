//! Why a subcommand failed, and the exit code for it.

use std::fmt;
use std::io;
use std::process::ExitCode;

use super::{ask_door, hooks, input};
use crate::{config, serve};

/// Why a subcommand failed.
#[derive(Debug)]
pub enum Failure {
    /// The configuration is wrong.
    Config(config::Error),
    /// The server could not start, or ended badly.
    Serve(serve::Error),
    /// A running server gave no answer.
    Ask(ask_door::Error),
    /// A file or stdin could not be read.
    Input(input::Error),
    /// A script could not be tried.
    Hooks(hooks::Error),
    /// Something that cannot be undone was not confirmed.
    Unconfirmed {
        /// What it would do.
        what: String,
        /// How it is confirmed.
        hint: String,
    },
    /// The table that servers share does not do its part.
    Table {
        /// What it says.
        what: String,
        /// The next step.
        hint: String,
    },
    /// Nothing can be written to stdout.
    Output(io::Error),
}

impl Failure {
    /// 2 for a mistake in usage or configuration, as clap has it, and for no answer where 1 would be one; 1 for a
    /// failure while running.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Config(_)
            | Failure::Ask(_)
            | Failure::Input(_)
            | Failure::Hooks(_)
            | Failure::Unconfirmed { .. } => ExitCode::from(2),
            Failure::Serve(_) | Failure::Table { .. } | Failure::Output(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Config(error) => error.fmt(f),
            Failure::Serve(error) => write!(f, "error: {error}\nhint: {}", error.hint()),
            Failure::Ask(error) => error.fmt(f),
            Failure::Input(error) => error.fmt(f),
            Failure::Hooks(error) => error.fmt(f),
            Failure::Unconfirmed { what, hint } | Failure::Table { what, hint } => {
                write!(f, "error: {what}\nhint: {hint}")
            }
            Failure::Output(error) => {
                write!(f, "error: cannot write to stdout: {error}\nhint: check where the output goes to")
            }
        }
    }
}
