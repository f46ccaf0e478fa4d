//! Asking for memory before it is needed.
//!
//! Who decides many things in a row waits for memory once if all of it is asked for first, and for each thing if it is not.

/// Bytes that come from memory together.
pub const LINE: usize = 64;

/// Asks for the cache line of a place in memory, and does not wait for it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn prefetch<T>(place: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch is a hint. It reads nothing that the program can see, and no address makes it fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
}

/// Asks for all of these.
#[inline]
pub fn prefetch_bytes(bytes: &[u8]) {
    bytes.chunks(LINE).for_each(|line| prefetch(line.as_ptr()));
}

/// Elsewhere there is no stable way to ask.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn prefetch<T>(_: *const T) {}
