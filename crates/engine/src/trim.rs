//! What the allocator keeps of what was freed.

/// Gives it back to the system. The GNU allocator keeps tens of megabytes after a large piece of work, for the next; it
/// locks each of its arenas while it goes through it, so this is for once in a while.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `malloc_trim` of the GNU C library is declared so, and may be called at any time by any thread.
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}
