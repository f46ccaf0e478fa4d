//! Where limits are set, and what else is set there, as flags.

use clap::ValueEnum;
use serde_json::Value;
use tidegate_client::{OnExpiry, OnUnavailable, Scope};

use crate::cli::acquire::{Expiry, Unavailable};
use crate::cli::millis;

/// One place.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where")]
#[group(id = "where", required = true, multiple = true)]
pub struct ScopeFlags {
    /// Everybody, on every resource.
    #[arg(long, conflicts_with_all = ["entity", "resource"])]
    system: bool,
    /// An entity, on the resource that is named, or on any.
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// A resource, for the entity that is named, or for everybody.
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
}

impl ScopeFlags {
    /// The place.
    pub fn scope(&self) -> Scope {
        match (&self.entity, &self.resource) {
            (Some(entity), Some(resource)) => Scope::entity_on(entity, resource),
            (Some(entity), None) => Scope::entity(entity),
            (None, Some(resource)) => Scope::resource(resource),
            (None, None) => Scope::System,
        }
    }
}

/// What else is set there.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsFlags {
    /// Whether limits are kept at all.
    #[arg(long, value_name = "WORD", value_enum)]
    mode: Option<ModeWord>,
    /// Whether parents are charged too; `none` leaves it to the next level.
    #[arg(long, value_name = "BOOL", value_enum)]
    cascade: Option<CascadeWord>,
    /// What is answered while the server cannot write down what is taken; of the system.
    #[arg(long, value_name = "WORD", value_enum)]
    on_unavailable: Option<Unavailable>,
    /// What becomes of a lease's tokens when it expires; of the system.
    #[arg(long, value_name = "WORD", value_enum)]
    on_expiry: Option<Expiry>,
    /// How long a lease lasts unless it says; of the system.
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    lease_ttl: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeWord {
    /// Everything is refused.
    Disabled,
    /// Everything is granted; nothing is taken, usage is counted.
    Bypass,
    /// They are.
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CascadeWord {
    True,
    False,
    None,
}

impl SettingsFlags {
    /// What is said, by name.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let mode = self.mode.map(|mode| match mode {
            ModeWord::Disabled => "disabled".into(),
            ModeWord::Bypass => "bypass".into(),
            ModeWord::None => Value::Null,
        });
        let cascade = self.cascade.map(|cascade| match cascade {
            CascadeWord::True => true.into(),
            CascadeWord::False => false.into(),
            CascadeWord::None => Value::Null,
        });
        let said = [
            ("mode", mode),
            ("cascade", cascade),
            ("on_unavailable", self.on_unavailable.map(|word| OnUnavailable::from(word).as_str().into())),
            ("on_expiry", self.on_expiry.map(|word| OnExpiry::from(word).as_str().into())),
            ("lease_ttl_ms", self.lease_ttl.map(Value::from)),
        ];
        said.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
