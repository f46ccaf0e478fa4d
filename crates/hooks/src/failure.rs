//! Why a script gave no verdict.

use std::fmt;

/// One of the two functions that a queue may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// Runs when a message comes in: fairness key, weight, cost, throttle keys.
    OnEnqueue,
    /// Runs when an attempt failed: retry, or dead letter.
    OnFailure,
}

impl Hook {
    /// The name of the Lua function.
    pub fn name(self) -> &'static str {
        match self {
            Hook::OnEnqueue => "on_enqueue",
            Hook::OnFailure => "on_failure",
        }
    }
}

/// Why a script gave no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is not Lua.
    Syntax,
    /// It does not define the function.
    NoFunction,
    /// It raised an error.
    Raised,
    /// It ran more instructions than it may.
    Instructions,
    /// It took longer than it may.
    Time,
    /// It needed more memory than it may.
    Memory,
    /// It answered with something out of bounds, such as a key that is too long.
    Verdict,
}

impl Reason {
    /// A word for metrics and logs.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Syntax => "syntax",
            Reason::NoFunction => "no_function",
            Reason::Raised => "raised",
            Reason::Instructions => "instructions",
            Reason::Time => "time",
            Reason::Memory => "memory",
            Reason::Verdict => "verdict",
        }
    }
}

/// A script that gave no verdict. The message goes on with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which function.
    pub hook: Hook,
    /// What kind of failure.
    pub reason: Reason,
    /// The line of the script, where it is known.
    pub line: Option<u32>,
    /// What went wrong, without the line.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.hook.name(), self.text),
            None => write!(f, "{}: {}", self.hook.name(), self.text),
        }
    }
}

impl std::error::Error for Failure {}

/// A script that a queue cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(pub Failure);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for CompileError {}
