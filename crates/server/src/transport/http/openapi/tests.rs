//! The document against the code that it describes.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde_json::{Value, from_str};
use tidegate_core::{Decision, Wait};
use tidegate_engine::{QueueReport, QueueStats, Settings, WaitsFor, WhyLane, WhyReport};

use super::*;
use crate::api::queue::limits::LimitReport;
use crate::api::{Code, Refusal};
use crate::transport::http::parse::{self, Shape, parse};
use crate::transport::http::queue::shape;
use crate::transport::http::{encode, route};

fn document() -> Value {
    from_str(DOCUMENT).unwrap()
}

fn properties(schema: &str) -> BTreeSet<String> {
    let properties = document()["components"]["schemas"][schema]["properties"].take();
    properties.as_object().unwrap_or_else(|| panic!("{schema}")).keys().cloned().collect()
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn it_is_of_this_version() {
    assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_path_is_documented_and_every_documented_path_is_there() {
    let documented = document()["paths"].take();
    let documented: BTreeSet<(String, String)> = documented
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| keys(methods).into_iter().map(|method| (path.clone(), method)))
        .collect();
    let routed = route::TABLE.iter().map(|row| (row.path.to_owned(), row.method.as_str().to_lowercase()));
    assert_eq!(documented, routed.collect());
}

#[test]
fn every_field_that_is_parsed_is_documented() {
    assert_eq!(properties("Throttle"), parsed::<parse::Throttle>());
    assert_eq!(properties("Batch"), parsed::<parse::Batch>());
    assert_eq!(properties("Reset"), parsed::<parse::Reset>());
    assert_eq!(properties("NewMessage"), parsed::<shape::Message<'_>>());
    assert_eq!(properties("NewMessages"), parsed::<shape::Messages<'_>>());
    assert_eq!(properties("Receive"), parsed::<shape::Receive>());
    assert_eq!(properties("Receipts"), parsed::<shape::Receipts<'_>>());
    assert_eq!(properties("Acks"), parsed::<shape::Acks<'_>>());
    assert_eq!(
        properties("Charge"),
        parsed_item(r#"{"payload":"","charges":[{"?":0}]}"#, parse::<shape::Message<'_>>)
    );
    assert_eq!(properties("Nacks"), parsed::<shape::Nacks<'_>>());
    assert_eq!(properties("Nack"), parsed_item(r#"{"items":[{"?":0}]}"#, parse::<shape::Nacks<'_>>));
    assert_eq!(properties("Extensions"), parsed::<shape::Extensions<'_>>());
    assert_eq!(properties("Redrive"), parsed::<shape::Redrive>());
    assert_eq!(properties("NewLimit"), parsed::<shape::Limit>());
    assert_eq!(properties("Take"), parsed::<shape::Take>());
    assert_eq!(properties("Close"), parsed::<shape::Close>());
    assert_eq!(properties("NewSetting"), parsed::<shape::Setting<'_>>());
}

#[test]
fn every_field_that_is_parsed_of_entities_and_leases_is_documented() {
    use crate::transport::http::ledger::shape;
    assert_eq!(properties("Acquire"), parsed::<shape::Acquire<'_>>());
    let charge = parsed_item(r#"{"charges":[{"?":0}]}"#, parse::<shape::Acquire<'_>>);
    assert_eq!(properties("EntityCharge"), charge);
    assert_eq!(properties("SettleLease"), parsed::<shape::Settle<'_>>());
    assert_eq!(properties("AdjustLease"), parsed::<shape::Adjust<'_>>());
    assert_eq!(properties("ExtendLease"), parsed::<shape::Extend>());
    assert_eq!(properties("NewEntities"), parsed::<shape::Entities<'_>>());
    assert_eq!(properties("MoveEntity"), parsed::<shape::Move<'_>>());
    assert_eq!(properties("ResetBuckets"), parsed::<shape::Reset>());
    assert_eq!(properties("TopUp"), parsed::<shape::TopUp<'_>>());
    assert_eq!(properties("CloseBuckets"), parsed::<shape::CloseBuckets>());
    assert_eq!(properties("Why"), parsed::<shape::WhyBody<'_>>());
    let scope = serde_json::from_str::<tidegate_ledger::ScopePatch>(r#"{"?":0}"#).unwrap_err().to_string();
    assert_eq!(properties("Scope"), named(&scope));
    let entity = serde_json::from_str::<tidegate_ledger::EntityPatch>(r#"{"?":0}"#).unwrap_err().to_string();
    let with = |name: &str| named(&entity).into_iter().chain([name.to_owned()]).collect::<BTreeSet<_>>();
    assert_eq!(properties("EntityPatch"), with("version"));
    assert_eq!(properties("NewEntity"), with("id"));
}

/// The fields that a message about an unknown one names.
fn named(message: &str) -> BTreeSet<String> {
    let (_, expected) = message.split_once("expected").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The fields of a shape, out of what it says about a field that it does not have.
fn parsed<'a, T: Shape<'a> + Debug>() -> BTreeSet<String> {
    parsed_item(r#"{"?":0}"#, parse::<T>)
}

fn parsed_item<'a, T: Debug>(
    body: &'a str,
    parse: impl Fn(&'a [u8]) -> Result<T, Refusal>,
) -> BTreeSet<String> {
    named(parse(body.as_bytes()).unwrap_err().message())
}

#[test]
fn every_field_that_is_sent_is_documented() {
    let decision =
        Decision { allowed: true, limit: 1, remaining: 1, reset_after_ns: 0, retry_after: Wait::Now };
    let sent = |json: Vec<u8>| serde_json::from_slice::<Value>(&json).unwrap();
    assert_eq!(properties("Decision"), keys(&sent(encode::decision(&decision))));
    assert_eq!(properties("Results"), keys(&sent(encode::Results::with_capacity(0).finish())));
    let refusal = sent(encode::refusal(&Refusal::table_full()));
    assert_eq!(properties("Refusal"), keys(&refusal));
    let error = document()["components"]["schemas"]["Refusal"]["properties"]["error"]["properties"].take();
    assert_eq!(keys(&error), keys(&refusal["error"]));
}

#[test]
fn what_the_engine_tells_is_documented() {
    let settings = serde_json::json!({"dead_letter_queue": "d"});
    let report = QueueReport {
        name: String::new(),
        settings: Settings::from_json(settings).unwrap(),
        stats: QueueStats::default(),
    };
    let sent = serde_json::to_value(&report).unwrap();
    assert_eq!(properties("Queue"), keys(&sent));
    assert_eq!(properties("Settings"), keys(&sent["settings"]));
    assert_eq!(properties("Stats"), keys(&sent["stats"]));
    let mut with_name = keys(&sent["settings"]);
    with_name.insert("name".to_owned());
    assert_eq!(properties("NewQueue"), with_name);
    let limit = WaitsFor { entity: String::new(), resource: String::new(), limit: String::new() };
    let lane = WhyLane {
        state: "parked",
        messages: Some(1),
        ahead: Some(1),
        waits_for: Some(limit),
        until_ms: None,
    };
    assert_eq!(properties("WhyLane"), keys(&serde_json::to_value(&lane).unwrap()));
    let why = WhyReport {
        queue: String::new(),
        fairness_key: String::new(),
        message: Some(String::new()),
        summary: String::new(),
        lanes: Vec::new(),
    };
    let mut of_both = keys(&serde_json::to_value(&why).unwrap());
    of_both.extend(properties("Available"));
    assert_eq!(properties("WhyReport"), of_both);
    let limit = LimitReport {
        key: String::new(),
        burst: None,
        count: None,
        period_s: None,
        tokens: None,
        closed_until_ms: None,
    };
    assert_eq!(properties("Limit"), keys(&serde_json::to_value(limit).unwrap()));
}

#[test]
fn every_code_is_documented() {
    let error = document()["components"]["schemas"]["Refusal"]["properties"]["error"].take();
    let documented: Vec<Value> = error["properties"]["code"]["enum"].as_array().unwrap().clone();
    assert_eq!(documented, Code::ALL.map(|code| Value::from(code.as_str())));
}

#[test]
fn examples_of_requests_are_requests() {
    let document = document();
    let throttle =
        &document["components"]["requestBodies"]["Throttle"]["content"]["application/json"]["examples"];
    for example in throttle.as_object().unwrap().values() {
        parse::<parse::Throttle>(example["value"].to_string().as_bytes()).unwrap();
    }
    let body =
        |path: &str| document["paths"][path]["post"]["requestBody"]["content"]["application/json"].clone();
    parse::<parse::Batch>(body("/throttle/batch")["example"].to_string().as_bytes()).unwrap();
    for example in body("/throttle/reset")["examples"].as_object().unwrap().values() {
        parse::<parse::Reset>(example["value"].to_string().as_bytes()).unwrap().keys().unwrap();
    }
}

#[test]
fn examples_of_queue_requests_are_requests() {
    let document = document();
    type Reads = fn(&[u8]) -> bool;
    let readers: [(&str, &str, Reads); 12] = [
        ("/queues/{queue}/messages", "post", |body| shape::Enqueue::parse(body).is_ok()),
        ("/queues/{queue}/receive", "post", |body| parse::<shape::Receive>(body).is_ok()),
        ("/queues/{queue}/ack", "post", |body| parse::<shape::Acks<'_>>(body).is_ok()),
        ("/queues/{queue}/nack", "post", |body| parse::<shape::Nacks<'_>>(body).is_ok()),
        ("/queues/{queue}/extend", "post", |body| parse::<shape::Extensions<'_>>(body).is_ok()),
        ("/queues/{queue}/release", "post", |body| parse::<shape::Receipts<'_>>(body).is_ok()),
        ("/queues/{queue}/redrive", "post", |body| parse::<shape::Redrive>(body).is_ok()),
        ("/limits/{key}", "put", |body| parse::<shape::Limit>(body).is_ok()),
        ("/limits/{key}/take", "post", |body| parse::<shape::Take>(body).is_ok()),
        ("/limits/{key}/close", "post", |body| parse::<shape::Close>(body).is_ok()),
        ("/settings/{key}", "put", |body| parse::<shape::Setting<'_>>(body).is_ok()),
        ("/queues/{queue}", "patch", |body| {
            let patch = serde_json::from_slice(body).unwrap();
            Settings::default().patched(patch).is_ok()
        }),
    ];
    for (path, method, read) in readers {
        let content = &document["paths"][path][method]["requestBody"]["content"]["application/json"];
        let several = content["examples"].as_object().into_iter().flatten().map(|(_, one)| &one["value"]);
        let examples: Vec<&Value> = several.chain(content.get("example")).collect();
        assert!(!examples.is_empty(), "{path}");
        for example in examples {
            assert!(read(example.to_string().as_bytes()), "{path}: {example}");
        }
    }
}

#[test]
fn examples_about_entities_and_leases_are_requests() {
    use crate::api::ledger::Request;
    use crate::api::ledger::manifest::Manifest;
    use crate::transport::http::ledger::shape;
    let system = || tidegate_ledger::Scope::System;
    type Reads<'r> = &'r dyn Fn(&[u8]) -> bool;
    let readers: [(&str, &str, Reads<'_>); 14] = [
        ("/acquire", "post", &|body| parse::<shape::Acquire<'_>>(body).is_ok_and(|body| body.call().is_ok())),
        ("/leases/{lease}/settle", "post", &|body| parse::<shape::Settle<'_>>(body).is_ok()),
        ("/leases/{lease}/adjust", "post", &|body| parse::<shape::Adjust<'_>>(body).is_ok()),
        ("/leases/{lease}/extend", "post", &|body| parse::<shape::Extend>(body).is_ok()),
        ("/entities", "post", &|body| Request::create_identified(body).is_ok()),
        ("/entities/{entity}", "patch", &|body| Request::update_entity(b"a", body, None).is_ok()),
        ("/entities/{entity}/move", "post", &|body| parse::<shape::Move<'_>>(body).is_ok()),
        ("/entities/{entity}/limits", "put", &|body| Request::set_scope(system(), body).is_ok()),
        ("/system/limits", "put", &|body| Request::set_scope(system(), body).is_ok()),
        ("/entities/{entity}/resources/{resource}/reset", "post", &|body| {
            parse::<shape::Reset>(body).is_ok()
        }),
        ("/entities/{entity}/resources/{resource}/top-up", "post", &|body| {
            parse::<shape::TopUp<'_>>(body).is_ok()
        }),
        ("/manifest/plan", "post", &|body| Manifest::parse(body).is_ok()),
        ("/why", "post", &|body| parse::<shape::WhyBody<'_>>(body).is_ok_and(|body| body.request().is_ok())),
        ("/entities/batch", "post", &|body| {
            parse::<shape::Entities<'_>>(body)
                .is_ok_and(|body| Request::put_entities(body.entities.get().as_bytes()).is_ok())
        }),
    ];
    let document = document();
    for (path, method, read) in readers {
        let content = &document["paths"][path][method]["requestBody"]["content"]["application/json"];
        let several = content["examples"].as_object().into_iter().flatten().map(|(_, one)| &one["value"]);
        let examples: Vec<&Value> = several.chain(content.get("example")).collect();
        assert!(!examples.is_empty(), "{path}");
        for example in examples {
            assert!(read(example.to_string().as_bytes()), "{path}: {example}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn check(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let target = reference.strip_prefix('#').and_then(|path| document.pointer(path));
                    assert!(target.is_some(), "{reference}");
                }
                fields.values().for_each(|value| check(value, document));
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, document)),
            _ => {}
        }
    }
    check(&document(), &document());
}
