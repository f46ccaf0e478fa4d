//! The servers of a run. One that cannot be had is kept as the reason, which each of its rows then shows.

use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::peers::{Redis, Throttlecrab, Tidegate};
use crate::workspace::Workspace;

/// Servers that stay up from one round to the next, idle while another is measured.
pub struct Stage {
    redis: Present<Redis>,
    throttlecrab: Present<Throttlecrab>,
    tidegate: Present<Tidegate>,
    tidegate_binary: Present<PathBuf>,
}

type Present<T> = Result<T, String>;

impl Stage {
    /// Builds, installs and starts them. `binary` is a Tidegate to take instead of this checkout's.
    pub fn set(workspace: &Workspace, binary: Option<PathBuf>) -> Stage {
        let binary = binary.map_or_else(|| workspace.build_server(), Ok);
        let tidegate_binary = present(binary);
        let tidegate = match &tidegate_binary {
            Ok(binary) => present(Tidegate::start(binary, &[])),
            Err(reason) => Err(reason.clone()),
        };
        let throttlecrab = present(Throttlecrab::start(workspace));
        Stage { redis: present(Redis::start()), throttlecrab, tidegate, tidegate_binary }
    }

    /// No servers at all, for workloads that need none.
    pub fn empty() -> Stage {
        fn absent<T>() -> Present<T> {
            Err("not started".to_string())
        }
        Stage { redis: absent(), throttlecrab: absent(), tidegate: absent(), tidegate_binary: absent() }
    }

    /// The running Redis.
    pub fn redis(&self) -> Result<&Redis> {
        on_stage(&self.redis)
    }

    /// The running throttlecrab-server.
    pub fn throttlecrab(&self) -> Result<&Throttlecrab> {
        on_stage(&self.throttlecrab)
    }

    /// The running Tidegate.
    pub fn tidegate(&self) -> Result<&Tidegate> {
        on_stage(&self.tidegate)
    }

    /// Another Tidegate, empty, with further options.
    pub fn fresh_tidegate(&self, options: &[&str]) -> Result<Tidegate> {
        Tidegate::start(on_stage(&self.tidegate_binary)?, options)
    }
}

fn present<T>(peer: Result<T>) -> Present<T> {
    peer.map_err(|error| format!("{error:#}"))
}

fn on_stage<T>(peer: &Present<T>) -> Result<&T> {
    peer.as_ref().map_err(|reason| anyhow!("missing: {reason}"))
}
