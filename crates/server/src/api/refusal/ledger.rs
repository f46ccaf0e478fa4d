//! What is refused of entities, limits and leases, and how the ledger's own refusals are told.

use std::fmt::Display;

use tidegate_ledger::Refused;

use super::queue::shown;
use super::{Code, Refusal};

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let (code, hint) = reason(&refused);
        Refusal::new(code, refused.to_string(), hint)
    }
}

/// The code of what the ledger refuses, and the next step.
pub(super) fn reason(refused: &Refused) -> (Code, &'static str) {
    match refused {
        Refused::NoLimits { .. } => (
            Code::NoLimits,
            "set limits for the entity, the resource or the system, or send them with the call",
        ),
        Refused::UnknownLimit { .. } => (Code::UnknownLimit, "name limits as `resolve` shows them"),
        Refused::Unsupported { .. } => (Code::UnsupportedLimit, UNSUPPORTED_HINT),
        Refused::NamespaceDeleted(_) => (Code::NamespaceDeleted, DELETED_HINT),
        Refused::NeverPasses { .. } => (Code::NeverPasses, "charge less, or raise the burst of the limit"),
        Refused::Disabled { .. } => (Code::Disabled, "take `mode` off its scope to let it pass again"),
        Refused::EntityNotFound(_) => (Code::EntityNotFound, "create it first, or list the entities"),
        Refused::EntityExists(_) => (Code::EntityExists, "update it, or choose another id"),
        Refused::ParentNotFound(_) => (Code::ParentNotFound, "create the parent first"),
        Refused::Cycle { .. } => (Code::Cycle, "choose a parent that does not descend from the entity"),
        Refused::TooDeep { .. } => (Code::TooDeep, "choose a parent with fewer ancestors"),
        Refused::HasChildren(_) => (Code::HasChildren, "move or delete its children first"),
        Refused::VersionMismatch { .. } => {
            (Code::VersionMismatch, "read the entity again, and send the version that it has now")
        }
        Refused::InvalidName(_) => (Code::InvalidName, "choose a name that follows the rule"),
        Refused::InvalidTerms(_) => (Code::InvalidLimit, LIMIT_HINT),
        Refused::TooManyLimits { .. } => (Code::InvalidLimit, "set fewer limits at one level"),
        Refused::InvalidSetting(_) => (Code::InvalidSettings, "leave it out, or set it where it belongs"),
        Refused::LeaseNotFound(_) => (
            Code::LeaseNotFound,
            "acquire again; with a longer ttl, or extended in time, a lease lasts longer",
        ),
        Refused::NotLeased { .. } => (Code::UnknownLimit, "name limits that the lease holds"),
        Refused::LeaseRequired { .. } => (Code::LeaseRequired, "acquire with a lease, and settle it"),
        Refused::InvalidTtl { .. } => {
            (Code::InvalidRequest, "ask for less, or raise ledger.max_lease_ttl_ms")
        }
        Refused::TooManyCharges { .. } => (Code::TooManyCharges, "charge less at once"),
        Refused::TooManyNames { .. } => (Code::TooManyNames, "use fewer names of resources and limits"),
        Refused::TooManySpaces { .. } => (Code::TooManyNames, "use fewer namespaces, or purge some"),
        Refused::TooManyOperations => (Code::TooManyNames, "leave the key out, or retry later"),
        Refused::InvalidIdempotencyKey => (Code::InvalidRequest, "send such a key, or none"),
        Refused::Unavailable => (
            Code::StoreUnavailable,
            "check the server's log, and its disk or its table; `on_unavailable: allow` lets calls pass meanwhile",
        ),
        Refused::NoSuchLevel(_) => (Code::ScopeNotFound, "set something there first"),
    }
}

const UNSUPPORTED_HINT: &str = "use it through the library that has set it, or set plain limits in its place";

const DELETED_HINT: &str = "recover it first, or use another one";

const LIMIT_HINT: &str = "a limit reads like tpm=10000/minute, tpm=10000/minute,burst=20000 or inflight=8";

impl Refusal {
    /// A negative amount.
    pub fn invalid_amount(limit: &str, amount: i64) -> Refusal {
        let message = format!("the amount of `{}` must be 0 or more, not {amount}", shown(limit.as_bytes()));
        Refusal::new(Code::InvalidAmount, message, "send what is taken as a whole number; 0 takes nothing")
    }

    /// A word that is none of those that a field takes.
    pub fn invalid_word(field: &str, word: &[u8], words: &'static str) -> Refusal {
        let message = format!("{field} cannot be '{}'", shown(word));
        Refusal::new(Code::InvalidRequest, message, format!("send {words}"))
    }

    /// A time that is none.
    pub fn invalid_time(what: &str, ms: i64) -> Refusal {
        let message = format!("{what} cannot be {ms} ms");
        Refusal::new(Code::InvalidRequest, message, "send a whole number of milliseconds from now on")
    }

    /// A limit that cannot be, as it was told.
    pub fn invalid_limit_of(told: &str, error: impl Display) -> Refusal {
        let (told, error) = (shown(told.as_bytes()), error.to_string());
        let message = if error.contains(&told) { error } else { format!("`{told}`: {error}") };
        Refusal::new(Code::InvalidLimit, message, LIMIT_HINT)
    }

    /// The name of a resource or a limit that is no text.
    pub fn no_name(what: &str, name: &[u8]) -> Refusal {
        let message = format!("'{}' names no {what}", shown(name));
        Refusal::new(Code::InvalidName, message, "choose a name that follows the rule")
    }

    /// The id of a lease that is none.
    pub fn invalid_lease(id: &[u8]) -> Refusal {
        let message = format!("'{}' is no lease", shown(id));
        let hint = "send its id back as it came: 16 hexadecimal digits";
        Refusal::new(Code::LeaseNotFound, message, hint)
    }

    /// Something in the table that is not understood here, and so not changed either.
    pub fn unsupported_in_table(what: &str) -> Refusal {
        let message = format!("the table holds what Tidegate does not enforce: {what}");
        Refusal::new(Code::UnsupportedLimit, message, UNSUPPORTED_HINT)
    }

    /// A lease of another server that cannot be asked.
    pub fn lease_elsewhere(lease: impl Display, why: impl Display) -> Refusal {
        let message = format!("lease `{lease}` was acquired at another server{why}");
        let hint =
            "ask the server that has granted it; with `ledger.advertise` set there, any server will do";
        Refusal::new(Code::LeaseElsewhere, message, hint)
    }

    /// The id of a message that is none.
    pub fn invalid_message_id(id: &[u8]) -> Refusal {
        let message = format!("'{}' is no id of a message", shown(id));
        Refusal::new(Code::MessageNotFound, message, "send it as ENQUEUE answered: 16 hexadecimal digits")
    }

    /// Whoever names it does not get in.
    pub fn namespace_deleted(name: &str) -> Refusal {
        let message = format!("the namespace `{name}` is deleted");
        Refusal::new(Code::NamespaceDeleted, message, DELETED_HINT)
    }

    /// A manifest that cannot be.
    pub fn invalid_manifest(message: impl Display) -> Refusal {
        let hint = r#"send {"system":{"limits":[..]},"resources":{..},"entities":{..}}, as export shows it"#;
        Refusal::new(Code::InvalidManifest, message.to_string(), hint)
    }

    /// What was used or changed, which the disk does not give back.
    pub fn history_fault(error: &dyn Display) -> Refusal {
        let message = format!("what was recorded cannot be read: {error}");
        Refusal::new(Code::StorageFault, message, "check the server's disk and log")
    }
}
