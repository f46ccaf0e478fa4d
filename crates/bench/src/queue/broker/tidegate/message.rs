//! A message as RECEIVE and CONSUME hand it out: names and values in turn.

use anyhow::{Context, Result};

use super::super::body::stamp_of;
use super::super::resp::Cursor;

/// What matters of it here.
pub struct Message {
    /// What acknowledges it.
    pub receipt: Vec<u8>,
    /// Of its payload.
    pub stamp: u64,
}

/// Reads one.
pub fn read(cursor: &mut Cursor<'_>) -> Result<Message> {
    let (mut receipt, mut stamp) = (None, None);
    for _ in 0..cursor.many()? / 2 {
        match cursor.text()? {
            b"receipt" => receipt = Some(cursor.text()?.to_vec()),
            b"payload" => stamp = Some(stamp_of(cursor.text()?)?),
            _ => cursor.skip()?,
        }
    }
    let receipt = receipt.context("a message without a receipt")?;
    Ok(Message { receipt, stamp: stamp.context("a message without a payload")? })
}
