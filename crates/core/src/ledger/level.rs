//! Where a limit was set. The first level that has limits wins whole.

/// The levels, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// In the call itself.
    Call,
    /// On the entity, for the resource.
    Entity,
    /// On the entity, for whatever resource.
    EntityDefault,
    /// On the resource.
    Resource,
    /// On the namespace.
    System,
    /// In the configuration file.
    Config,
}

impl Level {
    /// As callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Call => "call",
            Level::Entity => "entity",
            Level::EntityDefault => "entity_default",
            Level::Resource => "resource",
            Level::System => "system",
            Level::Config => "config",
        }
    }
}
