//! Who is above whom, in order, for lists and for the rules of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use crate::id::Id;

/// The entities of a namespace that have a record.
#[derive(Default)]
pub(crate) struct Tree {
    all: BTreeSet<Id>,
    children: BTreeMap<Id, BTreeSet<Id>>,
    /// Entities with settings of their own, and for which resource.
    custom: BTreeSet<(Id, Arc<str>)>,
}

impl Tree {
    /// The name as it is shared, if anybody holds it.
    pub(crate) fn shared(&self, id: &[u8]) -> Option<Id> {
        let entity = self.all.get(id);
        entity.or_else(|| self.children.get_key_value(id).map(|(id, _)| id)).cloned()
    }

    pub(crate) fn add(&mut self, id: &Id) {
        self.all.insert(id.clone());
    }

    pub(crate) fn remove(&mut self, id: &[u8]) {
        self.all.remove(id);
    }

    pub(crate) fn has(&self, id: &[u8]) -> bool {
        self.all.contains(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn put_below(&mut self, id: &Id, parent: &Id) {
        self.children.entry(parent.clone()).or_default().insert(id.clone());
    }

    pub(crate) fn take_from(&mut self, id: &[u8], parent: &[u8]) {
        let Some(children) = self.children.get_mut(parent) else { return };
        children.remove(id);
        if children.is_empty() {
            self.children.remove(parent);
        }
    }

    pub(crate) fn has_children(&self, id: &[u8]) -> bool {
        self.children.contains_key(id)
    }

    /// Levels below and including this one.
    pub(crate) fn height(&self, id: &[u8], at_most: usize) -> usize {
        if at_most == 0 {
            return 0;
        }
        let children = self.children.get(id).into_iter().flatten();
        1 + children.map(|child| self.height(child, at_most - 1)).max().unwrap_or(0)
    }

    pub(crate) fn page(&self, after: Option<&[u8]>, max: usize) -> Vec<Id> {
        page(&self.all, after, max)
    }

    pub(crate) fn page_of_children(&self, parent: &[u8], after: Option<&[u8]>, max: usize) -> Vec<Id> {
        self.children.get(parent).map_or_else(Vec::new, |children| page(children, after, max))
    }

    pub(crate) fn set_custom(&mut self, id: &Id, resource: &Arc<str>, set: bool) {
        let pair = (id.clone(), Arc::clone(resource));
        match set {
            true => self.custom.insert(pair),
            false => self.custom.remove(&pair),
        };
    }

    /// Entities with settings of their own, from after this pair on.
    pub(crate) fn custom_from(&self, after: Option<(&[u8], &str)>) -> impl Iterator<Item = &(Id, Arc<str>)> {
        let from = match after {
            Some((id, resource)) => Excluded((Id::new(id), Arc::from(resource))),
            None => Unbounded,
        };
        self.custom.range((from, Unbounded))
    }
}

fn page(ids: &BTreeSet<Id>, after: Option<&[u8]>, max: usize) -> Vec<Id> {
    let from = after.map_or(Unbounded, Excluded);
    ids.range::<[u8], _>((from, Unbounded)).take(max).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_heights() {
        let mut tree = Tree::default();
        let ids: Vec<Id> = ["a", "b", "c", "d"].iter().map(|id| Id::new(id.as_bytes())).collect();
        ids.iter().for_each(|id| tree.add(id));
        tree.put_below(&ids[1], &ids[0]);
        tree.put_below(&ids[2], &ids[0]);
        tree.put_below(&ids[3], &ids[2]);
        assert_eq!(tree.page(Some(b"a"), 2), ids[1..3]);
        assert_eq!(tree.page_of_children(b"a", None, 9), ids[1..3]);
        assert_eq!([tree.height(b"a", 8), tree.height(b"c", 8), tree.height(b"b", 8)], [3, 2, 1]);
        tree.take_from(b"d", b"c");
        assert_eq!((tree.has_children(b"c"), tree.height(b"a", 8)), (false, 2));
    }
}
