//! What goes into a hook and what comes out of it.

/// The longest fairness or throttle key that a script may give.
pub const MAX_KEY_BYTES: usize = 1024;
/// The most throttle keys that a script may give one message.
pub const MAX_THROTTLE_KEYS: usize = 32;

/// What `on_enqueue` is told.
#[derive(Clone, Copy, Debug)]
pub struct EnqueueInput<'a> {
    /// The name of the queue.
    pub queue: &'a str,
    /// Name and value; of two with one name the later one is seen.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// Length of the payload, which scripts do not see.
    pub payload_size: u64,
}

/// What `on_enqueue` decided. What it left out, or gave in a wrong shape, is `None`: the next in line decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnqueueVerdict {
    /// At most [`MAX_KEY_BYTES`].
    pub fairness_key: Option<Vec<u8>>,
    /// Of the message's flow.
    pub weight: Option<u32>,
    /// Of the message in its queue.
    pub cost: Option<u32>,
    /// At most [`MAX_THROTTLE_KEYS`]; an empty list says that there are none.
    pub throttle_keys: Option<Vec<Vec<u8>>>,
}

/// What `on_failure` is told.
#[derive(Clone, Copy, Debug)]
pub struct FailureInput<'a> {
    /// The name of the queue.
    pub queue: &'a str,
    /// The message's id, in its text form.
    pub id: &'a str,
    /// Name and value; of two with one name the later one is seen.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// Failed attempts, this one included.
    pub attempts: u32,
    /// What the consumer said, or the reason of the server.
    pub error: &'a str,
}

/// What `on_failure` decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureVerdict {
    /// Deliver it again.
    Retry {
        /// After so long; `None` leaves it to the queue's backoff.
        delay_ms: Option<u64>,
    },
    /// Move it to the dead-letter queue.
    DeadLetter,
    /// It did not say: the queue's own policy decides.
    #[default]
    Default,
}
