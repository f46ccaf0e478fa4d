//! A bucket's first item, with what is drawn from it at once.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::layout::attribute::{Item, item, number, text};
use crate::layout::escape::escaped;
use crate::layout::expression::Expression;
use crate::layout::key::{self, index};

use super::asked::{Owner, Request};
use super::attribute::{self, Kind};
use super::image::Image;
use super::place::Place;
use super::plan::Plan;
use super::write;

/// The limit on writes that every bucket of the shared layout carries: 1,000 a second.
const WRITES: [(&str, i64); 5] =
    [("tk", 1_000_000), ("cp", 1_000_000), ("ra", 1_000_000), ("rp", 1000), ("tc", 0)];
/// How an owner without a generation of its own, and without a time of creation, is called.
const LEGACY: &str = "-";

/// What a bucket is before it has an item: full, and refilled just now.
pub(crate) fn absent(now_ms: i64, shards: i64) -> Image {
    Image { refilled_ms: now_ms.saturating_sub(1), shards: Some(shards), ..Image::default() }
}

/// The item of a bucket that was `absent`, after `plan`.
pub(crate) fn first_item(place: &Place, plan: &Plan<'_>, request: &Request<'_>, shards: i64) -> Item {
    let mut item = match &place.call {
        Some(_) => bare(place),
        None => shared(place, request, shards),
    };
    item.insert(attribute::REFILLED.into(), number(plan.refilled_ms));
    for step in &plan.rates {
        let mut put = |field: &str, n: i64| {
            item.insert(attribute::field(step.kind, step.limit, field), number(n));
        };
        put("tk", step.after.tokens);
        put("tc", step.consumed);
        if let Some(rate) = step.rate {
            put("cp", rate.capacity);
            put("ra", rate.amount);
            put("rp", rate.period_ms);
        }
    }
    for step in plan.caps.iter().filter(|step| step.change != 0) {
        item.insert(attribute::field(Kind::Cap, step.limit, "if"), number(step.change));
        item.insert(attribute::field(Kind::Cap, step.limit, "cp"), number(step.most));
        item.insert(attribute::field(Kind::Cap, step.limit, &step.holder_field), number(step.held.1));
    }
    if let Some(at) = write::lives_until(plan, request) {
        item.insert(attribute::EXPIRES.into(), number(at));
    }
    item.insert(attribute::writer(request.me.node), text(write::signature(plan, request).to_text()));
    item
}

/// An item that only this project reads.
fn bare(place: &Place) -> Item {
    item(&place.key(), &place.ns, &index::space_bucket(&place.entity, &place.resource, place.shard))
}

/// An item of the shared layout.
fn shared(place: &Place, request: &Request<'_>, shards: i64) -> Item {
    let Place { ns, entity, resource, shard, .. } = place;
    let mut item = bare(place);
    let texts = [
        ("entity_id", escaped(entity)),
        ("resource", resource.clone()),
        ("GSI2PK", key::resource_pk(ns, resource)),
        ("GSI2SK", index::resource_bucket(entity, *shard)),
        ("GSI3PK", key::entity_pk(ns, entity)),
        ("GSI3SK", index::entity_bucket(resource, *shard)),
    ];
    item.extend(texts.map(|(name, value)| (name.to_owned(), text(value))));
    item.insert(attribute::SHARDS.into(), number(shards));
    item.insert(attribute::CASCADE.into(), AttributeValue::Bool(request.cascade));
    item.extend(WRITES.map(|(field, n)| (attribute::field(Kind::Hard, attribute::WRITES, field), number(n))));
    if let Some(owner) = request.owner.filter(|owner| owner.exists) {
        item.insert(attribute::GENERATION.into(), number(owner.generation));
        item.insert(attribute::INCARNATION.into(), text(&*owner.incarnation));
        if let Some(parent) = &owner.parent {
            item.insert(attribute::PARENT.into(), text(&**parent));
        }
    }
    item
}

/// The owner of a bucket, by its record.
pub(crate) fn owner_of(record: Option<&Item>) -> Owner {
    use crate::layout::attribute::{number_of, text_of};
    let Some(record) = record else { return Owner::default() };
    let named = |attribute| text_of(record, attribute).filter(|text| !text.is_empty());
    Owner {
        exists: true,
        parent: named(attribute::PARENT).map(str::to_owned),
        generation: number_of(record, attribute::GENERATION).unwrap_or(0),
        // Records of older clients have no incarnation; one that is made anew has another time.
        incarnation: named(attribute::INCARNATION).or(named("created_at")).unwrap_or(LEGACY).to_owned(),
    }
}

/// That the owner's record still says what was read: else it was moved, or made anew, and the item's stamps would be wrong.
pub(crate) fn owner_unchanged(owner: &Owner) -> Expression {
    let mut check = Expression::new();
    if !owner.exists {
        check.require_absent("PK");
        return check;
    }
    check.require_present("PK");
    let generation = check.name(attribute::GENERATION);
    let read = check.value(number(owner.generation));
    check.require(match owner.generation {
        0 => format!("attribute_not_exists({generation}) OR {generation} = {read}"),
        _ => format!("{generation} = {read}"),
    });
    let (incarnation, created) = (check.name(attribute::INCARNATION), check.name("created_at"));
    let read = check.value(text(&*owner.incarnation));
    let legacy = match owner.incarnation == LEGACY {
        true => format!("({created} = {read} OR attribute_not_exists({created}))"),
        false => format!("{created} = {read}"),
    };
    check.require(format!("{incarnation} = {read} OR (attribute_not_exists({incarnation}) AND {legacy})"));
    check
}
