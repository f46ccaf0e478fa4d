//! How subcommands reach the Queue door and the ledger of a running server.

use std::time::Duration;

use serde::Serialize;
use tidegate_client::{Client, Options};

use super::ask_door::{self, AskDoor};
use super::{Failure, stdout};

/// Far above what a healthy server needs: moving a million dead letters takes a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the server is, which namespace is meant, and for whom the answer is.
#[derive(Debug, clap::Args)]
pub struct QueueDoor {
    /// Print JSON, with the names and numbers of the HTTP door.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The namespace of queues, entities, limits and settings [default: default].
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    namespace: Option<String>,
    /// Who does this, as the audit tells it [default: the name of the user].
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    actor: Option<String>,
    #[command(flatten, next_help_heading = "Server")]
    door: AskDoor,
}

impl QueueDoor {
    /// Connects and runs `work`, on an event loop of its own, on this thread.
    pub fn run<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, Failure>) -> Result<T, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Ask(ask_door::Error::Runtime(error)))?;
        runtime.block_on(async {
            let options = self.door.options(self.namespace.as_deref()).request_timeout(ANSWER_TIMEOUT);
            let options = self.actor().into_iter().fold(options, Options::name);
            let client = options.connect(&self.door.server).await.map_err(|error| self.failed(error))?;
            work(&client).await
        })
    }

    /// Connects and makes one call.
    pub fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Client) -> Result<T, tidegate_client::Error>,
    ) -> Result<T, Failure> {
        self.run(async |client| call(client).await.map_err(|error| self.failed(error)))
    }

    /// Who does this. A user whose name the server could not take does it without one.
    fn actor(&self) -> Option<String> {
        let user =
            || std::env::var("USER").ok().filter(|user| user.bytes().all(|byte| byte.is_ascii_graphic()));
        self.actor.clone().or_else(user).filter(|actor| !actor.is_empty())
    }

    /// Prints an answer: as a document for programs, or in words for people.
    pub fn print(&self, answer: &impl Serialize, words: impl FnOnce() -> String) -> Result<(), Failure> {
        stdout::write(&if self.json { document(answer) } else { words() })
    }

    /// The failure of a call to this server.
    pub fn failed(&self, error: tidegate_client::Error) -> Failure {
        Failure::Ask(ask_door::Error::Client { server: self.door.server.clone(), error })
    }
}

/// A document on a line of its own.
pub fn document(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("a document becomes JSON");
    json + "\n"
}
