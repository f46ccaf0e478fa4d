//! All that is set in a namespace, in the form of a manifest.

use serde_json::{Map, Value, json};

use crate::ledger::Ledger;
use crate::plan::settings_value;
use crate::refused::shown;
use crate::settings::Scope;
use crate::space::SpaceId;

impl Ledger {
    /// All that is set in a namespace, and all entities, in the form of a manifest.
    pub fn export(&self, space: SpaceId) -> Value {
        let (mut system, mut resources, mut entities) = (json!({}), Map::new(), Map::new());
        for entity in self.entities(space, None, usize::MAX) {
            let Value::Object(mut fields) = entity.to_value() else { continue };
            for kept_elsewhere in ["id", "version", "created_at_ms", "updated_at_ms"] {
                fields.remove(kept_elsewhere);
            }
            entities.insert(entity.id.clone(), Value::Object(fields));
        }
        for (scope, settings) in self.scopes(space) {
            let value = settings_value(&settings);
            match scope {
                Scope::System => system = value,
                Scope::Resource(resource) => {
                    resources.insert(resource, value);
                }
                Scope::Entity(entity, resource) => {
                    let entity = entities.entry(shown(&entity)).or_insert_with(|| json!({}));
                    entity["limits"][resource] = value;
                }
            }
        }
        json!({ "system": system, "resources": resources, "entities": entities })
    }
}
