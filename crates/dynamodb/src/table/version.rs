//! The version of the table's layout, as others check it, and of what is ours in it.

use aws_sdk_dynamodb::types::AttributeValue;

use super::get::Freshness;
use super::handle::Table;
use crate::fault::Fault;
use crate::layout::attribute::{self, Item, number, number_of, text, text_of};
use crate::layout::key::{Key, Nsid};
use crate::layout::time;

/// The layout that zae-limiter 0.17.0 writes.
pub const SCHEMA: &str = "0.10.0";

/// The release of zae-limiter whose table is understood here.
const RELEASE: (u64, u64, u64) = (0, 17, 0);

/// The first schema whose keys are these.
const FIRST_SCHEMA: (u64, u64, u64) = (0, 10, 0);

/// The version of what is ours.
pub const OWN: u32 = 1;

/// The version of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Of the layout.
    pub schema: String,
    /// The oldest release of zae-limiter that may use it.
    pub client_min: String,
    /// Of zae-limiter's functions, if it has deployed any.
    pub lambda: Option<String>,
    /// Of what is ours; none if nothing is.
    pub own: Option<u32>,
}

impl Version {
    /// Refuses a table that is not understood.
    pub fn check(&self) -> Result<(), Fault> {
        let schema = release(&self.schema);
        if schema.is_none_or(|schema| schema.0 != 0 || schema < FIRST_SCHEMA) {
            return Err(Fault::layout(format!(
                "the table's layout has version {}, and Tidegate understands 0.10.0 to 0.x; upgrade the table with \
                 zae-limiter 0.17.0, or use another table",
                self.schema
            )));
        }
        if release(&self.client_min).is_none_or(|least| least > RELEASE) {
            return Err(Fault::layout(format!(
                "the table asks for zae-limiter {} or later, and Tidegate understands what 0.17.0 writes; use a later \
                 Tidegate, or another table",
                self.client_min
            )));
        }
        match self.own {
            None => Err(Fault::layout(
                "the table has nothing of Tidegate in it yet; prepare it with `tidegate dynamodb migrate`"
                    .to_owned(),
            )),
            Some(own) if own > OWN => Err(Fault::layout(format!(
                "a later Tidegate has written the table (version {own}; this one knows {OWN}); use that release"
            ))),
            Some(_) => Ok(()),
        }
    }
}

/// The numbers of a release: `0.17.0`.
fn release(text: &str) -> Option<(u64, u64, u64)> {
    let core = text.split(['-', '+']).next()?;
    let mut parts = core.splitn(3, '.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// The version's item, as a client of 0.17.0 makes it for a table without functions of its own.
pub(super) fn item(now_ms: u64) -> Item {
    let key = Key::version();
    let mut item = attribute::item(&key, &Nsid::reserved(), &key.pk);
    item.insert("schema_version".into(), text(SCHEMA));
    item.insert("client_min_version".into(), text("0.0.0"));
    item.insert("updated_at".into(), text(time::text(now_ms)));
    item.insert("lambda_version".into(), AttributeValue::Null(true));
    item.insert("updated_by".into(), text(concat!("tidegate:", env!("CARGO_PKG_VERSION"))));
    item
}

/// The item of our own version.
pub(super) fn own_item(now_ms: u64) -> Item {
    let key = Key::own_version();
    let mut item = attribute::item(&key, &Nsid::reserved(), &key.pk);
    item.insert("version".into(), number(OWN));
    item.insert("updated_at".into(), text(time::text(now_ms)));
    item
}

impl Table {
    /// The version of the table; none if nobody has written one.
    pub async fn version(&self) -> Result<Option<Version>, Fault> {
        let keys = [Key::version(), Key::own_version()];
        let mut items = self.get_all(&keys, Freshness::Consistent).await?;
        let own = items.remove(&keys[1]).map(|item| number_of(&item, "version").unwrap_or(u32::MAX));
        Ok(items.remove(&keys[0]).map(|item| Version {
            schema: text_of(&item, "schema_version").unwrap_or_default().to_owned(),
            client_min: text_of(&item, "client_min_version").unwrap_or("0.0.0").to_owned(),
            lambda: text_of(&item, "lambda_version").map(str::to_owned),
            own,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(schema: &str, client_min: &str, own: Option<u32>) -> Version {
        Version { schema: schema.into(), client_min: client_min.into(), lambda: None, own }
    }

    #[test]
    fn a_table_that_is_not_understood_is_refused() {
        for (schema, client_min) in [("0.10.0", "0.0.0"), ("0.99.1", "0.17.0"), ("0.10.0", "0.15.0-rc1")] {
            assert_eq!(version(schema, client_min, Some(OWN)).check(), Ok(()), "{schema} {client_min}");
        }
        let cases = [
            (version("1.0.0", "0.0.0", Some(1)), "another table"),
            (version("0.9.0", "0.0.0", Some(1)), "upgrade the table"),
            (version("later", "0.0.0", Some(1)), "another table"),
            (version("0.10.0", "0.18.0", Some(1)), "a later Tidegate"),
            (version("0.10.0", "0.0.0", None), "migrate"),
            (version("0.10.0", "0.0.0", Some(OWN + 1)), "use that release"),
        ];
        for (version, told) in cases {
            let fault = version.check().unwrap_err().to_string();
            assert!(fault.contains(told), "{version:?}: {fault}");
        }
    }

    #[test]
    fn the_item_is_as_others_write_it() {
        let expected = [
            ("PK", text("_/SYSTEM#")),
            ("SK", text("#VERSION")),
            ("schema_version", text("0.10.0")),
            ("client_min_version", text("0.0.0")),
            ("updated_at", text("1970-01-01T00:00:01Z")),
            ("lambda_version", AttributeValue::Null(true)),
            ("updated_by", text(concat!("tidegate:", env!("CARGO_PKG_VERSION")))),
            ("GSI4PK", text("_")),
            ("GSI4SK", text("_/SYSTEM#")),
        ];
        assert_eq!(item(1_000), expected.map(|(name, value)| (name.into(), value)).into());
    }
}
