//! Rows to keep as writes, each conditional on what was read.
//!
//! An item that is there is changed and not replaced: what others have put on it stays.

use std::collections::{BTreeSet, HashMap};

use tidegate_ledger::{Entity, Kept, Scope, ScopeSettings};

use super::registry::Registered;
use super::row::{Row, Seen};
use crate::fault::Fault;
use crate::layout::attribute::{Item, number, number_of};
use crate::layout::entity::{self, Stamp};
use crate::layout::expression::Expression;
use crate::layout::key::Nsid;
use crate::layout::scope;
use crate::random;
use crate::table::transact::Write;

/// A change of one row.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which.
    pub row: Row,
    /// How.
    pub write: Write,
    /// Whether it begins to be there, or ceases to.
    pub appears: Option<bool>,
}

impl Change {
    /// What has to change together with it: the entity, or nothing else.
    pub fn group(&self) -> &[u8] {
        match &self.row {
            Row::Entity(id) | Row::Scope(Scope::Entity(id, _)) => id,
            Row::Scope(_) => b"",
        }
    }

    /// Notes what becomes of the registries.
    pub fn register(&self, registered: &mut Registered) {
        match (&self.row, self.appears) {
            (Row::Scope(Scope::Resource(resource)), Some(appears)) => registered.resource(resource, appears),
            (Row::Scope(Scope::Entity(_, resource)), Some(appears)) => registered.entity(resource, appears),
            _ => {}
        }
    }
}

/// The writes that keep these rows. Every row was read before.
pub fn changes(ns: &Nsid, kept: &[Kept], seen: &[Seen], now_ms: u64) -> Result<Vec<Change>, Fault> {
    let seen: HashMap<&Row, &Seen> = seen.iter().map(|seen| (&seen.row, seen)).collect();
    let mut changes = Vec::with_capacity(kept.len());
    for kept in kept {
        let row = Row::of(kept).ok_or_else(|| Fault::Bug("a row to keep names no scope".into()))?;
        let seen = seen.get(&row);
        let seen = seen.ok_or_else(|| Fault::Bug(format!("{} is changed and was not read", row.told())))?;
        if let Some(what) = &seen.unsupported {
            return Err(Fault::Layout(what.clone()));
        }
        row.check()?;
        changes.extend(change(ns, row, kept, seen.item.as_ref(), now_ms)?);
    }
    Ok(changes)
}

fn change(
    ns: &Nsid,
    row: Row,
    kept: &Kept,
    item: Option<&Item>,
    now_ms: u64,
) -> Result<Option<Change>, Fault> {
    let (Kept::Entity { json, .. } | Kept::Scope { json, .. }) = kept;
    let Some(json) = json else { return Ok(item.map(|item| removal(ns, row, item))) };
    let bug = |error: serde_json::Error| Fault::Bug(format!("a row to keep is no JSON of its kind: {error}"));
    let new = match &row {
        Row::Entity(_) => {
            let told: Entity = serde_json::from_slice(json).map_err(bug)?;
            entity::item(ns, &told, &stamp(&told, item, now_ms))
        }
        Row::Scope(scope) => {
            let told: ScopeSettings = serde_json::from_slice(json).map_err(bug)?;
            let new = scope::item(ns, scope, &told);
            let read = scope::read(&new).map_err(|what| Fault::layout(format!("{}: {what}", row.told())))?;
            if read.settings != told {
                return Err(Fault::layout(format!("{} cannot be kept in the table exactly", row.told())));
            }
            new
        }
    };
    let write = match item {
        None => {
            let mut absent = Expression::new();
            absent.require_absent("PK");
            Write::Put(new, absent)
        }
        Some(old) => Write::Update(row.key(ns), difference(&row, old, new)),
    };
    Ok(Some(Change { row, write, appears: item.is_none().then_some(true) }))
}

/// An entity's stamp after a change: a move is counted.
fn stamp(told: &Entity, item: Option<&Item>, now_ms: u64) -> Stamp {
    let Some(item) = item else { return Stamp::new(now_ms, random::hex()) };
    let parent = entity::read(item).ok().and_then(|before| before.parent);
    let stamp = Stamp::of(item);
    if parent == told.parent { stamp } else { stamp.moved() }
}

/// Removes a row: all of the item, unless others have put something on it that is theirs.
fn removal(ns: &Nsid, row: Row, item: &Item) -> Change {
    let mut expression = Expression::new();
    unchanged(&row, item, &mut expression);
    let write = match (&row, item.contains_key("audit_retention_days")) {
        (Row::Scope(_), true) => {
            for name in sorted(item).into_iter().filter(|name| scope::is_set(name)) {
                expression.remove(name);
            }
            match expression.is_idle() {
                true => Write::Check(row.key(ns), expression),
                false => Write::Update(row.key(ns), expression),
            }
        }
        _ => Write::Delete(row.key(ns), expression),
    };
    Change { row, write, appears: Some(false) }
}

/// Changes an item into a new one: sets what differs, and removes what the new one lacks of what we set.
fn difference(row: &Row, old: &Item, mut new: Item) -> Expression {
    let mut expression = Expression::new();
    unchanged(row, old, &mut expression);
    if matches!(row, Row::Scope(_)) {
        let version: u64 = number_of(old, scope::VERSION).unwrap_or(0);
        new.insert(scope::VERSION.into(), number(version.saturating_add(1)));
    }
    for name in sorted(&new) {
        if name != "PK" && name != "SK" && old.get(name) != new.get(name) {
            expression.set(name, new[name].clone());
        }
    }
    let is_ours = |name: &str| match row {
        Row::Entity(_) => entity::OPTIONAL.contains(&name),
        Row::Scope(_) => scope::is_set(name),
    };
    // That limits act in spite of what is set further up is not ours to say, nor to take back.
    let enforced = matches!(row, Row::Scope(_)) && scope::read(old).is_ok_and(|read| read.is_enforced);
    for name in sorted(old) {
        if is_ours(name) && !new.contains_key(name) && !(enforced && name == scope::DISABLED) {
            expression.remove(name);
        }
    }
    expression
}

/// Asks that an item is as it was read.
fn unchanged(row: &Row, item: &Item, expression: &mut Expression) {
    expression.require_present("PK");
    let fixed: &[&str] = match row {
        Row::Entity(_) => &["version", entity::GENERATION, entity::INCARNATION],
        Row::Scope(_) => {
            &[scope::VERSION, scope::DISABLED, scope::CASCADE, "on_unavailable", "on_expiry", "lease_ttl_ms"]
        }
    };
    let mut names: BTreeSet<&str> = fixed.iter().copied().collect();
    if matches!(row, Row::Scope(_)) {
        // Others write 1 as the version each time, so what they may have changed is compared, too.
        names.extend(item.keys().map(String::as_str).filter(|name| scope::is_set(name)));
    }
    for name in names {
        match item.get(name) {
            Some(value) => expression.require_equal(name, value.clone()),
            None => expression.require_absent(name),
        };
    }
}

fn sorted(item: &Item) -> Vec<&str> {
    let mut names: Vec<&str> = item.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests;
