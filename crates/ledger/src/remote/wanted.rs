//! The list of wants, and who waits for them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tidegate_core::Nanos;

use super::held::Holds;
use super::want::{AccountKey, RemoteOptions, Want};
use super::weights::Weights;

type Wake = Box<dyn Fn() + Send + Sync>;

/// What a ledger over a table has beside.
pub(crate) struct Remote {
    pub(crate) options: RemoteOptions,
    wanted: Mutex<Vec<Want>>,
    /// Something was put on the list since somebody was last woken.
    news: AtomicBool,
    wake: OnceLock<Wake>,
    pub(super) waiting: Mutex<HashMap<AccountKey, Vec<Waker>>>,
    /// What deliveries of an earlier run hold.
    pub(super) holds: Mutex<Holds>,
    /// What was closed here, and until when: the other nodes are to know.
    pub(crate) closings: Mutex<HashMap<AccountKey, Nanos>>,
    /// Entities that are wanted for their weight. Never locked under another lock, nor another under it.
    pub(super) weights: Mutex<Weights>,
}

impl Remote {
    pub(crate) fn new(options: RemoteOptions) -> Remote {
        Remote {
            options,
            wanted: Mutex::default(),
            news: AtomicBool::new(false),
            wake: OnceLock::new(),
            waiting: Mutex::default(),
            holds: Mutex::default(),
            closings: Mutex::default(),
            weights: Mutex::default(),
        }
    }

    /// Puts a want on the list. Locks are held: nobody is woken yet.
    pub(crate) fn post(&self, want: Want) {
        self.wanted.lock().push(want);
        self.news.store(true, Ordering::Release);
    }

    /// Wakes whoever takes the list, if there is news. No lock is held.
    #[inline]
    pub(crate) fn wake(&self) {
        let news = self.news.load(Ordering::Acquire) && self.news.swap(false, Ordering::AcqRel);
        if let (true, Some(wake)) = (news, self.wake.get()) {
            wake();
        }
    }

    pub(super) fn on_wanted(&self, wake: Wake) {
        self.wake.get_or_init(|| wake);
    }

    pub(super) fn take(&self, out: &mut Vec<Want>) {
        out.append(&mut self.wanted.lock());
    }

    /// Wakes those who wait for an account.
    pub(super) fn tell(&self, key: &AccountKey) {
        let wakers = self.waiting.lock().remove(key);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}
