//! Passing on what is said about leases of other servers, over their RESP doors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tidegate_client::{Client, Error, LeaseReport, Options};
use tidegate_ledger::{LeaseId, Refused};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::desk::Desk;
use crate::api::ledger::lease::{LeaseCall, PASSED_ON, Passed, node_of};
use crate::api::queue::document::write;
use crate::api::{Code, NamespaceName, Refusal};

/// Connections to other servers that are kept; when there are more, all are made anew.
const MOST_CLIENTS: usize = 256;

/// The least time between two looks at who there is.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The other servers.
pub struct Others {
    /// What they ask for, if anything: all of one table have the same token.
    token: Option<String>,
    patience: Duration,
    clients: Mutex<HashMap<(String, String), Client>>,
    /// When the last look at who there is began.
    looked: Mutex<Option<Instant>>,
}

impl Others {
    pub fn new(token: Option<String>, patience: Duration) -> Others {
        Others { token, patience, clients: Mutex::default(), looked: Mutex::default() }
    }

    /// Has `look` look who there is, once for all who have come before it began: leases that nobody knows are not to cost a
    /// call each.
    async fn look_around(&self, look: impl Future<Output = ()>) {
        let came = Instant::now();
        let mut looked = self.looked.lock().await;
        if looked.is_some_and(|began| began >= came) {
            return;
        }
        if let Some(began) = *looked {
            tokio::time::sleep_until(began + LOOK_AGAIN).await;
        }
        *looked = Some(Instant::now());
        look.await;
    }

    pub(super) async fn client(&self, address: &str, namespace: &NamespaceName) -> Result<Client, Error> {
        let key = (address.to_owned(), namespace.as_str().to_owned());
        if let Some(client) = self.clients.lock().await.get(&key) {
            return Ok(client.clone());
        }
        let options = Options::default()
            .namespace(namespace.as_str())
            .name(PASSED_ON)
            .connect_timeout(self.patience)
            .request_timeout(self.patience);
        let options = self.token.clone().into_iter().fold(options, Options::auth_token);
        // Nobody waits meanwhile who wants to reach another. Of two that came at once, one stays.
        let client = options.connect(address).await?;
        let mut clients = self.clients.lock().await;
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        Ok(clients.entry(key).or_insert(client).clone())
    }

    async fn send(&self, owner: &Owner<'_>, call: LeaseCall) -> Result<(), Error> {
        let client = self.client(&owner.address, owner.namespace).await?;
        let leases = client.leases();
        match call {
            LeaseCall::Settle(cost) => leases.settle(owner.lease(), cost).await,
            LeaseCall::Adjust(deltas) => leases.adjust(owner.lease(), deltas).await,
            LeaseCall::Release => leases.release(owner.lease()).await,
            LeaseCall::Extend(ttl_ms) => leases.extend(owner.lease(), Duration::from_millis(ttl_ms)).await,
        }
    }

    async fn fetch(&self, owner: &Owner<'_>) -> Result<LeaseReport, Error> {
        self.client(&owner.address, owner.namespace).await?.leases().get(owner.lease()).await
    }
}

/// Who granted a lease.
struct Owner<'a> {
    address: String,
    namespace: &'a NamespaceName,
    lease: LeaseId,
}

impl Owner<'_> {
    fn lease(&self) -> tidegate_client::LeaseId {
        tidegate_client::LeaseId(self.lease.0)
    }

    /// What the other server refuses is refused here in the same words.
    fn told(&self, error: Error) -> Refusal {
        match error {
            Error::Refused { code, message } => {
                let known = Code::ALL.into_iter().find(|known| known.as_str() == code);
                let (what, hint) = message.split_once("; ").unwrap_or((&message, ""));
                Refusal::new(known.unwrap_or(Code::LeaseElsewhere), what.to_owned(), hint.to_owned())
            }
            error => Refusal::lease_elsewhere(self.lease, format_args!(", at {}: {error}", self.address)),
        }
    }
}

impl Desk {
    /// Passes a call on to whoever granted the lease.
    pub fn pass_on(self: &Arc<Self>, namespace: &NamespaceName, lease: LeaseId, call: LeaseCall) -> Passed {
        let (desk, namespace) = (self.clone(), namespace.clone());
        let task = self.node.runtime().spawn(async move {
            let owner = desk.owner(&namespace, lease).await?;
            desk.others.send(&owner, call).await.map_err(|error| owner.told(error))
        });
        Box::pin(async move { task.await.unwrap_or_else(|_| Err(Refusal::shutting_down())) })
    }

    /// What a lease of another server holds, as a JSON document.
    pub async fn fetch_lease(&self, namespace: &NamespaceName, lease: LeaseId) -> Result<Vec<u8>, Refusal> {
        let owner = self.owner(namespace, lease).await?;
        let found = self.others.fetch(&owner).await.map_err(|error| owner.told(error))?;
        Ok(write(&found))
    }

    async fn owner<'a>(&self, namespace: &'a NamespaceName, lease: LeaseId) -> Result<Owner<'a>, Refusal> {
        let number = node_of(lease);
        if self.node.address_of(number).is_none() {
            // It may have come since the others were last looked at.
            self.others.look_around(self.node.beat()).await;
        }
        if !self.node.knows(number) {
            return Err(Refused::LeaseNotFound(lease).into());
        }
        let why = || format!(" (number {number}), which is gone or does not say where it is");
        let address = self.node.address_of(number).ok_or_else(|| Refusal::lease_elsewhere(lease, why()))?;
        Ok(Owner { address, namespace, lease })
    }
}
