//! How a system is asked, over the Redis protocol.

use anyhow::Result;

use crate::queue::broker::resp::Cursor;

/// The commands of one system for entities by their numbers. All must pass: a denial is an error.
pub trait Dialect {
    /// Appends a command that makes the buckets of an entity active.
    fn touch(&self, entity: u64, out: &mut Vec<u8>);

    /// Appends a command that takes the estimate.
    fn acquire(&self, entity: u64, out: &mut Vec<u8>);

    /// Reads the reply to either, and the name of the lease, if the system has leases.
    fn granted<'a>(&self, reply: &mut Cursor<'a>) -> Result<&'a [u8]>;

    /// Appends a command that settles at the real cost.
    fn settle(&self, entity: u64, lease: &[u8], out: &mut Vec<u8>);

    /// Reads the reply to that.
    fn settled(&self, reply: &mut Cursor<'_>) -> Result<()> {
        reply.skip()
    }
}
