//! Lists whose links lie inside the entries of a slab, so that any entry leaves in O(1) and nothing is allocated.
//!
//! A type that is in several lists at a time has a link for each, told apart by `Role`.

use std::marker::PhantomData;

use super::slab::{NONE, Slab};

/// The neighbours of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) prev: u32,
    pub(super) next: u32,
}

impl Links {
    /// In no list.
    pub(super) const LOOSE: Links = Links { prev: NONE, next: NONE };
}

pub(super) trait Linked<Role> {
    fn links(&self) -> Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// Gives a type its links for a role.
macro_rules! linked {
    ($entry:ty, $role:ty, $field:ident) => {
        impl $crate::queue::list::Linked<$role> for $entry {
            #[inline]
            fn links(&self) -> $crate::queue::list::Links {
                self.$field
            }

            #[inline]
            fn links_mut(&mut self) -> &mut $crate::queue::list::Links {
                &mut self.$field
            }
        }
    };
}
pub(super) use linked;

/// Asks for the memory of those that will hear of it when this entry leaves its list.
#[inline]
pub(super) fn prefetch_neighbours<Role, T: Linked<Role>>(slab: &Slab<T>, entry: &T) {
    let Links { prev, next } = entry.links();
    slab.prefetch(prev);
    slab.prefetch(next);
}

/// A list with two ends. Its first entry has no `prev`, its last no `next`.
pub(super) struct List<Role> {
    front: u32,
    back: u32,
    role: PhantomData<Role>,
}

impl<Role> List<Role> {
    pub(super) const fn new() -> List<Role> {
        List { front: NONE, back: NONE, role: PhantomData }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.front == NONE
    }

    #[inline]
    pub(super) fn push_back<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        *slab[at].links_mut() = Links { prev: self.back, next: NONE };
        match self.back {
            NONE => self.front = at,
            back => slab[back].links_mut().next = at,
        }
        self.back = at;
    }

    #[inline]
    pub(super) fn push_front<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        *slab[at].links_mut() = Links { prev: NONE, next: self.front };
        match self.front {
            NONE => self.back = at,
            front => slab[front].links_mut().prev = at,
        }
        self.front = at;
    }

    #[inline]
    pub(super) fn remove<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        let links = std::mem::replace(slab[at].links_mut(), Links::LOOSE);
        match links.prev {
            NONE => {
                assert_eq!(self.front, at, "an entry leaves a list that it is not in");
                self.front = links.next;
            }
            prev => slab[prev].links_mut().next = links.next,
        }
        match links.next {
            NONE => self.back = links.prev,
            next => slab[next].links_mut().prev = links.prev,
        }
    }

    #[inline]
    pub(super) fn pop_front<T: Linked<Role>>(&mut self, slab: &mut Slab<T>) -> Option<u32> {
        let front = self.front()?;
        self.remove(slab, front);
        Some(front)
    }

    /// Before those at the back that are `later`, or the last `most` of them.
    #[inline]
    pub(super) fn insert_before<T: Linked<Role>>(
        &mut self,
        slab: &mut Slab<T>,
        at: u32,
        most: usize,
        later: impl Fn(&T) -> bool,
    ) {
        let mut next = NONE;
        let mut prev = self.back;
        for _ in 0..most {
            if prev == NONE || !later(&slab[prev]) {
                break;
            }
            (next, prev) = (prev, slab[prev].links().prev);
        }
        if next == NONE {
            return self.push_back(slab, at);
        }
        if prev == NONE {
            return self.push_front(slab, at);
        }
        *slab[at].links_mut() = Links { prev, next };
        slab[prev].links_mut().next = at;
        slab[next].links_mut().prev = at;
    }

    /// The front becomes the back.
    #[inline]
    pub(super) fn rotate<T: Linked<Role>>(&mut self, slab: &mut Slab<T>) {
        if self.front != self.back
            && let Some(front) = self.pop_front(slab)
        {
            self.push_back(slab, front);
        }
    }

    /// From this entry of the list to its front.
    pub(super) fn iter_back<'a, T: Linked<Role>>(
        &self,
        slab: &'a Slab<T>,
        at: u32,
    ) -> impl Iterator<Item = u32> + use<'a, T, Role> {
        let prev = move |at: &u32| Some(slab[*at].links().prev).filter(|prev| *prev != NONE);
        std::iter::successors(Some(at), prev)
    }

    pub(super) fn iter<'a, T: Linked<Role>>(
        &self,
        slab: &'a Slab<T>,
    ) -> impl Iterator<Item = u32> + use<'a, T, Role> {
        let next = move |at: &u32| Some(slab[*at].links().next).filter(|next| *next != NONE);
        std::iter::successors(self.front(), next)
    }
}

/// A list in a circle, half the size of a [`List`]: for entries of which there are millions.
pub(super) struct Ring<Role> {
    front: u32,
    role: PhantomData<Role>,
}

impl<Role> Ring<Role> {
    pub(super) const fn new() -> Ring<Role> {
        Ring { front: NONE, role: PhantomData }
    }

    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.front == NONE
    }

    #[inline]
    pub(super) fn push_back<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        let front = self.front;
        if front == NONE {
            *slab[at].links_mut() = Links { prev: at, next: at };
            self.front = at;
            return;
        }
        let back = std::mem::replace(&mut slab[front].links_mut().prev, at);
        slab[back].links_mut().next = at;
        *slab[at].links_mut() = Links { prev: back, next: front };
    }

    #[inline]
    pub(super) fn push_front<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        self.push_back(slab, at);
        self.front = at;
    }

    #[inline]
    pub(super) fn remove<T: Linked<Role>>(&mut self, slab: &mut Slab<T>, at: u32) {
        let Links { prev, next } = std::mem::replace(slab[at].links_mut(), Links::LOOSE);
        assert!(next != NONE, "an entry leaves a ring that it is not in");
        if next == at {
            self.front = NONE;
            return;
        }
        slab[prev].links_mut().next = next;
        slab[next].links_mut().prev = prev;
        if self.front == at {
            self.front = next;
        }
    }

    /// The front becomes the back.
    #[inline]
    pub(super) fn rotate<T: Linked<Role>>(&mut self, slab: &Slab<T>) {
        if self.front != NONE {
            self.front = slab[self.front].links().next;
        }
    }

    pub(super) fn iter<'a, T: Linked<Role>>(
        &self,
        slab: &'a Slab<T>,
    ) -> impl Iterator<Item = u32> + use<'a, T, Role> {
        let front = self.front;
        let next = move |at: &u32| Some(slab[*at].links().next).filter(|next| *next != front);
        std::iter::successors(self.front(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    struct Here;
    struct Entry {
        links: Links,
    }
    linked!(Entry, Here, links);

    proptest! {
        #[test]
        fn both_are_a_deque(steps in prop::collection::vec((0..5u8, 0..20usize), 0..200)) {
            let (mut a, mut b) = (Slab::new(), Slab::new());
            let (mut list, mut ring, mut model) = (List::<Here>::new(), Ring::<Here>::new(), VecDeque::new());
            for (step, n) in steps {
                match step {
                    0 | 1 => {
                        let at = a.insert(Entry { links: Links::LOOSE });
                        prop_assert_eq!(at, b.insert(Entry { links: Links::LOOSE }));
                        if step == 0 {
                            list.push_back(&mut a, at);
                            ring.push_back(&mut b, at);
                            model.push_back(at);
                        } else {
                            list.push_front(&mut a, at);
                            ring.push_front(&mut b, at);
                            model.push_front(at);
                        }
                    }
                    2 => {
                        list.rotate(&mut a);
                        ring.rotate(&b);
                        if !model.is_empty() {
                            model.rotate_left(1);
                        }
                    }
                    _ => {
                        if n < model.len() {
                            let at = model.remove(n).unwrap();
                            list.remove(&mut a, at);
                            ring.remove(&mut b, at);
                            a.remove(at);
                            b.remove(at);
                        }
                    }
                }
                prop_assert!(list.iter(&a).eq(model.iter().copied()));
                if let Some(back) = model.back() {
                    prop_assert!(list.iter_back(&a, *back).eq(model.iter().rev().copied()));
                }
                prop_assert!(ring.iter(&b).eq(model.iter().copied()));
                prop_assert_eq!(list.front(), model.front().copied());
                prop_assert_eq!(ring.is_empty(), model.is_empty());
            }
        }
    }
}
