//! Reading a keys file, whatever is in it.
//!
//! Each block stands for itself. After one that is damaged, reading goes on at the next marker that begins a
//! whole block. Memory is bounded by the size of one block, and the search after damage by
//! [`MAX_FALSE_MARKERS`]; nothing in a file makes this panic.

use super::block::{self, HEAD_BYTES, Head, MARKER};
use super::header::{HEADER_BYTES, Header};
use super::record::KeyRecord;
use crate::Error;
use crate::dir::DataDir;
use crate::generations::{FileName, Flaw, Kind};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Markers without a whole block behind them, in one file, before it is given up.
const MAX_FALSE_MARKERS: u32 = 1_000;
const SEARCH_BYTES: usize = 64 * 1024;

/// What is in a keys file, once it has been read to its end.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub records: u64,
    pub bytes: u64,
    pub newest_now_ns: u64,
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

/// Reads the header of the file `name`. The outer error is that the file cannot be opened at all.
pub(crate) fn read_header(dir: &DataDir, name: FileName) -> Result<Result<Header, Flaw>, Error> {
    let file = open(dir, name)?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    Ok(match file.take(HEADER_BYTES as u64).read_to_end(&mut bytes) {
        Ok(_) => Header::decode(&bytes, name),
        Err(reason) => Err(Flaw::Unreadable { at_byte: 0, kind: reason.kind() }),
    })
}

/// Reads the records of a file whose header is known, and hands them over block by block.
pub(crate) fn walk(
    dir: &DataDir,
    header: &Header,
    visit: &mut dyn FnMut(&[KeyRecord]),
) -> Result<Walked, Error> {
    let file = open(dir, header.name)?;
    let path = dir.join(&header.name.to_string());
    let bytes = file.metadata().map_err(Error::io("look at", &path))?.len();
    let mut blocks = Blocks { file, seed: header.seed(), bytes, payload: Vec::new() };
    let mut walk = Walk { walked: Walked { bytes, ..Walked::default() }, ..Walk::default() };
    walk.run(&mut blocks, visit);
    Ok(walk.conclude(header.name.kind))
}

fn open(dir: &DataDir, name: FileName) -> Result<File, Error> {
    let path = dir.join(&name.to_string());
    File::open(&path).map_err(Error::io("open", &path))
}

/// The blocks of a file, by the byte at which they begin.
struct Blocks {
    file: File,
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

impl Blocks {
    /// The block at this byte. Its records are left in `payload`.
    fn read(&mut self, at_byte: u64) -> Result<Head, NoBlock> {
        let left = self.bytes - at_byte;
        if left < HEAD_BYTES as u64 {
            return Err(NoBlock::Damaged);
        }
        let mut head = [0; HEAD_BYTES];
        self.file.read_exact_at(&mut head, at_byte)?;
        let head = Head::decode(head).ok_or(NoBlock::Damaged)?;
        if left - (HEAD_BYTES as u64) < head.records_bytes() as u64 {
            return Err(NoBlock::Damaged);
        }
        self.payload.resize(head.records_bytes(), 0);
        self.file.read_exact_at(&mut self.payload, at_byte + HEAD_BYTES as u64)?;
        head.vouches_for(&self.payload, self.seed).then_some(head).ok_or(NoBlock::Damaged)
    }

    /// The first byte from `from` on at which a block may begin.
    fn find_marker(&self, mut from: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; SEARCH_BYTES];
        while from + MARKER.len() as u64 <= self.bytes {
            let length = (self.bytes - from).min(SEARCH_BYTES as u64) as usize;
            let window = &mut window[..length];
            self.file.read_exact_at(window, from)?;
            if let Some(at) = window.windows(MARKER.len()).position(|bytes| bytes == MARKER) {
                return Ok(Some(from + at as u64));
            }
            // A marker may lie across two windows.
            from += (length - MARKER.len() + 1) as u64;
        }
        Ok(None)
    }
}

/// One pass over the blocks of a file.
#[derive(Default)]
struct Walk {
    walked: Walked,
    has_end: bool,
    /// The first thing that was wrong.
    flaw: Option<Flaw>,
    /// Where the first damaged block begins.
    damaged_from: Option<u64>,
    /// Whether what was wrong had once been on disk for certain.
    was_durable: bool,
    false_markers: u32,
}

impl Walk {
    fn run(&mut self, blocks: &mut Blocks, visit: &mut dyn FnMut(&[KeyRecord])) {
        let mut records = Vec::new();
        let mut at_byte = HEADER_BYTES as u64;
        while at_byte < blocks.bytes && !self.has_end {
            match blocks.read(at_byte) {
                Ok(head) => {
                    block::decode_records(&blocks.payload, &mut records);
                    self.note_block(&head);
                    if !head.is_end() {
                        visit(&records);
                    }
                    at_byte += (HEAD_BYTES + head.records_bytes()) as u64;
                }
                Err(why) => match self.next_after(at_byte, why, blocks) {
                    Some(next) => at_byte = next,
                    None => return,
                },
            }
        }
        if at_byte < blocks.bytes {
            self.note_flaw(Flaw::AfterEnd { at_byte }, true);
        }
    }

    fn note_block(&mut self, head: &Head) {
        let stamp = head.stamp();
        self.has_end = head.is_end();
        self.walked.records += (head.records_bytes() / super::record::RECORD_BYTES) as u64;
        self.walked.newest_now_ns = self.walked.newest_now_ns.max(stamp.now_ns);
        self.was_durable |= self.damaged_from.is_some_and(|damaged| stamp.durable_bytes > damaged);
    }

    fn note_flaw(&mut self, flaw: Flaw, was_durable: bool) {
        self.flaw.get_or_insert(flaw);
        self.was_durable |= was_durable;
    }

    /// Where to read on when there is no block at `at_byte`.
    fn next_after(&mut self, at_byte: u64, why: NoBlock, blocks: &Blocks) -> Option<u64> {
        let unreadable = |kind| Flaw::Unreadable { at_byte, kind };
        match why {
            NoBlock::Damaged => self.note_flaw(Flaw::Block { at_byte }, false),
            NoBlock::Unreadable(kind) => {
                self.note_flaw(unreadable(kind), true);
                return None;
            }
        }
        self.damaged_from.get_or_insert(at_byte);
        self.false_markers += 1;
        if self.false_markers > MAX_FALSE_MARKERS {
            return None;
        }
        blocks.find_marker(at_byte + 1).unwrap_or_else(|reason| {
            self.note_flaw(unreadable(reason.kind()), true);
            None
        })
    }

    fn conclude(self, kind: Kind) -> Walked {
        let condition = match (self.flaw, kind) {
            (Some(Flaw::Block { at_byte }), Kind::Log) if !self.was_durable => Condition::Torn { at_byte },
            (Some(flaw), _) => Condition::Damaged(flaw),
            (None, Kind::Snapshot) if !self.has_end => Condition::Damaged(Flaw::NoEnd),
            (None, _) => Condition::Whole,
        };
        Walked { condition, ..self.walked }
    }
}
