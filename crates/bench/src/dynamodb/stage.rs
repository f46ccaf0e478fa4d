//! The table of a run and what is measured on it, each made when it is first wanted. What cannot be had is kept as the
//! reason, which each of its rows then shows.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use super::limit::Limit;
use super::load::touch;
use super::many;
use super::nodes::Nodes;
use super::plan::Plan;
use super::python::Python;
use super::table::Table;
use crate::workspace::Workspace;

/// What stays from one run to the next.
pub struct Stage {
    workspace: Workspace,
    chosen_binary: Option<PathBuf>,
    binary: OnceCell<Present<PathBuf>>,
    table: OnceCell<Present<Table>>,
    python: OnceCell<Present<Python>>,
    resources: Cell<u32>,
    made: [OnceCell<Present<String>>; 2],
}

/// Whether the buckets of many entities have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Enough for what is asked.
    Ample,
    /// Less than that.
    Scarce,
}

type Present<T> = Result<T, String>;

impl Stage {
    /// Nothing is started yet. `binary` is a Tidegate to take instead of this checkout's.
    pub fn new(workspace: Workspace, binary: Option<PathBuf>) -> Stage {
        Stage {
            workspace,
            chosen_binary: binary,
            binary: OnceCell::new(),
            table: OnceCell::new(),
            python: OnceCell::new(),
            resources: Cell::new(0),
            made: [OnceCell::new(), OnceCell::new()],
        }
    }

    /// The one table of all runs.
    pub fn table(&self) -> Result<&Table> {
        on_stage(self.table.get_or_init(|| present(self.binary().and_then(Table::create))))
    }

    /// Servers on it.
    pub fn nodes(&self, count: usize) -> Result<Nodes> {
        Nodes::start(self.binary()?, self.table()?, count)
    }

    /// The library, installed.
    pub fn python(&self) -> Result<&Python> {
        on_stage(self.python.get_or_init(|| present(Python::install(&self.workspace))))
    }

    /// A resource that no other run uses: all its buckets are new.
    pub fn new_resource(&self) -> String {
        self.resources.set(self.resources.get() + 1);
        format!("resource-{}", self.resources.get())
    }

    /// A resource with its limit and the buckets of many entities, made once for all runs.
    pub fn made_resource(&self, room: Room, plan: &Plan) -> Result<&str> {
        let (made, limit) = match room {
            Room::Ample => (&self.made[0], many::LIMIT),
            Room::Scarce => (&self.made[1], many::SCARCE),
        };
        on_stage(made.get_or_init(|| present(self.make_resource(limit, plan)))).map(String::as_str)
    }

    fn make_resource(&self, limit: Limit, plan: &Plan) -> Result<String> {
        let (resource, nodes, table) = (self.new_resource(), self.nodes(1)?, self.table()?);
        eprintln!("       {} buckets of {resource}", plan.entities);
        nodes.set_limit(&resource, limit)?;
        let address = *nodes.addresses().first().context("no node")?;
        table.without_latency(|| touch(address, &resource, plan.entities)).context("cannot make buckets")?;
        nodes.stop()?;
        Ok(resource)
    }

    fn binary(&self) -> Result<&Path> {
        let build = || self.chosen_binary.clone().map_or_else(|| self.workspace.build_server(), Ok);
        on_stage(self.binary.get_or_init(|| present(build()))).map(PathBuf::as_path)
    }
}

fn present<T>(made: Result<T>) -> Present<T> {
    made.map_err(|error| format!("{error:#}"))
}

fn on_stage<T>(made: &Present<T>) -> Result<&T> {
    made.as_ref().map_err(|reason| anyhow!("missing: {reason}"))
}
