//! The manifest that was applied last.

use crate::fault::Fault;
use crate::layout::attribute::{self, text, text_of};
use crate::layout::expression::Expression;
use crate::layout::key::{Key, Nsid};
use crate::layout::time;
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::transact::Write;

/// An item has at most 400 KB; its names and other attributes need some.
const MAX_BYTES: usize = 390_000;

/// The write that keeps it.
pub(super) fn write(ns: &Nsid, json: &[u8], now_ms: u64) -> Result<Write, Fault> {
    let json = std::str::from_utf8(json).map_err(|_| Fault::Bug("a manifest is no text".into()))?;
    if json.len() > MAX_BYTES {
        return Err(Fault::layout(format!(
            "the manifest has {} bytes, and the table takes at most {MAX_BYTES}; split it, or set what is rare directly",
            json.len()
        )));
    }
    let key = Key::manifest(ns);
    let mut item = attribute::item(&key, ns, &key.pk);
    item.insert("json".into(), text(json));
    item.insert("updated_at".into(), text(time::text(now_ms)));
    Ok(Write::Put(item, Expression::new()))
}

impl Table {
    /// The manifest that was applied last.
    pub async fn manifest(&self, ns: &Nsid) -> Result<Option<Vec<u8>>, Fault> {
        let item = self.get(&Key::manifest(ns), Freshness::Consistent).await?;
        Ok(item.and_then(|item| text_of(&item, "json").map(|json| json.as_bytes().to_vec())))
    }
}
