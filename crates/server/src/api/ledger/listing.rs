//! The JSON documents that tell of entities and of what is set: made here, whatever store they come out of.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tidegate_ledger::json::term_to_value;
use tidegate_ledger::{Capacity, Entity, Resolution};

use super::document::lossy;
use super::request::Target;
use crate::api::queue::document::write;

/// Entities, and where to go on.
pub fn entities(entities: &[Arc<Entity>], max: usize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Entities<'a> {
        entities: Vec<&'a Entity>,
        next: Option<&'a str>,
    }
    let next = entities.last().filter(|_| entities.len() >= max).map(|entity| entity.id.as_str());
    write(&Entities { entities: entities.iter().map(|entity| &**entity).collect(), next })
}

/// What applies to an entity on a resource.
pub fn resolution(target: &Target, resolution: &Resolution) -> Vec<u8> {
    let Resolution { level, terms, mode, cascade, parents } = resolution;
    let limits = |terms: &[_]| terms.iter().map(term_to_value).collect::<Vec<Value>>();
    let parent = |above: &tidegate_ledger::Above| {
        json!({
            "entity": lossy(&above.entity),
            "level": above.level.map(|level| level.as_str()),
            "limits": limits(&above.terms),
            "mode": above.mode,
        })
    };
    write(&json!({
        "entity": lossy(&target.entity),
        "resource": target.resource,
        "level": level.map(|level| level.as_str()),
        "limits": limits(terms),
        "mode": mode,
        "cascade": cascade,
        "parents": parents.iter().map(parent).collect::<Vec<Value>>(),
    }))
}

/// Entities with limits of their own, and where to go on.
pub fn custom<E: AsRef<[u8]>, R: Serialize>(found: &[(E, R)], max: usize) -> Vec<u8> {
    let told: Vec<Value> = found
        .iter()
        .map(|(entity, resource)| json!({"entity": lossy(entity.as_ref()), "resource": resource}))
        .collect();
    let next = told.last().filter(|_| told.len() >= max).cloned();
    write(&json!({"custom": told, "next": next}))
}

/// What is left of a resource over all entities.
pub fn capacity(resource: &str, limits: &[Capacity]) -> Vec<u8> {
    let told = |capacity: &Capacity| {
        json!({
            "limit": capacity.limit,
            "kind": capacity.kind.as_str(),
            "capacity": u64::try_from(capacity.capacity).unwrap_or(u64::MAX),
            "available": capacity.available.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            "entities": capacity.entities,
        })
    };
    write(&json!({"resource": resource, "limits": limits.iter().map(told).collect::<Vec<Value>>()}))
}
