//! What a node has done with the table, for metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_sdk_dynamodb::types::ConsumedCapacity;

use crate::fault::Fault;

/// What the table is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Tokens or slots are drawn or go back.
    Draw,
    /// A bucket is made.
    Create,
    /// A bucket, or its owner's record, is read.
    Read,
    /// Settings are loaded.
    Load,
    /// An operator resets or tops up a bucket.
    Fill,
    /// Usage is told.
    Usage,
    /// Changes are told.
    Audit,
    /// A node shows that it lives, or looks who else does.
    Heartbeat,
    /// An account is closed, or looked for whether one is.
    Close,
    /// Whether the table answers.
    Probe,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 10] = [
        Operation::Draw,
        Operation::Create,
        Operation::Read,
        Operation::Load,
        Operation::Fill,
        Operation::Usage,
        Operation::Audit,
        Operation::Heartbeat,
        Operation::Close,
        Operation::Probe,
    ];

    /// As metrics call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Draw => "draw",
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Load => "load",
            Operation::Fill => "fill",
            Operation::Usage => "usage",
            Operation::Audit => "audit",
            Operation::Heartbeat => "heartbeat",
            Operation::Close => "close",
            Operation::Probe => "probe",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// Not done: something else was there than what it rested on.
    Conflict,
    /// Not done: there is too much going on.
    Throttled,
    /// No answer.
    Unavailable,
    /// Not allowed.
    Denied,
    /// Anything else.
    Failed,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 6] = [
        Outcome::Done,
        Outcome::Conflict,
        Outcome::Throttled,
        Outcome::Unavailable,
        Outcome::Denied,
        Outcome::Failed,
    ];

    /// As metrics call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Conflict => "conflict",
            Outcome::Throttled => "throttled",
            Outcome::Unavailable => "unavailable",
            Outcome::Denied => "denied",
            Outcome::Failed => "failed",
        }
    }

    /// How a fault is counted.
    pub fn of(fault: &Fault) -> Outcome {
        match fault {
            Fault::Unavailable { .. } => Outcome::Unavailable,
            Fault::Throttled(_) => Outcome::Throttled,
            Fault::Denied(_) => Outcome::Denied,
            Fault::Conflict(_) => Outcome::Conflict,
            _ => Outcome::Failed,
        }
    }
}

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    calls: [[AtomicU64; Outcome::ALL.len()]; Operation::ALL.len()],
    /// Thousandths of units, as replies tell.
    write_units: AtomicU64,
    read_units: AtomicU64,
    /// Draws that brought what was needed.
    pub draws: AtomicU64,
    /// Draws that found too little.
    pub denials: AtomicU64,
    /// Tries of a draw beyond its first.
    pub retries: AtomicU64,
    /// Draws of which nobody knows whether they happened.
    pub lost: AtomicU64,
    /// Tokens and slots that were drawn.
    pub drawn: AtomicU64,
    /// Tokens and slots that have gone back.
    pub returned: AtomicU64,
    /// Slots that dead nodes had held.
    pub reclaimed: AtomicU64,
    /// How often the table's clock was found too far from this node's.
    pub skew_alarms: AtomicU64,
    /// Nanoseconds in which the table did not answer.
    pub down_ns: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Relaxed);
}

impl Counters {
    /// Counts a call.
    pub(crate) fn call(&self, operation: Operation, outcome: Outcome) {
        add(&self.calls[operation as usize][outcome as usize], 1);
    }

    /// Counts a call by what came of it.
    pub(crate) fn called<T>(&self, operation: Operation, result: &Result<T, Fault>) {
        self.call(operation, result.as_ref().err().map_or(Outcome::Done, Outcome::of));
    }

    /// Counts what a reply says that a write took.
    pub(crate) fn wrote(&self, told: Option<&ConsumedCapacity>) {
        self.wrote_milli(milli(told));
    }

    /// Counts what a write took, in thousandths of units.
    pub(crate) fn wrote_milli(&self, units: u64) {
        add(&self.write_units, units);
    }

    /// Counts what a reply says that a read took.
    pub(crate) fn read(&self, told: Option<&ConsumedCapacity>) {
        add(&self.read_units, milli(told));
    }

    /// How many calls there were.
    pub fn calls(&self, operation: Operation, outcome: Outcome) -> u64 {
        self.calls[operation as usize][outcome as usize].load(Relaxed)
    }

    /// Units that writes took, where replies told: the table's and its indexes'.
    pub fn write_units(&self) -> f64 {
        self.write_units.load(Relaxed) as f64 / 1000.0
    }

    /// Units that reads took, where replies told.
    pub fn read_units(&self) -> f64 {
        self.read_units.load(Relaxed) as f64 / 1000.0
    }
}

fn milli(told: Option<&ConsumedCapacity>) -> u64 {
    let units = told.and_then(ConsumedCapacity::capacity_units).unwrap_or(0.0);
    (units.max(0.0) * 1000.0) as u64
}
