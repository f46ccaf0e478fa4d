//! Where a reply ends.
//!
//! The search goes on where it stopped when more bytes have come, so that a reply of many reads is not looked through
//! from its start at each of them.

use super::item::{Cursor, DEPTH_MAX, Stop};

/// The longest reply.
const REPLY_MAX: usize = 256 * 1024 * 1024;

/// How far the first reply of some bytes has been looked through.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    /// Where the next item starts.
    at: usize,
    /// Items still to come in each array or map that is open, outermost first.
    open: [usize; DEPTH_MAX],
    depth: usize,
}

impl Extent {
    /// The length of the first reply in `input`, if it is there whole. Until it is, `input` must start with the same
    /// bytes each time; once it is, the next search is about another reply.
    pub(crate) fn whole(&mut self, input: &[u8]) -> Result<Option<usize>, Stop> {
        let mut cursor = Cursor { rest: &input[self.at..] };
        loop {
            let item = match cursor.item() {
                Ok(item) => item,
                Err(Stop::Incomplete) => return Ok(None),
                Err(malformed) => return Err(malformed),
            };
            self.at = input.len() - cursor.rest.len();
            if self.at > REPLY_MAX {
                return Err(Stop::Malformed("a reply too long"));
            }
            match item.children() {
                0 => self.close(),
                children => self.enter(children)?,
            }
            if self.depth == 0 {
                return Ok(Some(std::mem::take(self).at));
            }
        }
    }

    fn enter(&mut self, children: usize) -> Result<(), Stop> {
        let slot = self.open.get_mut(self.depth).ok_or(Stop::Malformed("arrays nested too deep"))?;
        *slot = children;
        self.depth += 1;
        Ok(())
    }

    /// An item is whole, and so are all that end with it.
    fn close(&mut self) {
        while let Some(innermost) = self.depth.checked_sub(1) {
            self.open[innermost] -= 1;
            if self.open[innermost] > 0 {
                return;
            }
            self.depth = innermost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_its_last_item() {
        let bytes = b"*2\r\n%1\r\n+k\r\n*0\r\n:1\r\n+next\r\n";
        for end in 0..20 {
            assert_eq!(Extent::default().whole(&bytes[..end]), Ok(None), "{end}");
        }
        assert_eq!(Extent::default().whole(bytes), Ok(Some(20)));
    }

    #[test]
    fn the_search_goes_on_where_it_stopped() {
        let bytes = b">3\r\n$7\r\nmessage\r\n:1\r\n%1\r\n$1\r\nk\r\n$3\r\na\r\n\r\n";
        let mut extent = Extent::default();
        for end in 0..bytes.len() {
            assert_eq!(extent.whole(&bytes[..end]), Ok(None), "{end}");
        }
        assert_eq!(extent.whole(bytes), Ok(Some(bytes.len())));
        assert_eq!(extent.whole(b"+OK\r\n"), Ok(Some(5)));
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = b"*1\r\n".repeat(DEPTH_MAX + 1);
        assert_eq!(Extent::default().whole(&deep), Err(Stop::Malformed("arrays nested too deep")));
    }
}
