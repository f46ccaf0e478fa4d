//! Writing data to stdout.

use std::io::{self, Write};

use super::Failure;

/// Writes `text` to stdout. A reader that has seen enough and left (`| head`) is not a failure.
pub fn write(text: &str) -> Result<(), Failure> {
    write_bytes(text.as_bytes())
}

/// The same for any bytes.
pub fn write_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}
