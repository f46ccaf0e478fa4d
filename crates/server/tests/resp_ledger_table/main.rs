//! Entities, their limits and leases over RESP, on a table that servers share: what one connection sees is what it sees of
//! the embedded store.
#![cfg(feature = "dynamodb")]

// Each test uses a part of what they can do.
#[allow(dead_code)]
#[path = "../resp_queue/client.rs"]
mod client;
#[path = "../table/door.rs"]
mod door;
#[allow(dead_code)]
#[path = "../resp_queue/door.rs"]
mod resp;
#[allow(dead_code)]
#[path = "../table/shared.rs"]
mod shared;
#[path = "../resp_ledger/suite.rs"]
mod suite;
