//! Names of the attributes of a bucket item.
//!
//! `b_`, `rf`, `shard_count`, `ttl` and what else is plain here belong to the shared layout. `w_` (a node's last write), `c_`
//! (caps), `s_` (limits that others could not read), `a_` (limits that are not set any more) and the field `rr` (what a refill left over) are this project's; other clients of the table do not look at them.

/// When the item was last refilled, in milliseconds.
pub(crate) const REFILLED: &str = "rf";
/// Into how many items the bucket is split.
pub(crate) const SHARDS: &str = "shard_count";
/// When the item may be deleted, in seconds.
pub(crate) const EXPIRES: &str = "ttl";
/// Until when its level was worked out, where schedules are used; 0 asks for a pass that trims it.
pub(crate) const VALID_UNTIL: &str = "vu";
/// Nobody may take from it.
pub(crate) const DISABLED: &str = "disabled";
/// Whether the parent is charged, too.
pub(crate) const CASCADE: &str = "cascade";
/// Who the parent is.
pub(crate) const PARENT: &str = "parent_id";
/// How often the owner was moved.
pub(crate) const GENERATION: &str = "pgen";
/// Which of several owners of the same name it belongs to.
pub(crate) const INCARNATION: &str = "pinc";
/// The limit on writes that every bucket of the shared layout carries.
pub(crate) const WRITES: &str = "wcu";
/// The fields of a rate.
pub(crate) const FIELDS: [&str; 6] = ["tk", "cp", "ra", "rp", "tc", "rr"];

/// Of what kind the limit of an attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A rate that other clients see.
    Hard,
    /// A rate that other clients do not see: it is soft, or its name or size is none of theirs.
    Own,
    /// A rate that is not set any more: what it has, should it come back.
    Aside,
    /// A cap on what is in flight.
    Cap,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Kind::Hard => "b_",
            Kind::Own => "s_",
            Kind::Aside => "a_",
            Kind::Cap => "c_",
        }
    }
}

/// The attribute of a limit's field, such as `b_rpm_tk`.
pub(crate) fn field(kind: Kind, limit: &str, field: &str) -> String {
    format!("{}{limit}_{field}", kind.prefix())
}

/// What an attribute is about: the kind, the limit's name, the field. Fields have no underscore, so the last one parts them.
pub(crate) fn parse(attribute: &str) -> Option<(Kind, &str, &str)> {
    [Kind::Hard, Kind::Own, Kind::Aside, Kind::Cap].into_iter().find_map(|kind| {
        let (limit, field) = attribute.strip_prefix(kind.prefix())?.rsplit_once('_')?;
        (!limit.is_empty()).then_some((kind, limit, field))
    })
}

/// Where a node writes the sequence of its last write.
pub(crate) fn writer(node: u16) -> String {
    format!("w_{node}")
}

/// Which node an attribute is the last write of.
pub(crate) fn parse_writer(attribute: &str) -> Option<u16> {
    attribute.strip_prefix("w_")?.parse().ok()
}

/// A node in one of its lives. What an earlier life held is not held any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holder {
    /// Its number.
    pub node: u16,
    /// How often the number had been claimed.
    pub life: u64,
}

impl Holder {
    /// The field of a cap that says how many of its slots this holder has.
    pub(crate) fn field(&self) -> String {
        format!("h{}.{}", self.node, self.life)
    }

    pub(crate) fn parse(field: &str) -> Option<Holder> {
        let (node, life) = field.strip_prefix('h')?.split_once('.')?;
        Some(Holder { node: node.parse().ok()?, life: life.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_underscores_come_back_whole() {
        for kind in [Kind::Hard, Kind::Own, Kind::Aside, Kind::Cap] {
            for limit in ["rpm", "a_b", "x_tk", "a.b-c"] {
                let attribute = field(kind, limit, "tk");
                assert_eq!(parse(&attribute), Some((kind, limit, "tk")));
            }
        }
        assert_eq!((parse("ttl"), parse("b__tk"), parse("b_tk")), (None, None, None));
    }

    #[test]
    fn holders_and_writers_come_back() {
        let holder = Holder { node: 1023, life: 7 };
        assert_eq!(Holder::parse(&holder.field()), Some(holder));
        assert_eq!((Holder::parse("if"), Holder::parse("h1")), (None, None));
        assert_eq!((parse_writer(&writer(5)), parse_writer("w_tpm_cp")), (Some(5), None));
    }
}
