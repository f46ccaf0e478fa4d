//! A ledger with one namespace, and short ways to ask it.

use serde_json::json;
use tidegate_ledger::{
    Acquire, Acquired, Charge, Denied, Edit, EntityPatch, Granted, Ledger, Options, Refused, Scope,
    ScopePatch, SpaceId,
};

pub const SECOND: u64 = 1_000_000_000;
pub const MINUTE: u64 = 60 * SECOND;
/// The beginning of a minute.
pub const START: u64 = 1_700_000_040 * SECOND;

pub struct World {
    pub ledger: Ledger,
    pub space: SpaceId,
    pub now: u64,
}

impl World {
    pub fn new() -> World {
        let ledger = Ledger::new(Options::default());
        let space = ledger.space("default").unwrap();
        World { ledger, space, now: START }
    }

    pub fn edit(&self, edit: Edit) -> Result<(), Refused> {
        let plan = self.ledger.plan(self.space, &edit, self.now)?;
        self.ledger.apply(&plan.kept, self.now)
    }

    pub fn set(&self, scope: Scope, json: serde_json::Value) {
        let patch: ScopePatch = serde_json::from_value(json).unwrap();
        self.edit(Edit::SetScope { scope, patch }).unwrap();
    }

    pub fn limit(&self, scope: Scope, limits: &[&str]) {
        self.set(scope, json!({ "limits": limits }));
    }

    pub fn create(&self, id: &str, json: serde_json::Value) {
        let patch: EntityPatch = serde_json::from_value(json).unwrap();
        self.edit(Edit::CreateEntity { id: id.into(), patch }).unwrap();
    }

    pub fn acquire(&self, entity: &str, resource: &str, cost: &[(&str, u64)]) -> Result<Acquired, Refused> {
        let charges = [Charge { entity: entity.as_bytes(), resource, cost }];
        self.ledger.acquire(&Acquire::new(self.space, &charges), self.now)
    }

    pub fn granted(&self, entity: &str, resource: &str, cost: &[(&str, u64)]) -> Granted {
        match self.acquire(entity, resource, cost) {
            Ok(Acquired::Granted(granted)) => granted,
            other => panic!("not granted: {other:?}"),
        }
    }

    pub fn denied(&self, entity: &str, resource: &str, cost: &[(&str, u64)]) -> Denied {
        match self.acquire(entity, resource, cost) {
            Ok(Acquired::Denied(denied)) => denied,
            other => panic!("not denied: {other:?}"),
        }
    }

    pub fn refused(&self, entity: &str, resource: &str, cost: &[(&str, u64)]) -> Refused {
        self.acquire(entity, resource, cost).unwrap_err()
    }

    /// What is left of a limit.
    pub fn left(&self, entity: &str, resource: &str, limit: &str) -> i64 {
        let cost = [(limit, 0)];
        let charges = [Charge { entity: entity.as_bytes(), resource, cost: &cost }];
        let checked = self.ledger.check(&Acquire::new(self.space, &charges), self.now).unwrap();
        let status = |status: &&tidegate_ledger::Status| {
            *status.limit == *limit && *status.entity == *entity.as_bytes()
        };
        checked.statuses.iter().find(status).unwrap().available
    }
}

pub fn resource(name: &str) -> Scope {
    Scope::Resource(name.into())
}

pub fn entity(id: &str, resource: &str) -> Scope {
    Scope::Entity(id.as_bytes().to_vec(), resource.into())
}
