//! The JSON that clients send about entities, limits and leases. What is said of entities and levels is read by the ledger
//! itself.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::Refusal;
use crate::api::ledger::edit::limit_of;
use crate::api::ledger::{AcquireCall, Request, Target};
use crate::transport::http::parse::{Shape, invalid};
pub use crate::transport::http::queue::shape::{Nothing, Text};

type Amounts<'a> = BTreeMap<Text<'a>, i64>;

/// `POST /acquire`: one charge, or several.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Acquire<'a> {
    #[serde(borrow)]
    entity: Option<Text<'a>>,
    resource: Option<Text<'a>>,
    cost: Option<Amounts<'a>>,
    charges: Option<Vec<Charge<'a>>>,
    ttl_ms: Option<i64>,
    on_expiry: Option<Text<'a>>,
    wait_ms: Option<i64>,
    lease: Option<bool>,
    limits: Option<Vec<Value>>,
    on_unavailable: Option<Text<'a>>,
    quiet: Option<bool>,
}

/// One charge.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Charge<'a> {
    /// Who pays.
    #[serde(borrow)]
    pub entity: Text<'a>,
    /// For what.
    pub resource: Option<Text<'a>>,
    /// How much of each limit.
    #[serde(default)]
    pub cost: Amounts<'a>,
}

impl<'a> Shape<'a> for Acquire<'a> {
    const EXAMPLE: &'static str =
        r#"{"entity":"acme","resource":"gpt-4","cost":{"rpm":1,"tpm":500},"ttl_ms":60000}"#;
}

impl Acquire<'_> {
    /// The acquire, as every transport makes it.
    pub fn call(&self) -> Result<AcquireCall<'_>, Refusal> {
        let mut call = AcquireCall::default();
        match (&self.entity, &self.charges) {
            (Some(entity), None) => {
                charge(&mut call, entity, self.resource.as_ref(), self.cost.iter().flatten())?;
            }
            (None, Some(charges)) if self.resource.is_none() && self.cost.is_none() => {
                for one in charges {
                    charge(&mut call, &one.entity, one.resource.as_ref(), one.cost.iter())?;
                }
            }
            (None, None) => return Err(invalid::<Self>("missing field `entity` or `charges`")),
            _ => return Err(invalid::<Self>("both `charges` and a charge are there")),
        }
        self.ttl_ms.map_or(Ok(()), |ttl_ms| call.ttl(ttl_ms))?;
        self.wait_ms.map_or(Ok(()), |wait_ms| call.wait(wait_ms))?;
        self.on_expiry.as_ref().map_or(Ok(()), |word| call.on_expiry(word.as_bytes()))?;
        self.on_unavailable.as_ref().map_or(Ok(()), |word| call.on_unavailable(word.as_bytes()))?;
        call.limits = self.limits.as_ref().map(|all| all.iter().map(limit_of).collect()).transpose()?;
        call.no_lease = self.lease == Some(false);
        call.quiet = self.quiet.unwrap_or_default();
        Ok(call)
    }
}

fn charge<'a>(
    call: &mut AcquireCall<'a>,
    entity: &'a Text<'_>,
    resource: Option<&'a Text<'_>>,
    cost: impl Iterator<Item = (&'a Text<'a>, &'a i64)>,
) -> Result<(), Refusal> {
    call.charge(entity.as_bytes(), resource.map(Text::as_bytes).unwrap_or_default())?;
    for (limit, amount) in cost {
        call.cost(limit.as_bytes(), *amount)?;
    }
    Ok(())
}

/// `POST /leases/{lease}/settle`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Settle<'a> {
    /// The real cost.
    #[serde(borrow)]
    pub cost: Option<Amounts<'a>>,
}

impl<'a> Shape<'a> for Settle<'a> {
    const EXAMPLE: &'static str = r#"{"cost":{"tpm":431}}, or no body to keep what was taken"#;
}

/// `POST /leases/{lease}/adjust`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Adjust<'a> {
    /// What is taken on top, or given back if negative.
    #[serde(borrow)]
    pub delta: Amounts<'a>,
}

impl<'a> Shape<'a> for Adjust<'a> {
    const EXAMPLE: &'static str = r#"{"delta":{"tpm":200}}"#;
}

/// `POST /leases/{lease}/extend`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Extend {
    /// From now on.
    pub ttl_ms: i64,
}

impl Shape<'_> for Extend {
    const EXAMPLE: &'static str = r#"{"ttl_ms":60000}"#;
}

/// `POST /entities/batch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Entities<'a> {
    /// Entities, each with its id.
    #[serde(borrow)]
    pub entities: &'a RawValue,
}

impl<'a> Shape<'a> for Entities<'a> {
    const EXAMPLE: &'static str = r#"{"entities":[{"id":"acme"},{"id":"acme-eu","parent":"acme"}]}"#;
}

/// `POST /entities/{entity}/move`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Move<'a> {
    /// The new parent; none if `null`.
    #[serde(borrow, deserialize_with = "said")]
    pub parent: Option<Text<'a>>,
}

/// Nothing has to be said, too: it is not to be told by leaving it out.
fn said<'de: 'a, 'a, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Text<'a>>, D::Error> {
    Option::deserialize(deserializer)
}

impl<'a> Shape<'a> for Move<'a> {
    const EXAMPLE: &'static str = r#"{"parent":"acme"} or {"parent":null}"#;
}

/// `POST /entities/{entity}/resources/{resource}/reset`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Reset {
    /// Which limits; all if unsaid.
    pub limits: Option<Vec<String>>,
    /// A second call with the same key changes nothing.
    pub idempotency_key: Option<String>,
}

impl Shape<'_> for Reset {
    const EXAMPLE: &'static str = r#"{"limits":["tpm"],"idempotency_key":"support-4711"}, or no body"#;
}

/// `POST /entities/{entity}/resources/{resource}/top-up`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct TopUp<'a> {
    /// How much to add to each limit.
    #[serde(borrow)]
    pub amounts: Amounts<'a>,
    /// A second call with the same key changes nothing.
    pub idempotency_key: Option<String>,
}

impl<'a> Shape<'a> for TopUp<'a> {
    const EXAMPLE: &'static str = r#"{"amounts":{"tpm":10000},"idempotency_key":"invoice-4711"}"#;
}

/// `POST /entities/{entity}/resources/{resource}/close`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CloseBuckets {
    /// For how long.
    pub retry_after_ms: i64,
}

impl Shape<'_> for CloseBuckets {
    const EXAMPLE: &'static str = r#"{"retry_after_ms":30000}"#;
}

/// `POST /why`: one of the three.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct WhyBody<'a> {
    #[serde(borrow)]
    message: Option<WhyMessage<'a>>,
    flow: Option<WhyFlow<'a>>,
    acquire: Option<Charge<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct WhyMessage<'a> {
    #[serde(borrow)]
    queue: Text<'a>,
    id: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct WhyFlow<'a> {
    #[serde(borrow)]
    queue: Text<'a>,
    key: Text<'a>,
}

impl<'a> Shape<'a> for WhyBody<'a> {
    const EXAMPLE: &'static str = r#"{"message":{"queue":"orders","id":"0192f3c4a1b20001"}}, {"flow":{"queue":"orders","key":"acme"}} or {"acquire":{"entity":"acme","resource":"gpt-4","cost":{"tpm":500}}}"#;
}

impl WhyBody<'_> {
    /// What is asked about.
    pub fn request(&self) -> Result<Request, Refusal> {
        match (&self.message, &self.flow, &self.acquire) {
            (Some(message), None, None) => {
                Request::why_message(message.queue.as_bytes(), message.id.as_bytes())
            }
            (None, Some(flow), None) => Ok(Request::why_flow(flow.queue.as_bytes(), flow.key.as_bytes())),
            (None, None, Some(charge)) => {
                let resource = charge.resource.as_ref().map(Text::as_bytes).unwrap_or_default();
                let cost: Vec<(&[u8], i64)> =
                    charge.cost.iter().map(|(limit, amount)| (limit.as_bytes(), *amount)).collect();
                Request::why_acquire(Target::new(charge.entity.as_bytes(), resource)?, &cost)
            }
            _ => Err(invalid::<Self>("one of `message`, `flow` and `acquire` has to be there")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::parse::parse;

    fn acquire(body: &str) -> String {
        let parsed = parse::<Acquire<'_>>(body.as_bytes());
        parsed
            .and_then(|body| body.call().map(drop))
            .map_or_else(|refusal| refusal.message().to_owned(), |()| "ok".into())
    }

    #[test]
    fn one_charge_or_several() {
        assert_eq!(acquire(r#"{"entity":"a","resource":"r","cost":{"rpm":1}}"#), "ok");
        assert_eq!(
            acquire(r#"{"charges":[{"entity":"a"},{"entity":"b","cost":{"rpm":1}}],"wait_ms":5}"#),
            "ok"
        );
        assert_eq!(acquire("{}"), "missing field `entity` or `charges`");
        assert_eq!(acquire(r#"{"entity":"a","charges":[]}"#), "both `charges` and a charge are there");
        assert_eq!(acquire(r#"{"cost":{"a":1},"charges":[]}"#), "both `charges` and a charge are there");
    }

    #[test]
    fn limits_are_text_or_objects() {
        let limits = r#"["rpm=5/minute",{"name":"inflight","concurrency":2}]"#;
        assert_eq!(acquire(&format!(r#"{{"entity":"a","limits":{limits}}}"#)), "ok");
        assert!(acquire(r#"{"entity":"a","limits":["rpm"]}"#).contains("is no limit"));
        assert!(acquire(r#"{"entity":"a","cost":{"rpm":-1}}"#).contains("must be 0 or more"));
        assert!(acquire(r#"{"entity":"a","ttl_ms":0}"#).contains("the time to live"));
        assert!(acquire(r#"{"entity":"a","on_expiry":"x"}"#).contains("on_expiry cannot be 'x'"));
    }

    #[test]
    fn why_is_about_one_thing() {
        let why = |body: &str| parse::<WhyBody<'_>>(body.as_bytes()).and_then(|body| body.request()).is_ok();
        assert!(why(r#"{"flow":{"queue":"q","key":"k"}}"#));
        assert!(why(r#"{"acquire":{"entity":"a","cost":{"tpm":5}}}"#));
        assert!(!why("{}"));
        assert!(!why(r#"{"flow":{"queue":"q","key":"k"},"acquire":{"entity":"a"}}"#));
    }
}
