//! What users do: messages, consumers, queues, limits.

pub mod consume;
pub mod limits;
pub mod pour;
pub mod produce;
pub mod queues;
