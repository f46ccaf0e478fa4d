//! One message for each line of stdin, in batches.

use std::io::{self, BufRead};
use std::process::ExitCode;

use serde_json::json;
use tidegate_client::{Error, MessageId, NewMessage};

use super::Args;
use crate::cli::queue_door::document;
use crate::cli::{Failure, input, stdout, table};

/// A batch ends here: enough to keep the server busy, and little enough to be held.
const BATCH_LINES: usize = 1_000;
const BATCH_BYTES: usize = 1024 * 1024;

/// Enqueues every line, printing ids as they come. Lines that are refused are told on stderr, the first of them in
/// full, and do not keep the others out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut refusal = None;
    let (mut enqueued, mut refused) = (0, 0);
    args.door.run(async |client| {
        let queue = client.queue(&args.queue);
        let mut stdin = io::stdin().lock();
        loop {
            let lines = batch(&mut stdin)
                .map_err(|error| Failure::Input(input::Error::Unreadable { path: "-".into(), error }))?;
            if lines.is_empty() {
                return Ok(());
            }
            let messages: Vec<NewMessage<'_>> = lines.iter().map(|line| args.message(line)).collect();
            let results = queue.enqueue_batch(&messages).await;
            stdout::write(&results.iter().map(|result| shown(args, result)).collect::<String>())?;
            for result in results {
                match result {
                    Ok(_) => enqueued += 1,
                    Err(error @ Error::Refused { .. }) => {
                        refused += 1;
                        refusal.get_or_insert(error);
                    }
                    // The others would fare no better.
                    Err(error) => return Err(args.door.failed(error)),
                }
            }
        }
    })?;
    eprintln!("enqueued {} messages into {}", table::count(enqueued), args.queue);
    match refusal {
        None => Ok(ExitCode::SUCCESS),
        Some(refusal) => {
            eprintln!("warning: {} were refused, the first like this: {refusal}", table::count(refused));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// An id on a line of its own. For programs, a refusal too, so that lines stay together.
fn shown(args: &Args, result: &Result<MessageId, Error>) -> String {
    match result {
        Ok(id) if args.door.json => document(&json!({ "id": id })),
        Ok(id) => format!("{id}\n"),
        Err(Error::Refused { code, message }) if args.door.json => {
            document(&json!({ "error": { "code": code, "message": message } }))
        }
        Err(_) => String::new(),
    }
}

/// The next lines, without their ends. None at the end of the input.
fn batch(input: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while lines.len() < BATCH_LINES && bytes < BATCH_BYTES {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        bytes += line.len();
        if line.ends_with(b"\n") {
            line.pop();
        }
        if line.ends_with(b"\r") {
            line.pop();
        }
        lines.push(line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_batches_without_their_ends() {
        let mut input = &b"a\r\n\nb\nlast"[..];
        assert_eq!(batch(&mut input).unwrap(), [&b"a"[..], b"", b"b", b"last"]);
        assert!(batch(&mut input).unwrap().is_empty());
        let many = "x\n".repeat(BATCH_LINES + 1);
        let mut input = many.as_bytes();
        assert_eq!(batch(&mut input).unwrap().len(), BATCH_LINES);
        assert_eq!(batch(&mut input).unwrap().len(), 1);
    }
}
