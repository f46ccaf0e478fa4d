//! What users do: messages, consumers, queues, limits, entities, and the ask door.

pub mod ask;
pub mod consume;
pub mod entities;
pub mod limits;
pub mod pour;
pub mod produce;
pub mod queues;
