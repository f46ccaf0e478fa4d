//! Opens the doors and serves until told to stop.
//!
//! | module | does |
//! |---|---|
//! | [`doors`] | binds, accepts, counts and turns away |
//! | [`loops`] | a few threads, each with its own connections |
//! | [`persist`] | writes changed keys to disk, and brings them back |
//! | [`banner`] | what is printed at start |
//! | [`descriptors`] | as many open files as the system lets us have |

mod banner;
mod descriptors;
mod doors;
mod loops;
mod persist;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::api::Api;
use crate::config::{Address, Config};

use doors::Doors;
use loops::Loops;

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
            Error::System { .. } => "check the limits of the system: threads, memory, open files".to_owned(),
        }
    }

    fn system(action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::System { action, reason }
    }
}

/// Serves until told to stop.
pub fn run(config: Config) -> Result<(), Error> {
    let config = Arc::new(config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("start the runtime"))?;
    let doors = runtime.block_on(Doors::bind(&config))?;
    let (api, persister) = persist::restore(&config)?;
    descriptors::raise(&config);

    let (stop, stopped) = watch::channel(false);
    let loops = Loops::start(&config, &api, &stopped)?;
    banner::print(&config, &doors);
    let served = runtime.block_on(async {
        let accepting = doors.accept(&api, &loops);
        tokio::select! {
            never = accepting => match never {},
            signal = told_to_stop() => signal,
        }
    });
    // The listeners are closed by now: nobody new gets in.
    drain(&api, &stop, loops, &config);
    drop(runtime);
    persister.stop();
    tracing::info!("stopped");
    served
}

/// Lets open connections finish what has arrived, for a while.
fn drain(api: &Api, stop: &watch::Sender<bool>, loops: Loops, config: &Config) {
    tracing::info!(within_ms = config.drain_timeout_ms, "stopping: open connections finish first");
    api.drain();
    stop.send_replace(true);
    loops.join(Duration::from_millis(config.drain_timeout_ms));
}

async fn told_to_stop() -> Result<(), Error> {
    let listen = |kind| signal(kind).map_err(Error::system("listen for signals"));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => (),
        _ = terminate.recv() => (),
    }
    Ok(())
}
