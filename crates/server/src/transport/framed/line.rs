//! A short answer on its way out, written where it goes: what was just written byte by byte is slow to be read in one piece.

/// Room for `N` bytes at the end of the output. Whoever writes knows that they are enough.
pub struct Line<'o, const N: usize> {
    bytes: &'o mut [u8; N],
    len: usize,
}

impl<const N: usize> Line<'_, N> {
    /// Adds what `write` writes to the output.
    #[inline]
    pub fn add(output: &mut Vec<u8>, write: impl FnOnce(&mut Line<'_, N>)) {
        let start = output.len();
        output.extend_from_slice(&[0; N]);
        let Some(bytes) = output.last_chunk_mut() else { return };
        let mut line = Line { bytes, len: 0 };
        write(&mut line);
        let end = start + line.len;
        output.truncate(end);
    }

    /// Adds bytes of a known number, which costs next to nothing.
    #[inline]
    pub fn push<const K: usize>(&mut self, bytes: &[u8; K]) {
        self.bytes[self.len..self.len + K].copy_from_slice(bytes);
        self.len += K;
    }

    /// Adds bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}
