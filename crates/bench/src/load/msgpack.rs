//! MessagePack over TCP: a 4-byte length, then one value. Requests are arrays, the compact shape.

use anyhow::{Result, bail};
use rmp::encode::{ValueWriteError, write_array_len, write_str, write_uint};

use super::template::Template;
use super::wire::{Quota, Wire};

/// The number of the throttle command.
const THROTTLE: u64 = 1;

/// `[cmd, key, burst, rate, period]`.
pub fn throttle(key_len: usize, quota: Quota) -> Wire {
    let request = Template::new(key_len, |key| {
        let value = encode(key, quota).expect("memory takes every byte");
        let len = u32::try_from(value.len()).expect("requests are short");
        [&len.to_be_bytes(), value.as_slice()].concat()
    });
    Wire { request, reply_len }
}

/// Every number in its shortest form, as the libraries write it.
fn encode(key: &str, quota: Quota) -> Result<Vec<u8>, ValueWriteError> {
    let mut value = Vec::new();
    write_array_len(&mut value, 5)?;
    write_uint(&mut value, THROTTLE)?;
    write_str(&mut value, key)?;
    for number in [quota.burst, quota.count, quota.period_s] {
        write_uint(&mut value, number.into())?;
    }
    Ok(value)
}

/// A frame; inside it an array that begins with `ok`.
fn reply_len(bytes: &[u8]) -> Result<Option<usize>> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let value_len = usize::try_from(u32::from_be_bytes(*head))?;
    let Some(value) = rest.get(..value_len) else { return Ok(None) };
    match value {
        // true, or 1
        [0x96 | 0x97, 0xc3 | 0x01, ..] => Ok(Some(4 + value_len)),
        _ => bail!("not the reply of a decision: {}", String::from_utf8_lossy(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::BUSY;
    use super::*;

    #[test]
    fn a_reply_ends_with_its_frame() {
        let reply = [0, 0, 0, 7, 0x96, 0xc3, 1, 100, 99, 0, 1, 0];
        assert_eq!(reply_len(&reply).unwrap(), Some(11));
        assert_eq!(reply_len(&reply[..10]).unwrap(), None);
        assert_eq!(reply_len(&reply[..2]).unwrap(), None);
    }

    #[test]
    fn a_refusal_is_an_error() {
        assert!(reply_len(&[0, 0, 0, 2, 0x97, 0xc2]).is_err());
    }

    #[test]
    fn a_request_says_its_length() {
        let mut out = Vec::new();
        throttle(16, BUSY).request.append(42, &mut out);
        assert_eq!(out.len(), 4 + usize::from(out[3]));
        assert_eq!(out[4..7], [0x95, 1, 0xb0]);
        assert_eq!(&out[7..23], b"key:000000000042");
    }
}
