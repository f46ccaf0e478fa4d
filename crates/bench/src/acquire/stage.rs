//! The servers of a run with their entities, started when they are first wanted. One that cannot be had is kept as the
//! reason, which each of its rows then shows.

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use super::Dialect;
use super::load::touch;
use super::script::Scripts;
use super::systems::System;
use super::tidegate::{self, Commands, Told};
use crate::peers::{Process, Redis, Tidegate};
use crate::workspace::Workspace;

/// Servers that stay up from one round to the next, idle while another is measured.
pub struct Stage {
    workspace: Workspace,
    chosen_binary: Option<PathBuf>,
    entities: u64,
    binary: OnceCell<Present<PathBuf>>,
    tidegate: OnceCell<Present<Tidegate>>,
    scripts: OnceCell<Present<(Redis, Scripts)>>,
    logged_scripts: OnceCell<Present<(Redis, Scripts)>>,
}

type Present<T> = Result<T, String>;

/// A server whose entities are all active.
pub struct Staged<'a> {
    /// Its process.
    pub process: &'a Process,
    /// Where it speaks the Redis protocol.
    pub address: SocketAddr,
    /// How it is asked.
    pub dialect: Box<dyn Dialect>,
}

impl Stage {
    /// Nothing is started yet. `binary` is a Tidegate to take instead of this checkout's.
    pub fn new(workspace: Workspace, binary: Option<PathBuf>, entities: u64) -> Stage {
        Stage {
            workspace,
            chosen_binary: binary,
            entities,
            binary: OnceCell::new(),
            tidegate: OnceCell::new(),
            scripts: OnceCell::new(),
            logged_scripts: OnceCell::new(),
        }
    }

    /// That server with its entities, started and filled at the first call.
    pub fn staged(&self, system: System) -> Result<Staged<'_>> {
        let redis = match system {
            System::Tidegate => return Ok(told(self.tidegate()?, Told::Statuses)),
            System::TidegateQuiet => return Ok(told(self.tidegate()?, Told::Quiet)),
            System::Scripts => &self.scripts,
            System::LoggedScripts => &self.logged_scripts,
        };
        let (redis, scripts) = on_stage(redis.get_or_init(|| present(self.start_redis(system))))?;
        Ok(Staged { process: &redis.process, address: redis.address, dialect: Box::new(scripts.clone()) })
    }

    /// The Tidegate with all of its entities.
    pub fn tidegate(&self) -> Result<&Tidegate> {
        on_stage(self.tidegate.get_or_init(|| present(self.start_tidegate())))
    }

    /// Another Tidegate, empty.
    pub fn fresh_tidegate(&self) -> Result<Tidegate> {
        let build = || self.chosen_binary.clone().map_or_else(|| self.workspace.build_server(), Ok);
        Tidegate::start(on_stage(self.binary.get_or_init(|| present(build())))?, &[])
    }

    fn start_tidegate(&self) -> Result<Tidegate> {
        let server = self.fresh_tidegate()?;
        eprintln!("       tidegate: {} entities", self.entities);
        let address = server.doors.resp;
        tidegate::prepare(address, self.entities)?;
        tidegate::put(address, 0..self.entities)?;
        touch(address, &Commands::new(Told::Quiet), 0..self.entities)?;
        Ok(server)
    }

    fn start_redis(&self, system: System) -> Result<(Redis, Scripts)> {
        let redis = system.log().map_or_else(Redis::start, Redis::start_durable)?;
        eprintln!("       {}: {} entities", system.name(), self.entities);
        let scripts = Scripts::load(&redis)?;
        touch(redis.address, &scripts, 0..self.entities)?;
        Ok((redis, scripts))
    }
}

fn told(server: &Tidegate, told: Told) -> Staged<'_> {
    Staged { process: &server.process, address: server.doors.resp, dialect: Box::new(Commands::new(told)) }
}

fn present<T>(peer: Result<T>) -> Present<T> {
    peer.map_err(|error| format!("{error:#}"))
}

fn on_stage<T>(peer: &Present<T>) -> Result<&T> {
    peer.as_ref().map_err(|reason| anyhow!("missing: {reason}"))
}
