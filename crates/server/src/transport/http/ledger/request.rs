//! Everything that is answered with a JSON document.

use tidegate_ledger::Scope;

use super::super::parse::{parse, parse_or_default};
use super::super::route::Ledger;
use super::call::Call;
use super::shape::{CloseBuckets, Entities, Move, Nothing, Reset, TopUp, WhyBody};
use crate::api::ledger::edit::{entity_scope, resource_scope};
use crate::api::ledger::history::{AuditRequest, UsageRequest};
use crate::api::ledger::manifest::Manifest;
use crate::api::ledger::{CustomPage, Page, Request, Target, page_size};
use crate::api::{NamespaceName, Refusal};

impl Call {
    /// What a request asks for.
    pub(super) fn request(&self, body: &[u8]) -> Result<Request, Refusal> {
        let [first, second] = [self.names[0].as_slice(), self.names[1].as_slice()];
        let nothing = || parse_or_default(body).map(|Nothing {}| ());
        Ok(match self.route {
            Ledger::GetLease => Request::lease(first)?,
            Ledger::ListLeases => Request::Leases(self.query.take("entity"), self.page()?),
            Ledger::GetEntity => Request::Entity(first.to_vec()),
            Ledger::ListEntities => Request::Entities(self.page()?),
            Ledger::ListChildren => Request::Children(first.to_vec(), self.page()?),
            Ledger::CreateEntity => Request::create_identified(body)?,
            Ledger::PutEntities => {
                Request::put_entities(parse::<Entities<'_>>(body)?.entities.get().as_bytes())?
            }
            Ledger::UpdateEntity => Request::update_entity(first, body, None)?,
            Ledger::MoveEntity => {
                let Move { parent } = parse(body)?;
                Request::move_entity(first, parent.as_ref().map(|parent| parent.as_bytes()))?
            }
            Ledger::DeleteEntity => {
                nothing()?;
                Request::delete_entity(first)?
            }
            Ledger::SetEntityDefault
            | Ledger::SetEntityResource
            | Ledger::SetResource
            | Ledger::SetSystem => Request::set_scope(self.scope()?, body)?,
            Ledger::GetEntityDefault
            | Ledger::GetEntityResource
            | Ledger::GetResource
            | Ledger::GetSystem => Request::Scope(self.scope()?),
            Ledger::RemoveEntityDefault
            | Ledger::RemoveEntityResource
            | Ledger::RemoveResource
            | Ledger::RemoveSystem => {
                nothing()?;
                Request::remove_scope(self.scope()?)
            }
            Ledger::Resolve => Request::Resolve(Target::new(first, second)?),
            Ledger::Available => {
                let cost = self.query.numbers()?;
                let cost: Vec<(&[u8], i64)> =
                    cost.iter().map(|(name, amount)| (&name[..], *amount)).collect();
                Request::available(Target::new(first, second)?, &cost)?
            }
            Ledger::Reset => {
                let Reset { limits, idempotency_key } = parse_or_default(body)?;
                Request::Reset(Target::new(first, second)?, limits.unwrap_or_default(), idempotency_key)
            }
            Ledger::TopUp => {
                let TopUp { amounts, idempotency_key } = parse(body)?;
                let amounts: Vec<(&[u8], i64)> =
                    amounts.iter().map(|(name, amount)| (name.as_bytes(), *amount)).collect();
                Request::top_up(Target::new(first, second)?, &amounts, idempotency_key)?
            }
            Ledger::CloseBuckets => {
                let CloseBuckets { retry_after_ms } = parse(body)?;
                Request::close(Target::new(first, second)?, retry_after_ms)?
            }
            Ledger::Capacity => Request::Capacity(String::from_utf8_lossy(first).into_owned()),
            Ledger::ListCustom => self.custom()?,
            Ledger::Export => Request::Export,
            Ledger::Plan => Request::Plan(Box::new(Manifest::parse(body)?)),
            Ledger::Apply => Request::Apply(Box::new(Manifest::parse(body)?)),
            Ledger::Usage => Request::Usage(self.usage_request()?),
            Ledger::Audit => Request::Audit(self.audit_request()?),
            Ledger::Why => parse::<WhyBody<'_>>(body)?.request()?,
            Ledger::ListNamespaces => Request::Namespaces,
            Ledger::DeleteNamespace => {
                nothing()?;
                Request::DeleteNamespace(NamespaceName::new(first)?)
            }
            Ledger::RecoverNamespace => {
                nothing()?;
                Request::RecoverNamespace(NamespaceName::new(first)?)
            }
            Ledger::PurgeNamespace => {
                nothing()?;
                Request::PurgeNamespace(NamespaceName::new(first)?)
            }
            Ledger::Acquire
            | Ledger::SettleLease
            | Ledger::AdjustLease
            | Ledger::ReleaseLease
            | Ledger::ExtendLease
            | Ledger::UsageCsv
            | Ledger::AuditLines => unreachable!("`run` has other ways for these"),
        })
    }

    /// The level that the path names.
    fn scope(&self) -> Result<Scope, Refusal> {
        let [first, second] = [self.names[0].as_slice(), self.names[1].as_slice()];
        match self.route {
            Ledger::SetSystem | Ledger::GetSystem | Ledger::RemoveSystem => Ok(Scope::System),
            Ledger::SetResource | Ledger::GetResource | Ledger::RemoveResource => resource_scope(first),
            _ => entity_scope(first, second),
        }
    }

    fn page(&self) -> Result<Page, Refusal> {
        Ok(Page::new(self.query.take("after").as_deref(), self.query.number("count")?))
    }

    fn custom(&self) -> Result<Request, Refusal> {
        let after = self.query.take("after_entity");
        let after_resource = self.query.take("after_resource").unwrap_or_default();
        let after = after.map(|entity| Target::new(&entity, &after_resource)).transpose()?;
        let page = CustomPage { after, max: page_size(self.query.number("count")?) };
        Ok(Request::Custom(self.query.text("resource"), page))
    }

    pub(super) fn usage_request(&self) -> Result<UsageRequest, Refusal> {
        Ok(UsageRequest {
            entity: self.query.text("entity"),
            resource: self.query.text("resource"),
            limit: self.query.text("limit"),
            window: self.query.text("window"),
            from_ms: self.query.count("from_ms")?,
            to_ms: self.query.count("to_ms")?,
            max: self.query.count("max")?,
        })
    }

    pub(super) fn audit_request(&self) -> Result<AuditRequest, Refusal> {
        Ok(AuditRequest {
            subject: self.query.text("subject"),
            from_ms: self.query.count("from_ms")?,
            to_ms: self.query.count("to_ms")?,
            before: self.query.count("before")?,
            max: self.query.count("max")?,
        })
    }
}
