//! How a client connects and what it waits for.

use std::fmt;
use std::time::Duration;

use crate::{Client, Error};

/// The longest time-out: a day. Any longer says "wait for ever", and would overflow clocks.
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
/// The most calls on the wire at once.
const IN_FLIGHT_MAX: usize = 65_536;

/// The options of a [`Client`], each with a default that suits a server nearby.
///
/// ```no_run
/// use std::time::Duration;
/// use tidegate_client::Client;
///
/// # async fn run() -> Result<(), tidegate_client::Error> {
/// let client = Client::options()
///     .namespace("staging")
///     .request_timeout(Duration::from_millis(50))
///     .connect("127.0.0.1:6380")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) namespace: Option<String>,
    pub(crate) auth_token: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) max_in_flight: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect_timeout: Duration::from_secs(2),
            request_timeout: Duration::from_secs(1),
            namespace: None,
            auth_token: None,
            name: None,
            max_in_flight: 1024,
        }
    }
}

impl Options {
    /// How long opening a connection may take, greeting included. 2 s unless said, a day at most.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Options {
        Options { connect_timeout: connect_timeout.min(TIMEOUT_MAX), ..self }
    }

    /// How long a call may take, from the moment it is awaited. 1 s unless said, a day at most.
    ///
    /// A connection on which nothing is heard for twice this time while calls wait is given up.
    pub fn request_timeout(self, request_timeout: Duration) -> Options {
        Options { request_timeout: request_timeout.min(TIMEOUT_MAX), ..self }
    }

    /// The namespace of every key. `default` unless said.
    pub fn namespace(self, namespace: impl Into<String>) -> Options {
        Options { namespace: Some(namespace.into()), ..self }
    }

    /// The token to show to a server that asks for one.
    pub fn auth_token(self, auth_token: impl Into<String>) -> Options {
        Options { auth_token: Some(auth_token.into()), ..self }
    }

    /// Who calls: the audit of changes tells it. Letters, digits and signs, without spaces.
    pub fn name(self, name: impl Into<String>) -> Options {
        Options { name: Some(name.into()), ..self }
    }

    /// How many calls may be on the wire at once. As many again may wait for the wire; any more wait for room.
    /// 1024 unless said; from 1 to 65,536.
    pub fn max_in_flight(self, max_in_flight: usize) -> Options {
        Options { max_in_flight: max_in_flight.clamp(1, IN_FLIGHT_MAX), ..self }
    }

    /// How long a connection may leave calls unanswered before it is given up. Twice the time of a call, so that a
    /// caller hears of its own time-out and not of the connection that we then drop.
    pub(crate) fn stall_timeout(&self) -> Duration {
        self.request_timeout * 2
    }

    /// Opens the connection to `address`, a `host:port`. The name is looked up again at every reconnect.
    ///
    /// Must be called within a Tokio runtime; the client lives as long as that runtime.
    pub async fn connect(self, address: impl Into<String>) -> Result<Client, Error> {
        Client::open(address.into(), self).await
    }
}

/// Shows everything but the token.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("namespace", &self.namespace)
            .field("auth_token", &self.auth_token.as_ref().map(|_| "(hidden)"))
            .field("name", &self.name)
            .field("max_in_flight", &self.max_in_flight)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_brought_into_bounds() {
        let options = Options::default().max_in_flight(0).request_timeout(Duration::MAX);
        assert_eq!((options.max_in_flight, options.request_timeout), (1, TIMEOUT_MAX));
        assert_eq!(Options::default().max_in_flight(usize::MAX).max_in_flight, IN_FLIGHT_MAX);
    }

    #[test]
    fn the_token_is_not_shown() {
        let shown = format!("{:?}", Options::default().auth_token("s3cret"));
        assert!(shown.contains("hidden") && !shown.contains("s3cret"), "{shown}");
    }
}
