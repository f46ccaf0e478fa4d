//! Reading a book file, whatever is in it.
//!
//! Records come out in the order in which they went in. The first block of a log that fails is either the **torn
//! tail**, what was being written when the process or the machine stopped, or **damage**; `durable` in later blocks
//! tells. Nothing behind a torn tail is used, so that no record is seen without those before it. After damage reading
//! goes on at the next marker that begins a whole block. Memory is bounded by the size of one block, and the search
//! by [`MAX_FALSE_MARKERS`]; nothing in a file makes this panic.

use super::block::{self, HEAD_BYTES, Head, MARKER};
use super::header::{HEADER_BYTES, Header};
use crate::disk::DiskFile;
use crate::generations::{Flaw, Kind};
use std::io;

/// Markers without a whole block behind them, in one search, before it is given up.
const MAX_FALSE_MARKERS: u32 = 1_000;
const SEARCH_BYTES: usize = 64 << 10;

/// What is in a book file, once it has been read to its end.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub records: u64,
    pub bytes: u64,
    /// So many bytes were on disk for certain, as the file itself says.
    pub durable_bytes: u64,
    /// Where the last block that was used ends.
    pub used_bytes: u64,
    pub has_end: bool,
    pub condition: Condition,
}

/// In what state a file was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Condition {
    #[default]
    Whole,
    /// A log, and what is missing had never been confirmed to be on disk.
    Torn {
        at_byte: u64,
    },
    Damaged(Flaw),
}

/// Reads the records of a file of `bytes` bytes whose header is known, and hands them over in order.
pub(crate) fn walk<F: DiskFile>(
    file: &F,
    bytes: u64,
    header: &Header,
    visit: &mut dyn FnMut(&[u8]),
) -> Walked {
    let walked = Walked { bytes, used_bytes: HEADER_BYTES as u64, ..Walked::default() };
    let blocks = Blocks { file, seed: header.seed(), bytes, payload: Vec::new() };
    let mut walk =
        Walk { walked, blocks, kind: header.name.kind, flaw: None, torn_at: None, confirmed: None };
    walk.run(visit);
    walk.conclude()
}

/// The blocks of a file, by the byte at which they begin.
struct Blocks<'a, F> {
    file: &'a F,
    seed: u32,
    bytes: u64,
    payload: Vec<u8>,
}

/// Why there is no block.
enum NoBlock {
    /// These bytes are not one.
    Damaged,
    /// The disk does not give them.
    Unreadable(io::ErrorKind),
}

impl From<io::Error> for NoBlock {
    fn from(reason: io::Error) -> NoBlock {
        NoBlock::Unreadable(reason.kind())
    }
}

impl<F: DiskFile> Blocks<'_, F> {
    /// The block at this byte. Its records are left in `payload`.
    fn read(&mut self, at_byte: u64) -> Result<Head, NoBlock> {
        let left = self.bytes - at_byte;
        if left < HEAD_BYTES as u64 {
            return Err(NoBlock::Damaged);
        }
        let mut head = [0; HEAD_BYTES];
        self.file.read_at(&mut head, at_byte)?;
        let head = Head::decode(head).ok_or(NoBlock::Damaged)?;
        if left - (HEAD_BYTES as u64) < head.records_bytes() as u64 {
            return Err(NoBlock::Damaged);
        }
        self.payload.resize(head.records_bytes(), 0);
        self.file.read_at(&mut self.payload, at_byte + HEAD_BYTES as u64)?;
        head.vouches_for(&self.payload, self.seed).then_some(head).ok_or(NoBlock::Damaged)
    }

    /// The next whole block that begins at `from` or later, and where. None, too, if the disk does not give the bytes.
    fn find(&mut self, mut from: u64) -> Option<(u64, Head)> {
        for _ in 0..MAX_FALSE_MARKERS {
            let at_byte = self.find_marker(from).ok()??;
            match self.read(at_byte) {
                Ok(head) => return Some((at_byte, head)),
                Err(NoBlock::Damaged) => from = at_byte + 1,
                Err(NoBlock::Unreadable(_)) => return None,
            }
        }
        None
    }

    /// The first byte from `from` on at which a block may begin.
    fn find_marker(&self, mut from: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; SEARCH_BYTES];
        while from + MARKER.len() as u64 <= self.bytes {
            let length = (self.bytes - from).min(SEARCH_BYTES as u64) as usize;
            let window = &mut window[..length];
            self.file.read_at(window, from)?;
            if let Some(at) = window.windows(MARKER.len()).position(|bytes| bytes == MARKER) {
                return Ok(Some(from + at as u64));
            }
            // A marker may lie across two windows.
            from += (length - MARKER.len() + 1) as u64;
        }
        Ok(None)
    }

    /// How much of the file was on disk, as the blocks from `from` on say.
    fn durable_after(&mut self, mut from: u64) -> u64 {
        let mut durable_bytes = 0;
        while let Some((at_byte, head)) = self.find(from) {
            durable_bytes = durable_bytes.max(head.durable_bytes());
            from = at_byte + length(&head);
        }
        durable_bytes
    }
}

/// One pass over the blocks of a file.
struct Walk<'a, F> {
    walked: Walked,
    blocks: Blocks<'a, F>,
    kind: Kind,
    /// The first thing that was wrong with bytes that had been on disk.
    flaw: Option<Flaw>,
    torn_at: Option<u64>,
    /// What blocks behind the first bad one say to have been on disk, once it was looked for.
    confirmed: Option<u64>,
}

impl<F: DiskFile> Walk<'_, F> {
    fn run(&mut self, visit: &mut dyn FnMut(&[u8])) {
        let mut at_byte = HEADER_BYTES as u64;
        while at_byte < self.walked.bytes && !self.walked.has_end {
            match self.blocks.read(at_byte) {
                Ok(head) => {
                    for record in block::records(&self.blocks.payload) {
                        self.walked.records += 1;
                        visit(record);
                    }
                    at_byte += length(&head);
                    self.note_block(&head, at_byte);
                }
                Err(NoBlock::Unreadable(kind)) => {
                    self.flaw.get_or_insert(Flaw::Unreadable { at_byte, kind });
                    return;
                }
                Err(NoBlock::Damaged) => match self.next_after(at_byte) {
                    Some(next) => at_byte = next,
                    None => return,
                },
            }
        }
        if at_byte < self.walked.bytes {
            self.flaw.get_or_insert(Flaw::AfterEnd { at_byte });
        }
    }

    fn note_block(&mut self, head: &Head, end: u64) {
        self.walked.has_end = head.is_end();
        self.walked.used_bytes = end;
        self.walked.durable_bytes = self.walked.durable_bytes.max(head.durable_bytes());
    }

    /// Where to read on when there is no block at `at_byte`, unless that is the torn tail.
    fn next_after(&mut self, at_byte: u64) -> Option<u64> {
        let confirmed = match (self.kind, self.confirmed) {
            (Kind::Snapshot, _) => u64::MAX,
            (Kind::Log, Some(confirmed)) => confirmed,
            (Kind::Log, None) => *self.confirmed.insert(self.blocks.durable_after(at_byte + 1)),
        };
        if at_byte >= confirmed {
            self.torn_at = Some(at_byte);
            return None;
        }
        self.flaw.get_or_insert(Flaw::Block { at_byte });
        self.blocks.find(at_byte + 1).map(|(next, _)| next)
    }

    fn conclude(self) -> Walked {
        let condition = match (self.flaw, self.torn_at, self.kind) {
            (Some(flaw), _, _) => Condition::Damaged(flaw),
            (None, Some(at_byte), _) => Condition::Torn { at_byte },
            (None, None, Kind::Snapshot) if !self.walked.has_end => Condition::Damaged(Flaw::NoEnd),
            (None, None, _) => Condition::Whole,
        };
        Walked { condition, ..self.walked }
    }
}

fn length(head: &Head) -> u64 {
    (HEAD_BYTES + head.records_bytes()) as u64
}
