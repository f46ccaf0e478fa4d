//! How subcommands reach the Ask door of a running server.

use std::fmt;
use std::io;

use tidegate_client::{Client, Options, load};

/// The variable that also sets the server's own `auth_token`, so that one setting serves both.
const TOKEN_VARIABLE: &str = "TIDEGATE_AUTH_TOKEN";

/// Where the server is, and the token to show it.
#[derive(Debug, clap::Args)]
pub struct AskDoor {
    /// The RESP address of the server.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6380")]
    pub server: String,
    /// The token, if the server asks for one [env: TIDEGATE_AUTH_TOKEN].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl AskDoor {
    /// Options to connect with, in `namespace` if one is named.
    pub fn options(&self, namespace: Option<&str>) -> Options {
        let token = self.token.clone().or_else(|| std::env::var(TOKEN_VARIABLE).ok());
        let options = Client::options();
        let options = namespace.into_iter().fold(options, |options, name| options.namespace(name));
        token
            .into_iter()
            .filter(|token| !token.is_empty())
            .fold(options, |options, token| options.auth_token(token))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// The server was not reached, or refused.
    Client {
        /// Where it was looked for.
        server: String,
        /// What became of it.
        error: tidegate_client::Error,
    },
    /// The load that was asked for is out of bounds.
    Plan(load::Invalid),
    /// The operating system gave us no event loop.
    Runtime(io::Error),
}

impl AskDoor {
    /// Runs `work` with this server on an event loop of its own, on this thread.
    pub fn block_on<T>(
        &self,
        work: impl Future<Output = Result<T, tidegate_client::Error>>,
    ) -> Result<T, Error> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        runtime.block_on(work).map_err(|error| Error::Client { server: self.server.clone(), error })
    }
}

/// Two lines, `error:` and `hint:`. A refusal is one: the server's words end with their own hint.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Client { error, .. } if error.hint().is_empty() => write!(f, "error: {error}"),
            Error::Client { server, error } => write!(f, "error: {server}: {error}\nhint: {}", error.hint()),
            Error::Plan(invalid) => write!(f, "error: {invalid}\nhint: see `tidegate bench ask --help`"),
            Error::Runtime(error) => {
                write!(
                    f,
                    "error: cannot start an event loop: {error}\nhint: is the limit of open files reached?"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_there_comes_with_a_hint() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(
            Error::Client { server: "db:6380".to_owned(), error: refused.into() }.to_string(),
            "error: db:6380: cannot reach the server: connection refused\n\
             hint: is the server running? start it with `tidegate serve`"
        );
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_server() {
        let (code, message) = ("table_full".to_owned(), "no room for a new key; wait".to_owned());
        let error = tidegate_client::Error::Refused { code, message };
        let error = Error::Client { server: "db:6380".to_owned(), error };
        assert_eq!(error.to_string(), "error: refused (table_full): no room for a new key; wait");
    }
}
