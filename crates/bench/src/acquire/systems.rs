//! Who is measured.

use crate::peers::redis::Fsync;

/// A server, and how it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// The scripts in a Redis without persistence: it forgets everything in a crash.
    Scripts,
    /// The scripts in a Redis that forgets a second in a crash, as Tidegate does.
    LoggedScripts,
    /// Tidegate, which tells the status of every limit.
    Tidegate,
    /// Tidegate without the statuses.
    TidegateQuiet,
}

impl System {
    /// All that speak the Redis protocol.
    pub const ALL: [System; 4] =
        [System::Scripts, System::LoggedScripts, System::Tidegate, System::TidegateQuiet];

    /// As the table names it.
    pub fn name(self) -> &'static str {
        match self {
            System::Scripts => "redis-server Lua, no log",
            System::LoggedScripts => "redis-server Lua, log everysec",
            System::Tidegate => "tidegate",
            System::TidegateQuiet => "tidegate QUIET",
        }
    }

    /// When a Redis syncs its log, if it has one.
    pub fn log(self) -> Option<Fsync> {
        (self == System::LoggedScripts).then_some(Fsync::EverySecond)
    }
}
