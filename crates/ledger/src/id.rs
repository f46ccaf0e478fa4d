//! The bytes of an entity's name, shared: one word where it is held, one small block where it is.
//!
//! An `Arc<[u8]>` is two words wherever it is held, and an entity's name is held in four places: by the entity, by its
//! children, and in two indexes. At a million entities that is worth 60 bytes each.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// What stands before the bytes.
#[repr(C)]
struct Head {
    holders: AtomicU32,
    len: u32,
}

/// A shared name.
pub(crate) struct Id(NonNull<Head>);

// SAFETY: the bytes never change, and the count of holders is atomic.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

fn layout(len: usize) -> Layout {
    let (bytes, _) = Layout::new::<Head>()
        .extend(Layout::array::<u8>(len).expect("a name is shorter than memory"))
        .expect("a name is shorter than memory");
    bytes
}

impl Id {
    pub(crate) fn new(bytes: &[u8]) -> Id {
        let len = u32::try_from(bytes.len()).expect("a name has less than 2^32 bytes");
        let layout = layout(bytes.len());
        // SAFETY: the layout is that of a `Head` at least, so its size is not 0.
        let block = unsafe { alloc(layout) };
        let Some(head) = NonNull::new(block.cast::<Head>()) else { handle_alloc_error(layout) };
        // SAFETY: the block is fresh, aligned for `Head`, and has room for it and for the bytes behind it.
        unsafe {
            head.write(Head { holders: AtomicU32::new(1), len });
            head.add(1).cast::<u8>().as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Id(head)
    }

    fn head(&self) -> &Head {
        // SAFETY: the block lives as long as any `Id` holds it.
        unsafe { self.0.as_ref() }
    }
}

impl Deref for Id {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let len = self.head().len as usize;
        // SAFETY: `new` has written this many bytes behind the head, and nobody changes them.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast::<u8>().as_ptr(), len) }
    }
}

impl Clone for Id {
    fn clone(&self) -> Id {
        let before = self.head().holders.fetch_add(1, Ordering::Relaxed);
        assert!(before < u32::MAX / 2, "a name has less than 2^31 holders");
        Id(self.0)
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        if self.head().holders.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        let layout = layout(self.len());
        // SAFETY: this was the last holder, and the block was allocated with this layout.
        unsafe { dealloc(self.0.cast::<u8>().as_ptr(), layout) }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.0 == other.0 || **self == **other
    }
}

impl Eq for Id {}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Id) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Id) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::borrow::Borrow<[u8]> for Id {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_bytes_and_one_word() {
        assert_eq!(size_of::<Option<Id>>(), 8);
        for bytes in [&b""[..], b"a", b"acme/eu"] {
            let id = Id::new(bytes);
            let twin = id.clone();
            drop(id);
            assert_eq!(&*twin, bytes);
            assert_eq!(twin, Id::new(bytes));
        }
        assert!(Id::new(b"a") < Id::new(b"b"));
    }

    #[test]
    fn it_is_dropped_once_whichever_thread_is_last() {
        let id = Id::new(b"shared");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let id = id.clone();
                scope.spawn(move || (0..1000).for_each(|_| assert_eq!(&*id.clone(), b"shared")));
            }
        });
        assert_eq!(id.head().holders.load(Ordering::Relaxed), 1);
    }
}
