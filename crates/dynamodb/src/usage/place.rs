//! Which item usage is in: keys, windows, and how long it is kept.

use tidegate_core::ledger::Window;
use tidegate_store::history::Retention;

use crate::layout::attribute::{self, Item, number, text};
use crate::layout::escape::escaped;
use crate::layout::key::{Key, Nsid, entity_pk, resource_pk};
use crate::layout::time;

/// The end of the calendar.
const LAST_MS: u64 = 253_402_300_799_000;

/// The item of an entity's usage of a resource in a window. Minutes are in the item of their hour.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The namespace.
    pub ns: Nsid,
    /// Who.
    pub entity: Vec<u8>,
    /// For what.
    pub resource: String,
    /// The length of the window.
    pub window: Window,
    /// When it begins; of minutes, when their hour does.
    pub start_ms: u64,
}

/// A window as others call it.
pub fn word(window: Window) -> &'static str {
    match window {
        Window::Minute => "minute",
        Window::Hour => "hourly",
        Window::Day => "daily",
        Window::Month => "monthly",
    }
}

/// A time in a key. Times sort as their texts do.
pub fn at(at_ms: u64) -> String {
    time::text(at_ms.min(LAST_MS))
}

/// When the item begins that a time is in.
pub fn start_ms(window: Window, at_ms: u64) -> u64 {
    match window {
        Window::Minute => Window::Hour.start_ms(at_ms),
        other => other.start_ms(at_ms),
    }
}

/// What the sort keys of an entity's usage of a resource begin with, up to the time.
pub fn sort_prefix(window: Window, resource: &str) -> String {
    match window {
        Window::Minute => format!("#MINUTES#{resource}#"),
        other => format!("#USAGE#{resource}#{}#", word(other)),
    }
}

/// The same of all that a namespace has, or (but for minutes) a resource.
pub fn index_prefix(window: Window) -> String {
    match window {
        Window::Minute => "MINUTES#".into(),
        other => format!("USAGE#{}#", word(other)),
    }
}

impl Place {
    /// Its key.
    pub fn key(&self) -> Key {
        let sk = format!("{}{}", sort_prefix(self.window, &self.resource), at(self.start_ms));
        Key::new(entity_pk(&self.ns, &self.entity), sk)
    }

    /// A new item, without amounts.
    pub fn item(&self, retention: &Retention) -> Item {
        let (id, start) = (escaped(&self.entity), at(self.start_ms));
        let prefix = index_prefix(self.window);
        let mut item =
            attribute::item(&self.key(), &self.ns, &format!("{prefix}{start}#{}#{id}", self.resource));
        item.insert("entity_id".into(), text(&*id));
        item.insert("resource".into(), text(&*self.resource));
        if self.window != Window::Minute {
            item.insert("window".into(), text(word(self.window)));
            item.insert("window_start".into(), text(&*start));
            item.insert("GSI2PK".into(), text(resource_pk(&self.ns, &self.resource)));
            item.insert("GSI2SK".into(), text(format!("{prefix}{start}#{id}")));
        }
        if let Some(kept_ms) = kept_ms(retention, self.window) {
            let end = if self.window == Window::Minute { Window::Hour } else { self.window };
            item.insert("ttl".into(), number(end.next_ms(self.start_ms).saturating_add(kept_ms) / 1000));
        }
        item
    }
}

fn kept_ms(retention: &Retention, window: Window) -> Option<u64> {
    match window {
        Window::Minute => retention.minute_ms,
        Window::Hour => retention.hour_ms,
        Window::Day => retention.day_ms,
        Window::Month => retention.month_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(window: Window, start_ms: u64) -> Place {
        Place { ns: Nsid::new("a7"), entity: b"acme".to_vec(), resource: "gpt-4".into(), window, start_ms }
    }

    #[test]
    fn windows_that_begin_together_have_keys_of_their_own() {
        // 2024-03-01T00:00:00Z begins an hour, a day and a month.
        let at_ms = 1_709_251_200_000;
        let keys: Vec<String> = Window::ALL.iter().map(|window| place(*window, at_ms).key().sk).collect();
        assert_eq!(
            keys,
            [
                "#MINUTES#gpt-4#2024-03-01T00:00:00Z",
                "#USAGE#gpt-4#hourly#2024-03-01T00:00:00Z",
                "#USAGE#gpt-4#daily#2024-03-01T00:00:00Z",
                "#USAGE#gpt-4#monthly#2024-03-01T00:00:00Z",
            ]
        );
    }

    #[test]
    fn an_item_is_found_by_resource_and_namespace_and_goes_in_time() {
        let retention = Retention { hour_ms: Some(60_000), ..Retention::default() };
        let item = place(Window::Hour, 3_600_000).item(&retention);
        assert_eq!(item["GSI2SK"], text("USAGE#hourly#1970-01-01T01:00:00Z#acme"));
        assert_eq!(item["GSI4SK"], text("USAGE#hourly#1970-01-01T01:00:00Z#gpt-4#acme"));
        assert_eq!(item["ttl"], number(7_200 + 60));
        let minutes = place(Window::Minute, 3_600_000).item(&retention);
        assert!(!minutes.contains_key("ttl") && !minutes.contains_key("GSI2PK"));
        assert_eq!(start_ms(Window::Minute, 3_725_000), 3_600_000);
        assert_eq!(at(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
