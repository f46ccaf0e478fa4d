//! One operation on one protocol: the request to send, and how to tell where its reply ends.

use anyhow::Result;

use super::template::Template;

/// What the load generators need to know of a protocol.
pub struct Wire {
    /// The request.
    pub request: Template,
    /// The length of the first reply in these bytes, or nothing yet. A refusal is an error: the load is
    /// made of requests that must pass.
    pub reply_len: fn(&[u8]) -> Result<Option<usize>>,
}

/// The limit that every load brings: generous, so that what is measured is an allowed decision.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Tokens at once.
    pub burst: u32,
    /// Tokens per period.
    pub count: u32,
    /// Seconds.
    pub period_s: u32,
}

/// Requests that come and go: a key is full again within a minute.
pub const BUSY: Quota = Quota { burst: 100, count: 1000, period_s: 60 };
/// Keys that stay: each request is remembered for a day.
pub const LASTING: Quota = Quota { burst: 100, count: 1, period_s: 86_400 };

/// Replies as they arrive, cut into whole ones.
#[derive(Default)]
pub struct Incoming {
    bytes: Vec<u8>,
}

impl Incoming {
    /// Takes what was read and returns how many replies it completes.
    pub fn take(&mut self, read: &[u8], wire: &Wire) -> Result<usize> {
        self.bytes.extend_from_slice(read);
        let (mut replies, mut at) = (0, 0);
        while let Some(len) = (wire.reply_len)(&self.bytes[at..])? {
            at += len;
            replies += 1;
        }
        self.bytes.drain(..at);
        Ok(replies)
    }
}
