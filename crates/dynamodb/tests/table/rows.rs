//! Reading and changing rows.

use crate::setup::{NOW_MS, Setup, with_space};
use serde_json::json;
use tidegate_dynamodb::config::{Account, Row, Seen, SeenValue};
use tidegate_dynamodb::layout::attribute::{Item, number, text, text_of};
use tidegate_dynamodb::layout::expression::Expression;
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::{Fault, Freshness, Nsid};
use tidegate_ledger::{Entity, Kept, Scope, ScopeSettings};

pub fn entity(id: &str, parent: Option<&str>, version: u64) -> Entity {
    serde_json::from_value(json!({
        "id": id, "parent": parent, "version": version, "created_at_ms": NOW_MS, "updated_at_ms": NOW_MS
    }))
    .unwrap()
}

pub fn kept(entity: &Entity) -> Kept {
    let json = serde_json::to_vec(entity).ok();
    Kept::Entity { space: "default".into(), id: entity.id.clone().into_bytes(), json }
}

pub fn set(scope: &Scope, value: Option<serde_json::Value>) -> Kept {
    let json = value.map(|value| value.to_string().into_bytes());
    Kept::Scope { space: "default".into(), key: scope.to_bytes(), json }
}

pub fn on(entity: &str, resource: &str) -> Scope {
    Scope::Entity(entity.as_bytes().to_vec(), resource.into())
}

/// Reads the rows that are changed, and changes them.
pub async fn change(setup: &Setup, ns: &Nsid, rows: &[Kept]) -> Result<usize, Fault> {
    let seen = seen(setup, ns, rows).await;
    let committed = setup.table.commit(ns, rows, &seen, None, NOW_MS).await?;
    assert_eq!(committed.untold, None);
    Ok(committed.parts)
}

async fn seen(setup: &Setup, ns: &Nsid, rows: &[Kept]) -> Vec<Seen> {
    let rows: Vec<Row> = rows.iter().filter_map(Row::of).collect();
    setup.table.read(ns, &rows).await.unwrap()
}

fn settings(value: serde_json::Value) -> Option<ScopeSettings> {
    Some(serde_json::from_value(value).unwrap())
}

async fn registry(setup: &Setup, key: Key) -> Item {
    setup.table.get(&key, Freshness::Consistent).await.unwrap().unwrap_or_default()
}

#[tokio::test]
async fn rows_are_kept_changed_and_loaded() {
    let (setup, ns) = with_space().await;
    let (acme, key) = (entity("acme", None, 1), entity("k/1", Some("acme"), 1));
    let rows = [
        kept(&acme),
        kept(&key),
        set(&Scope::System, Some(json!({"limits": ["rpm=1/second"], "on_unavailable": "allow"}))),
        set(&Scope::Resource("gpt-4".into()), Some(json!({"limits": ["rpm=2/second"]}))),
        set(&on("k/1", "_default_"), Some(json!({"limits": ["rpm=3/second"], "cascade": true}))),
        set(&on("k/1", "gpt-4"), Some(json!({"limits": ["rpm=4/second", "tpm=7/250ms", "n=8"]}))),
    ];
    assert_eq!(change(&setup, &ns, &rows).await.unwrap(), 1);
    let account = |entity: &str, resource: &str| Account {
        ns: ns.clone(),
        entity: entity.as_bytes().to_vec(),
        resource: resource.into(),
    };
    setup.proxy.forget_calls();
    let accounts = [account("k/1", "gpt-4"), account("acme", "_default_"), account("nobody", "gpt-4")];
    let found = setup.table.load(&accounts, Freshness::Eventual).await.unwrap();
    assert_eq!(setup.proxy.counts(), [("BatchGetItem".to_owned(), 1)].into());
    let first = &found[0].loaded;
    assert_eq!(first.entity, Some(key));
    assert_eq!(first.exact, settings(json!({"limits": ["rpm=4/second", "tpm=7/250ms", "n=8"]})));
    assert_eq!(first.default, settings(json!({"limits": ["rpm=3/second"], "cascade": true})));
    assert_eq!(first.resource, settings(json!({"limits": ["rpm=2/second"]})));
    assert_eq!(first.system, settings(json!({"limits": ["rpm=1/second"], "on_unavailable": "allow"})));
    assert_eq!(first.unsupported, None);
    assert_eq!((&found[1].loaded.entity, &found[1].loaded.exact), (&Some(acme), &None));
    assert_eq!((&found[2].loaded.entity, found[2].loaded.resource.is_some()), (&None, true));

    let rows = [
        set(&on("k/1", "gpt-4"), Some(json!({"limits": ["rpm=5/second"]}))),
        set(&Scope::Resource("gpt-4".into()), None),
        set(&Scope::System, None),
    ];
    change(&setup, &ns, &rows).await.unwrap();
    let found = setup.table.load(&accounts[..1], Freshness::Consistent).await.unwrap();
    assert_eq!(found[0].loaded.exact, settings(json!({"limits": ["rpm=5/second"]})));
    assert_eq!((&found[0].loaded.resource, &found[0].loaded.system), (&None, &None));
}

#[tokio::test]
async fn registries_follow_what_is_set() {
    let (setup, ns) = with_space().await;
    let gpt4 = Scope::Resource("gpt-4".into());
    let limits = || Some(json!({"limits": ["rpm=1/second"]}));
    let rows = [set(&on("a", "gpt-4"), limits()), set(&on("b", "gpt-4"), limits()), set(&gpt4, limits())];
    change(&setup, &ns, &rows).await.unwrap();
    // Setting it again changes no count.
    change(&setup, &ns, &rows).await.unwrap();
    assert_eq!(registry(&setup, Key::entity_config_resources(&ns)).await["gpt-4"], number(2));
    assert_eq!(registry(&setup, Key::resources(&ns)).await["resources"].as_ss().unwrap(), &["gpt-4"]);
    change(&setup, &ns, &[set(&on("a", "gpt-4"), None), set(&gpt4, None)]).await.unwrap();
    assert_eq!(registry(&setup, Key::entity_config_resources(&ns)).await["gpt-4"], number(1));
    assert!(!registry(&setup, Key::resources(&ns)).await.contains_key("resources"));
    change(&setup, &ns, &[set(&on("b", "gpt-4"), None)]).await.unwrap();
    assert!(!registry(&setup, Key::entity_config_resources(&ns)).await.contains_key("gpt-4"));
    let both = [set(&gpt4, limits()), set(&Scope::Resource("old".into()), limits())];
    change(&setup, &ns, &both).await.unwrap();
    let both = [set(&Scope::Resource("new".into()), limits()), set(&Scope::Resource("old".into()), None)];
    change(&setup, &ns, &both).await.unwrap();
    let mut names = registry(&setup, Key::resources(&ns)).await["resources"].as_ss().unwrap().clone();
    names.sort_unstable();
    assert_eq!(names, ["gpt-4", "new"]);
}

#[tokio::test]
async fn nothing_is_changed_that_was_changed_since() {
    let (setup, ns) = with_space().await;
    let acme = entity("acme", None, 1);
    change(&setup, &ns, &[kept(&acme)]).await.unwrap();
    let gpt4 = set(&on("acme", "gpt-4"), Some(json!({"limits": ["rpm=1/second"]})));
    let rows = [kept(&Entity { version: 2, ..acme.clone() }), gpt4.clone()];
    let stale = seen(&setup, &ns, &rows).await;
    change(&setup, &ns, &[kept(&Entity { version: 2, weight: Some(5), ..acme.clone() })]).await.unwrap();
    let refused = setup.table.commit(&ns, &rows, &stale, None, NOW_MS).await.unwrap_err();
    assert!(matches!(&refused, Fault::Conflict(what) if what.contains("entity `acme`")), "{refused}");
    // All or none: the settings were not written either.
    let seen_now = seen(&setup, &ns, &rows).await;
    assert_eq!(seen_now[1].value, SeenValue::Scope(None));

    // Somebody else's client sets limits, without a word of it in the version.
    change(&setup, &ns, std::slice::from_ref(&gpt4)).await.unwrap();
    let stale = seen(&setup, &ns, std::slice::from_ref(&gpt4)).await;
    let mut theirs = Expression::new();
    theirs.set("l_rpm_cp", number(9));
    setup.table.update(&Key::entity_config(&ns, b"acme", "gpt-4"), &theirs).await.unwrap();
    let refused = setup.table.commit(&ns, &[gpt4], &stale, None, NOW_MS).await.unwrap_err();
    assert!(matches!(refused, Fault::Conflict(_)), "{refused}");
}

#[tokio::test]
async fn an_answer_that_was_lost_makes_no_conflict() {
    let (setup, ns) = with_space().await;
    setup.proxy.forget_calls();
    setup.proxy.once("TransactWriteItems", tidegate_emulator::Fault::Lost);
    change(&setup, &ns, &[kept(&entity("acme", None, 1))]).await.unwrap();
    let calls = setup.proxy.calls();
    let tokens: Vec<_> = calls.iter().filter_map(|call| call.body.get("ClientRequestToken")).collect();
    assert!(tokens.len() > 1 && tokens.iter().all(|token| token == &tokens[0]), "{calls:?}");
}

#[tokio::test]
async fn a_large_change_is_made_in_parts_that_are_whole() {
    let (setup, ns) = with_space().await;
    let mut rows = Vec::new();
    for at in 0..120 {
        rows.push(kept(&entity(&format!("e{at:03}"), None, 1)));
        rows.push(set(&on(&format!("e{at:03}"), "gpt-4"), Some(json!({"limits": ["rpm=1/second"]}))));
    }
    let seen = seen(&setup, &ns, &rows).await;
    let committed = setup.table.commit(&ns, &rows, &seen, Some(b"{\"x\":1}"), NOW_MS).await.unwrap();
    assert_eq!(committed.parts, 3);
    assert_eq!(setup.table.manifest(&ns).await.unwrap().unwrap(), b"{\"x\":1}");
    assert_eq!(setup.table.entities(&ns, None, 1_000).await.unwrap().items.len(), 120);
    assert_eq!(registry(&setup, Key::entity_config_resources(&ns)).await["gpt-4"], number(120));
}

#[tokio::test]
async fn what_is_not_understood_is_told_and_stays_as_it_is() {
    let (setup, ns) = with_space().await;
    let gpt4 = Scope::Resource("gpt-4".into());
    change(&setup, &ns, &[set(&gpt4, Some(json!({"limits": ["rpm=1/second"]})))]).await.unwrap();
    let key = Key::resource_config(&ns, "gpt-4");
    let mut theirs = Expression::new();
    theirs.set("l_rpm_sched", text("1|0 9 * * *|s0.5"));
    setup.table.update(&key, &theirs).await.unwrap();
    let account = Account { ns: ns.clone(), entity: b"acme".to_vec(), resource: "gpt-4".into() };
    let found = setup.table.load(&[account], Freshness::Consistent).await.unwrap();
    assert!(found[0].loaded.unsupported.as_ref().unwrap().contains("`rpm` has a schedule"));
    let refused =
        change(&setup, &ns, &[set(&gpt4, Some(json!({"limits": ["rpm=9/second"]})))]).await.unwrap_err();
    assert!(refused.to_string().contains("zae-limiter"), "{refused}");
    let item = setup.table.get(&key, Freshness::Consistent).await.unwrap().unwrap();
    assert_eq!((text_of(&item, "l_rpm_sched").is_some(), &item["l_rpm_cp"]), (true, &number(1)));
}
