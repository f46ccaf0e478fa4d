//! Tidegate's queue, over RESP by hand and through its Rust client.

pub mod admin;
pub mod client;
mod consumer;
mod message;
mod producer;
mod queue;
pub mod shape;

pub use admin::Admin;
pub use client::ClientQueue;
pub use queue::TidegateQueue;
pub use shape::{Keys, Shape};
