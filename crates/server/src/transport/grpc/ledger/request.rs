//! Every other method as the request that all transports make.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tidegate_ledger::Scope;
use tonic::Status;

use super::super::path::LedgerMethod;
use super::super::v1;
use super::call::LedgerCall;
use super::term;
use crate::api::ledger::edit::{entity_scope, resource_scope};
use crate::api::ledger::history::{AuditRequest, UsageRequest};
use crate::api::ledger::manifest::Manifest;
use crate::api::ledger::{CustomPage, Page, Request, Target, page_size};
use crate::api::{NamespaceName, Refusal};

impl LedgerCall {
    /// What a call asks for.
    pub(super) fn request(&self, body: Bytes) -> Result<Request, Status> {
        let request = match self.method {
            LedgerMethod::GetLease => Request::lease(self.read::<v1::LeaseRequest>(body)?.lease.as_bytes()),
            LedgerMethod::ListLeases => {
                let v1::ListLeasesRequest { entity, after, count } = self.read(body)?;
                Ok(Request::Leases(said(entity).map(String::into_bytes), page(&after, count)))
            }
            LedgerMethod::CreateEntity => document(&self.read::<v1::PutEntity>(body)?, &[])
                .and_then(|json| Request::create_identified(json.to_string().as_bytes())),
            LedgerMethod::UpdateEntity => update(self.read(body)?),
            LedgerMethod::PutEntities => put(&self.read(body)?),
            LedgerMethod::MoveEntity => {
                let v1::MoveEntityRequest { id, parent } = self.read(body)?;
                Request::move_entity(id.as_bytes(), parent.as_deref().map(str::as_bytes))
            }
            LedgerMethod::DeleteEntity => {
                Request::delete_entity(self.read::<v1::EntityRequest>(body)?.id.as_bytes())
            }
            LedgerMethod::GetEntity => {
                Ok(Request::Entity(self.read::<v1::EntityRequest>(body)?.id.into_bytes()))
            }
            LedgerMethod::ListEntities => {
                let v1::ListEntitiesRequest { after, count } = self.read(body)?;
                Ok(Request::Entities(page(&after, count)))
            }
            LedgerMethod::ListChildren => {
                let v1::ListChildrenRequest { id, after, count } = self.read(body)?;
                Ok(Request::Children(id.into_bytes(), page(&after, count)))
            }
            LedgerMethod::SetScope => set(self.read(body)?),
            LedgerMethod::GetScope => scope(&self.read(body)?).map(Request::Scope),
            LedgerMethod::RemoveScope => scope(&self.read(body)?).map(Request::remove_scope),
            LedgerMethod::Resolve => {
                let v1::ResolveRequest { entity, resource } = self.read(body)?;
                target(&entity, &resource).map(Request::Resolve)
            }
            LedgerMethod::ListCustom => custom(&self.read(body)?),
            LedgerMethod::Available => {
                let v1::AvailableRequest { entity, resource, cost } = self.read(body)?;
                target(&entity, &resource).and_then(|target| Request::available(target, &amounts(&cost)))
            }
            LedgerMethod::Capacity => Ok(Request::Capacity(self.read::<v1::CapacityRequest>(body)?.resource)),
            LedgerMethod::ResetBuckets => {
                let v1::ResetBucketsRequest { entity, resource, limits, idempotency_key } =
                    self.read(body)?;
                target(&entity, &resource).map(|target| Request::Reset(target, limits, idempotency_key))
            }
            LedgerMethod::TopUp => {
                let v1::TopUpRequest { entity, resource, amounts: added, idempotency_key } =
                    self.read(body)?;
                target(&entity, &resource)
                    .and_then(|target| Request::top_up(target, &amounts(&added), idempotency_key))
            }
            LedgerMethod::CloseBuckets => {
                let v1::CloseBucketsRequest { entity, resource, retry_after_ms } = self.read(body)?;
                target(&entity, &resource).and_then(|target| Request::close(target, retry_after_ms))
            }
            LedgerMethod::Usage => document(&self.read::<v1::UsageRequest>(body)?, &[])
                .and_then(|json| UsageRequest::parse(json.to_string().as_bytes()))
                .map(Request::Usage),
            LedgerMethod::Audit => document(&self.read::<v1::AuditRequest>(body)?, &[])
                .and_then(|json| AuditRequest::parse(json.to_string().as_bytes()))
                .map(Request::Audit),
            LedgerMethod::Why => why(&self.read(body)?),
            LedgerMethod::ExportManifest => {
                let v1::ExportManifestRequest {} = self.read(body)?;
                Ok(Request::Export)
            }
            LedgerMethod::PlanManifest => manifest(&self.read(body)?).map(Request::Plan),
            LedgerMethod::ApplyManifest => manifest(&self.read(body)?).map(Request::Apply),
            LedgerMethod::ListNamespaces => {
                let v1::ListNamespacesRequest {} = self.read(body)?;
                Ok(Request::Namespaces)
            }
            LedgerMethod::DeleteNamespace => named(&self.read(body)?).map(Request::DeleteNamespace),
            LedgerMethod::RecoverNamespace => named(&self.read(body)?).map(Request::RecoverNamespace),
            LedgerMethod::PurgeNamespace => named(&self.read(body)?).map(Request::PurgeNamespace),
            LedgerMethod::Acquire
            | LedgerMethod::AcquireBatch
            | LedgerMethod::Settle
            | LedgerMethod::SettleBatch
            | LedgerMethod::Adjust
            | LedgerMethod::ReleaseLease
            | LedgerMethod::ExtendLease => unreachable!("`run` has another way for these"),
        };
        self.counted(request).map_err(Status::from)
    }
}

/// A message as the JSON that HTTP has in its place: what is absent is left out, and what is to be unsaid is `null`.
fn document(message: &impl Serialize, clear: &[String]) -> Result<Value, Refusal> {
    let document = serde_json::to_value(message);
    let mut document = document
        .map_err(|error| Refusal::invalid_request(error.to_string(), "send metadata as a JSON object"))?;
    if let Value::Object(fields) = &mut document {
        fields.retain(|_, value| !value.is_null());
        fields.extend(clear.iter().map(|name| (name.clone(), Value::Null)));
    }
    Ok(document)
}

fn update(request: v1::UpdateEntityRequest) -> Result<Request, Refusal> {
    let v1::UpdateEntityRequest { entity, clear, version } = request;
    let mut document = document(&entity.unwrap_or_default(), &clear)?;
    let id = document.as_object_mut().and_then(|fields| fields.remove("id"));
    let id = id.as_ref().and_then(Value::as_str).unwrap_or_default();
    Request::update_entity(id.as_bytes(), document.to_string().as_bytes(), version)
}

fn put(request: &v1::PutEntitiesRequest) -> Result<Request, Refusal> {
    let all = request.entities.iter().map(|entity| document(entity, &[]));
    let all = Value::Array(all.collect::<Result<_, _>>()?);
    Request::put_entities(all.to_string().as_bytes())
}

fn set(request: v1::SetScopeRequest) -> Result<Request, Refusal> {
    let v1::SetScopeRequest { scope: name, settings, clear } = request;
    let settings = settings.unwrap_or_default();
    settings.limits.iter().try_for_each(|limit| term::read(limit).map(drop))?;
    let mut document = document(&settings, &clear)?;
    // An empty list cannot be told from none: `clear` is for that.
    if let (true, Some(fields)) = (settings.limits.is_empty(), document.as_object_mut()) {
        fields.retain(|name, value| name != "limits" || value.is_null());
    }
    Request::set_scope(scope(&name.unwrap_or_default())?, document.to_string().as_bytes())
}

fn scope(name: &v1::ScopeName) -> Result<Scope, Refusal> {
    match (name.entity.as_str(), name.resource.as_str()) {
        ("", "") => Ok(Scope::System),
        ("", resource) => resource_scope(resource.as_bytes()),
        (entity, resource) => entity_scope(entity.as_bytes(), resource.as_bytes()),
    }
}

fn target(entity: &str, resource: &str) -> Result<Target, Refusal> {
    Target::new(entity.as_bytes(), resource.as_bytes())
}

fn custom(request: &v1::ListCustomRequest) -> Result<Request, Refusal> {
    let after = said(request.after_entity.clone()).map(|entity| target(&entity, &request.after_resource));
    let page = CustomPage { after: after.transpose()?, max: page_size(request.count) };
    Ok(Request::Custom(said(request.resource.clone()), page))
}

fn why(request: &v1::WhyRequest) -> Result<Request, Refusal> {
    match (&request.message, &request.flow, &request.acquire) {
        (Some(message), None, None) => Request::why_message(message.queue.as_bytes(), message.id.as_bytes()),
        (None, Some(flow), None) => Ok(Request::why_flow(flow.queue.as_bytes(), flow.key.as_bytes())),
        (None, None, Some(acquire)) => {
            Request::why_acquire(target(&acquire.entity, &acquire.resource)?, &amounts(&acquire.cost))
        }
        _ => Err(Refusal::invalid_request("this is not about one thing", "send message, flow or acquire")),
    }
}

fn manifest(message: &v1::Manifest) -> Result<Box<Manifest>, Refusal> {
    Manifest::parse(message.json.as_bytes()).map(Box::new)
}

fn named(request: &v1::NamespaceRequest) -> Result<NamespaceName, Refusal> {
    NamespaceName::new(request.name.as_bytes())
}

fn amounts(cost: &[v1::Amount]) -> Vec<(&[u8], i64)> {
    cost.iter().map(|amount| (amount.limit.as_bytes(), amount.amount)).collect()
}

fn page(after: &str, count: Option<i64>) -> Page {
    Page::new(Some(after.as_bytes()), count)
}

/// A text; nothing if it is empty.
fn said(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_left_out_and_what_is_cleared_is_null() {
        let entity = v1::PutEntity {
            id: "a".to_owned(),
            cascade: Some(true),
            metadata: Some(r#"{"plan":"pro"}"#.to_owned()),
            ..Default::default()
        };
        let told = document(&entity, &["name".to_owned()]).unwrap();
        let expected =
            serde_json::json!({"id": "a", "cascade": true, "metadata": {"plan": "pro"}, "name": null});
        assert_eq!(told, expected);
        let update = update(v1::UpdateEntityRequest {
            entity: Some(entity),
            clear: vec!["name".to_owned()],
            version: Some(3),
        });
        let told = format!("{:?}", update.unwrap());
        assert!(told.contains("name: Some(None)") && told.contains("parent: None"), "{told}");
        assert!(told.contains("version: Some(3)"), "{told}");
    }

    #[test]
    fn limits_that_are_left_out_stay() {
        let scope = |settings, clear: &[&str]| {
            let clear = clear.iter().map(|&name| name.to_owned()).collect();
            format!(
                "{:?}",
                set(v1::SetScopeRequest { scope: None, settings: Some(settings), clear }).unwrap()
            )
        };
        assert!(scope(v1::Scope::default(), &[]).contains("limits: None"));
        assert!(scope(v1::Scope::default(), &["limits"]).contains("limits: Some([])"));
        let limit = v1::Term { name: "inflight".to_owned(), concurrency: Some(8), ..Default::default() };
        assert!(
            scope(v1::Scope { limits: vec![limit], ..Default::default() }, &[]).contains("Concurrency(8)")
        );
    }
}
