//! A run of the server, from its configuration to its last flush.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidegate_store::DataDir;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::api::Api;
use crate::config::{Address, Config};

use super::doors::Doors;
use super::loops::Loops;
use super::table::Shared;
use super::{banner, descriptors, persist, queue};

/// Why the server could not start, or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened on.
    #[error("the {door} door cannot listen on {address}: {reason}")]
    Bind {
        /// The section of the door.
        door: &'static str,
        /// Where it should listen.
        address: Address,
        /// What the system said.
        reason: io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Store(#[from] tidegate_store::Error),
    /// The table that servers share cannot be used.
    #[error("{what}")]
    Table {
        /// What it says.
        what: String,
        /// The next step.
        hint: String,
    },
    /// The system refused a thread, a signal handler or the like.
    #[error("cannot {action}: {reason}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        reason: io::Error,
    },
}

impl Error {
    /// The next step for whoever reads it.
    pub fn hint(&self) -> String {
        match self {
            Error::Bind { door, reason, .. } if reason.kind() == io::ErrorKind::AddrInUse => {
                let flag = if *door == "http+grpc" { "http" } else { door };
                format!(
                    "stop what listens there, or choose another address with --{flag} HOST:PORT (port 0 takes a free one)"
                )
            }
            Error::Bind { .. } => "check the address: it must be one of this machine".to_owned(),
            Error::Store(error) => error.hint().to_owned(),
            Error::Table { hint, .. } => hint.clone(),
            Error::System { .. } => "check the limits of the system: threads, memory, open files".to_owned(),
        }
    }

    pub(super) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::System { action, reason }
    }
}

/// Serves until told to stop.
pub fn run(config: Config) -> Result<(), Error> {
    let config = Arc::new(config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("start the runtime"))?;
    let doors = runtime.block_on(Doors::bind(&config))?;
    let dir = config.persistence.enabled.then(|| DataDir::open(&config.data_dir)).transpose()?;
    let queues = dir.as_ref().filter(|_| config.queue.enabled);
    let shared = Shared::connect(&config, &config.data_dir)?;
    let queues = queues.map(|dir| queue::open(&config, dir, shared)).transpose()?;
    let newest = queues.as_ref().map_or(0, queue::Opened::newest);
    let (api, persister) = persist::restore(&config, dir.as_ref(), newest)?;
    let queues = queues.map(|queues| queues.start(&config, &api)).transpose()?;
    descriptors::raise(&config);

    let (stop, stopped) = watch::channel(false);
    let loops = Loops::start(&config, &api, &stopped)?;
    runtime.block_on(async {
        // Before anybody is told that the server is there, it knows how to stop.
        let mut told_to_stop = Signals::listen()?;
        banner::print(&config, &doors);
        tokio::select! {
            never = doors.accept(&api, &loops) => match never {},
            () = told_to_stop.any() => Ok::<(), Error>(()),
        }
    })?;
    // The listeners are closed by now: nobody new gets in.
    drain(&api, &stop, loops, &config);
    drop(runtime);
    if let Some(queues) = queues {
        queues.stop();
    }
    persister.stop();
    tracing::info!("stopped");
    Ok(())
}

/// Lets open connections finish what has arrived, for a while.
fn drain(api: &Api, stop: &watch::Sender<bool>, loops: Loops, config: &Config) {
    tracing::info!(within_ms = config.drain_timeout_ms, "stopping: open connections finish first");
    api.drain();
    stop.send_replace(true);
    loops.join(Duration::from_millis(config.drain_timeout_ms));
}

/// The signals that end a run.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Signals, Error> {
        let listen = |kind| signal(kind).map_err(Error::system("listen for signals"));
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
