//! A segment: all keys of one range of hashes, in up to 8 pages.
//!
//! A page of a segment covers an equal share of the range, so the page of a key is one multiplication. When
//! a page is full the segment is rebuilt with one page more, and past 8 pages it splits in two. A rebuild
//! moves at most 1,120 keys, some 10 us, and is all the growing there ever is: no table is ever copied
//! whole, and pages are between 70 % and 90 % full at any size.

use tidegate_core::Nanos;

use super::page::{CAPACITY, Entry, Page};
use crate::hash::KeyHash;

/// Pages in a segment, at most.
pub const MAX_PAGES: usize = 8;

/// Keys per page to aim for in a rebuild: room for chance and for growth.
const TARGET: usize = CAPACITY * 82 / 100;

/// Below this many keys per page the segment gives a page back.
const SPARSE: usize = CAPACITY * 45 / 100;

/// See the module.
#[derive(Default)]
pub struct Segment {
    pages: [Option<Box<Page>>; MAX_PAGES],
    count: u8,
    /// How many bits of the place lead to this segment.
    depth: u8,
    /// Whether its shard has noted that keys of it have changed.
    pub noted: bool,
}

impl Segment {
    pub fn new(depth: u8) -> Segment {
        Segment { depth, ..Segment::default() }
    }

    pub fn depth(&self) -> u8 {
        self.depth
    }

    pub fn page_count(&self) -> usize {
        usize::from(self.count)
    }

    pub fn len(&self) -> usize {
        self.pages().map(Page::len).sum()
    }

    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().flatten().map(Box::as_ref)
    }

    pub fn pages_mut(&mut self) -> impl Iterator<Item = &mut Page> {
        self.pages.iter_mut().flatten().map(Box::as_mut)
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.pages().flat_map(Page::entries)
    }

    /// The page that holds a key, if the segment has any.
    #[inline]
    pub fn page(&self, hash: KeyHash) -> Option<&Page> {
        self.pages[self.index(hash)].as_deref()
    }

    /// The page that holds a key, to change.
    #[inline]
    pub fn page_mut(&mut self, hash: KeyHash) -> Option<&mut Page> {
        self.pages[self.index(hash)].as_deref_mut()
    }

    /// A page by its number, to sweep.
    pub fn page_at(&mut self, index: usize) -> Option<&mut Page> {
        self.pages.get_mut(index)?.as_deref_mut()
    }

    #[inline]
    fn index(&self, hash: KeyHash) -> usize {
        let within = hash.place() << self.depth;
        ((u128::from(within) * u128::from(self.count)) >> 64) as usize
    }

    /// Hands out the keys that have changed, and takes their marks off. They are anywhere in memory, so they are all
    /// asked for before the first is looked at.
    pub fn settle(&mut self, mut read: impl FnMut(Entry)) {
        self.noted = false;
        self.pages().for_each(Page::prefetch_marks);
        self.pages().for_each(Page::prefetch_changed);
        self.pages_mut().for_each(|page| page.settle(&mut read));
    }

    /// Makes room for one more key: forgets what is past, and adds pages until the page of `hash` is not
    /// full. `Some` is the upper half of the segment, which has become one of its own; then look again.
    pub fn grow(&mut self, hash: KeyHash, now: Nanos) -> Option<Segment> {
        let entries: Vec<Entry> = self.entries().filter(|entry| !entry.tat().is_past(now)).collect();
        for pages in entries.len() / TARGET + 1..=MAX_PAGES {
            if self.fill(pages, &entries) && self.page(hash).is_some_and(|page| !page.is_full()) {
                return None;
            }
        }
        Some(self.split(&entries))
    }

    /// Gives pages back that sweeping has emptied.
    pub fn shrink(&mut self) {
        if self.count == 0 || self.len() > (self.page_count() - 1) * SPARSE {
            return;
        }
        let entries: Vec<Entry> = self.entries().collect();
        let fewest = entries.len().div_ceil(TARGET);
        // With as many pages as before they fit as they did before.
        let held = (fewest..=self.page_count()).any(|pages| self.fill(pages, &entries));
        assert!(held, "a segment lost a key while it shrank");
    }

    /// Puts the entries into this many pages. False if a page overflows; the segment is then to be filled anew.
    fn fill(&mut self, pages: usize, entries: &[Entry]) -> bool {
        self.resize(pages);
        entries.iter().all(|entry| self.push(*entry))
    }

    /// Empties all pages and has this many of them.
    fn resize(&mut self, count: usize) {
        for (index, page) in self.pages.iter_mut().enumerate() {
            match (index < count, page.as_mut()) {
                (true, Some(page)) => page.clear(),
                (true, None) => *page = Some(Page::new()),
                (false, _) => *page = None,
            }
        }
        self.count = count as u8;
    }

    /// Adds a key that is not there, if its page has room.
    pub fn push(&mut self, entry: Entry) -> bool {
        self.page_mut(entry.hash()).is_some_and(|page| page.push(entry))
    }

    fn split(&mut self, entries: &[Entry]) -> Segment {
        let bit = 63 - self.depth;
        let mut upper = Segment::new(self.depth + 1);
        self.depth += 1;
        let (above, below): (Vec<Entry>, Vec<Entry>) =
            entries.iter().partition(|entry| entry.hash().place() >> bit & 1 == 1);
        for (segment, entries) in [(self, &below), (&mut upper, &above)] {
            let fewest = (entries.len() / TARGET + 1).min(MAX_PAGES);
            let held = (fewest..=MAX_PAGES).any(|pages| segment.fill(pages, entries));
            // Not so only if over 140 of at most 1,120 keyed hashes fell into a sixteenth of their range.
            assert!(held, "a split left more keys than a segment holds");
        }
        upper
    }
}
