//! Entities, their limits and leases over RESP, on the embedded store: what one connection sees.

// Each test uses a part of what they can do.
#[allow(dead_code)]
#[path = "../resp_queue/client.rs"]
mod client;
#[allow(dead_code)]
#[path = "../resp_queue/door.rs"]
mod door;
mod suite;
