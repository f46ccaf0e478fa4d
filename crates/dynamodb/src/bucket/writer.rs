//! What a node leaves in an item with each of its writes: a sequence, by which a retry is known to have happened, and what
//! it holds of the item's limits, so that others who give back leave room for it.
//!
//! As text: `<sequence> [<limit>:<held>:<gone> ...]`: thousandths of tokens, and in how many milliseconds after the sequence's time none
//! of them is left.

use std::fmt::Write as _;

use tidegate_core::ledger::source::Outstanding;

/// A node's last write on an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) node: u16,
    /// Microseconds since the epoch by the node's clock; never the same twice.
    pub(crate) sequence: i64,
    held: Vec<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    limit: String,
    tokens: i64,
    gone_after_ms: i64,
}

impl Writer {
    pub(crate) fn new(node: u16, sequence: i64) -> Writer {
        Writer { node, sequence, held: Vec::new() }
    }

    /// Adds what the node holds of a limit.
    pub(crate) fn holds(&mut self, limit: &str, what: Outstanding) {
        let gone_after_ms = what.gone_ms.saturating_sub(self.written_ms());
        self.held.push(Held { limit: limit.to_owned(), tokens: what.held, gone_after_ms });
    }

    /// When the node wrote, by its clock.
    pub(crate) fn written_ms(&self) -> i64 {
        self.sequence / 1000
    }

    /// What the node holds of a limit.
    pub(crate) fn outstanding(&self, limit: &str) -> Option<Outstanding> {
        let held = self.held.iter().find(|held| held.limit == limit)?;
        Some(Outstanding { held: held.tokens, gone_ms: self.written_ms().saturating_add(held.gone_after_ms) })
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = self.sequence.to_string();
        for Held { limit, tokens, gone_after_ms } in &self.held {
            // A String takes whatever is written to it.
            write!(text, " {limit}:{tokens}:{gone_after_ms}").unwrap_or_default();
        }
        text
    }

    /// Reads it; nothing if it is something else.
    pub(crate) fn parse(node: u16, text: &str) -> Option<Writer> {
        let mut words = text.split(' ');
        let mut writer = Writer::new(node, words.next()?.parse().ok()?);
        for word in words {
            let (name, numbers) = word.split_once(':')?;
            let (tokens, gone) = numbers.split_once(':')?;
            writer.held.push(Held {
                // Earlier servers told limits of our own apart.
                limit: name.trim_start_matches('~').to_owned(),
                tokens: tokens.parse().ok()?,
                gone_after_ms: gone.parse().ok()?,
            });
        }
        Some(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_comes_back_from_its_text() {
        let mut writer = Writer::new(7, 1_700_000_000_123_456);
        assert_eq!(Writer::parse(7, &writer.to_text()), Some(writer.clone()));
        let held = Outstanding { held: 50_000, gone_ms: 1_700_000_000_999 };
        writer.holds("tp_m.x-1", held);
        writer.holds("rpm", Outstanding { held: 1, gone_ms: 1_700_000_000_000 });
        assert_eq!(writer.to_text(), "1700000000123456 tp_m.x-1:50000:876 rpm:1:-123");
        assert_eq!(Writer::parse(7, &writer.to_text()), Some(writer.clone()));
        assert_eq!(Writer::parse(7, &writer.to_text().replace("rpm", "~rpm")), Some(writer.clone()));
        assert_eq!(writer.outstanding("tp_m.x-1"), Some(held));
        assert_eq!(
            (writer.outstanding("rpm").map(|held| held.held), writer.outstanding("x")),
            (Some(1), None)
        );
    }

    #[test]
    fn what_is_no_writer_is_none() {
        for text in ["", "x", "1 y", "1 a", "1 a:b", "1 a:1"] {
            assert_eq!(Writer::parse(1, text), None, "{text}");
        }
    }
}
