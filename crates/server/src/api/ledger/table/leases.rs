//! The list of open leases, of all servers: each is asked for its own, and who is asked adds them up.

use tidegate_client::{LeaseId, LeaseReport};
use tokio::task::JoinSet;

use super::fault::refusal;
use super::forward::Others;
use super::store::Asked;
use crate::api::ledger::acquire::id;
use crate::api::ledger::document;
use crate::api::ledger::lease::PASSED_ON;
use crate::api::ledger::request::Page;
use crate::api::{Code, NamespaceName, Refusal};

/// Which leases are asked for.
#[derive(Clone)]
pub(super) struct Wanted {
    namespace: NamespaceName,
    entity: Option<String>,
    after: Option<LeaseId>,
    max: usize,
}

impl Asked {
    /// Open leases by id, and where to go on.
    pub(super) async fn leases(&self, entity: Option<Vec<u8>>, page: Page) -> Result<Vec<u8>, Refusal> {
        let after = page.after.as_deref().map(id).transpose()?;
        let space = self.queues.space(&self.namespace)?;
        let own = self.desk.ledger.leases(space, entity.as_deref(), after, page.max);
        // No lease is of a name that is no text.
        let entity = entity.map(String::from_utf8).transpose();
        let (Ok(entity), false) = (entity, &*self.actor == PASSED_ON) else {
            return Ok(document::leases(&own, Vec::new(), page.max));
        };
        let wanted = Wanted {
            namespace: self.namespace.clone(),
            entity,
            after: after.map(|after| LeaseId(after.0)),
            max: page.max,
        };
        Ok(document::leases(&own, self.leases_of_others(&wanted).await?, page.max))
    }

    async fn leases_of_others(&self, wanted: &Wanted) -> Result<Vec<LeaseReport>, Refusal> {
        let node = &self.desk.node;
        let others = node.others().await.map_err(|fault| refusal(&fault))?;
        let mut asked = JoinSet::new();
        for (number, address) in others {
            // Who says that it is where this server is cannot be found from here.
            let address = address.filter(|address| Some(&**address) != node.address());
            let (desk, wanted) = (self.desk.clone(), wanted.clone());
            asked.spawn(async move {
                let address = address.ok_or_else(|| nowhere(number))?;
                let listed = list(&desk.others, &address, &wanted).await;
                listed.map_err(|error| silent(number, &address, &error))
            });
        }
        let mut leases = Vec::new();
        while let Some(listed) = asked.join_next().await {
            leases.extend(listed.unwrap_or_else(|_| Err(Refusal::shutting_down()))?);
        }
        Ok(leases)
    }
}

async fn list(
    others: &Others,
    address: &str,
    wanted: &Wanted,
) -> Result<Vec<LeaseReport>, tidegate_client::Error> {
    let client = others.client(address, &wanted.namespace).await?;
    let count = u32::try_from(wanted.max).unwrap_or(u32::MAX);
    Ok(client.leases().list(wanted.entity.as_deref(), count, wanted.after).await?.leases)
}

fn nowhere(number: u16) -> Refusal {
    let what =
        format!("server {number} of this table has leases of its own and does not say where it is reached");
    Refusal::new(Code::StoreUnavailable, what, "set `ledger.advertise` there to its host:port")
}

fn silent(number: u16, address: &str, error: &tidegate_client::Error) -> Refusal {
    let what = format!("server {number} of this table, at {address}, does not tell its leases: {error}");
    Refusal::new(Code::StoreUnavailable, what, "try again: a server that is gone is passed over after 20 s")
}
