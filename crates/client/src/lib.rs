//! The Rust client of Tidegate, for both of its doors.
//!
//! # Ask: "may this run now?"
//! ```no_run
//! use tidegate_client::{Client, Limit};
//!
//! # async fn run() -> Result<(), tidegate_client::Error> {
//! let client = Client::connect("127.0.0.1:6380").await?;
//! let limit = Limit::per_minute(60).burst(10);
//!
//! let decision = client.throttle("user:42", limit).await?;
//! if decision.allowed {
//!     println!("go, {} left", decision.remaining);
//! } else {
//!     println!("not now; try again {}", decision.retry);
//! }
//!
//! // Three at once, or none:
//! let decision = client.throttle("user:42", limit).quantity(3).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Lease: "take this much, and settle what it really was."
//! ```no_run
//! use tidegate_client::{Acquire, Acquired, Client, Scope, ScopePatch, Term};
//!
//! # async fn call_the_model() -> Result<u64, std::io::Error> { Ok(812) }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("127.0.0.1:6380").await?;
//! let limits = ScopePatch::new().limits([Term::per_minute("rpm", 60), Term::per_minute("tpm", 10_000)]);
//! client.scopes().set(&Scope::resource("gpt-4"), &limits).await?;
//!
//! match client.acquire(Acquire::of("acme", "gpt-4").cost("rpm", 1).cost("tpm", 500)).await? {
//!     Acquired::Granted(lease) => {
//!         let tokens = call_the_model().await?; // on an error, the lease is dropped: all is given back
//!         lease.settle([("tpm", tokens)]).await?;
//!     }
//!     Acquired::Denied(denied) => println!("not now; try again in {:?}", denied.retry_after),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Queue: "run this when it may."
//! ```no_run
//! use std::time::Duration;
//! use tidegate_client::{Client, Limit, Nack, SettingsPatch};
//!
//! # async fn send(_: &[u8]) -> Result<(), &'static str> { Ok(()) }
//! # async fn run() -> Result<(), tidegate_client::Error> {
//! let client = Client::connect("127.0.0.1:6380").await?;
//! let mail = client.queue("mail");
//! mail.create(&SettingsPatch::new().max_attempts(5)).await?;
//! client.limits().set("provider:ses", Limit::per_second(100)).await?;
//!
//! // In: shared fairly among tenants, and delivered only when the provider may be called.
//! mail.enqueue("hello").key("tenant-7").throttle("provider:ses").await?;
//!
//! // Out: at most 50 at a time.
//! let mut consumer = mail.consume(50).await?;
//! loop {
//!     let message = consumer.next().await?;
//!     tokio::spawn(async move {
//!         match send(&message.payload).await {
//!             Ok(()) => message.ack().await,
//!             Err(why) => message.nack(Nack::error(why).delay(Duration::from_secs(5))).await,
//!         }
//!     });
//! }
//! # }
//! ```
//!
//! # What to expect of it
//! - A [`Client`] is one connection, shared. Clone it freely: calls from many tasks are pipelined, and their
//!   replies are matched in order. Who waits for messages, a [`Consumer`] or [`Queue::receive`], has a connection of
//!   its own, so that nobody waits behind it; so has an acquire that waits.
//! - Everything is bounded: calls on the wire, calls that wait for it, the time a call may take, the size of a
//!   reply, the messages in hand. When the client is full, a call waits its turn, within its time-out.
//! - A call is written at most once. When the connection breaks, the calls on it fail with
//!   [`Error::Disconnected`] and are not sent again, because the server may have counted them. The next call
//!   opens a new connection. An enqueue that is sent again may so be there twice.
//! - While the server cannot be reached, calls fail at once with [`Error::Io`] and a new attempt is made after
//!   a pause that grows, so a program that would rather pass than wait can decide so quickly.
//! - Denied is an answer, not an error: see [`Decision::allowed`] and [`Acquired::Denied`].
//! - A [`Lease`] that is dropped without being settled is released, also in a task that is cancelled.
//! - A payload is a slice of what was read, and a message to be sent borrows its parts: nothing is copied on the way.
//!
//! | module | subject |
//! |---|---|
//! | `limit`, `request`, `decision`, `error` | what callers say and hear |
//! | `client`, `ask`, `options` | what callers hold |
//! | `ledger` | entities, stored limits, leases, usage, audit |
//! | `queue`, `limits`, `settings` | the Queue door: queues, named limits, what hooks read |
//! | `resp`, `document` | RESP: bytes out, bytes in; JSON |
//! | `link`, `wire`, `call` | one connection, opened; at work; what is on it |
//! | `pipeline`, `redial` | the calls of clients, and the next connection |
//! | `load` (feature `load`) | a load generator over the same protocol |

mod ask;
mod call;
mod client;
mod decision;
mod document;
mod error;
mod ledger;
mod limit;
mod limits;
mod link;
mod options;
mod pipeline;
mod queue;
mod redial;
mod request;
mod resp;
mod settings;
mod wire;

#[cfg(feature = "load")]
pub mod load;

pub use ask::Ask;
pub use client::Client;
pub use decision::{Decision, Retry};
pub use error::Error;
pub use ledger::{
    Acquire, Acquired, AuditEvent, AuditPage, AuditQuery, Availability, Bound, Buckets, Capacity, Change,
    CustomLimits, CustomPage, Denied, Entities, Entity, EntityPage, EntityPatch, Hold, Kind, Lease, LeaseId,
    LeasePage, LeaseReport, Leases, LimitCapacity, Manifests, Manner, Mode, NamespaceReport, Namespaces,
    NoLease, NoTerm, OnExpiry, OnUnavailable, Resolved, ResolvedParent, Scope, ScopePatch, ScopeSettings,
    Scopes, Status, Term, Usage, UsageQuery, UsageRow, UsageTotal, WaitsFor, Why, WhyLane, Window,
};
pub use limit::Limit;
pub use limits::{LimitReport, Limits};
pub use options::Options;
pub use queue::{
    Backoff, Consume, Consumer, DeadLetter, Durability, Enqueue, FlowReport, Malformed, Message,
    MessageCharge, MessageId, Nack, NewMessage, Queue, QueueReport, QueueSettings, QueueStats, Receipt,
    SettingsPatch,
};
pub use request::Request;
pub use settings::{Setting, Settings};
