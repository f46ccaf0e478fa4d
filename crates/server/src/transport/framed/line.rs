//! A short answer on its way out: written on the stack, copied once.

/// Up to `N` bytes. Whoever writes knows that they are enough.
pub struct Line<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Line<N> {
    #[inline]
    fn default() -> Line<N> {
        Line { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Line<N> {
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

    /// All that was added.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
