//! The Queue door: "run this when it may."
//!
//! | module | subject |
//! |---|---|
//! | [`handle`], [`admin`] | a queue, and what can be done with it |
//! | [`new_message`], [`enqueue`] | messages on their way in |
//! | [`receive`], [`consume`], [`consumer`], [`feed`] | messages on their way out: asked for, or sent as they come |
//! | [`message`], [`decode`], [`settle`] | a delivered message, and how it is answered |
//! | [`id`] | ids and receipts |
//! | [`settings`], [`patch`], [`report`] | what a queue is told to be, and how it is doing |

mod admin;
mod consume;
mod consumer;
mod decode;
mod enqueue;
mod feed;
mod handle;
mod id;
mod message;
mod new_message;
mod patch;
pub(crate) mod receive;
mod report;
mod settings;
mod settle;

pub use consume::Consume;
pub use consumer::Consumer;
pub use enqueue::Enqueue;
pub use handle::Queue;
pub(crate) use id::ReceiptText;
pub use id::{Malformed, MessageId, Receipt};
pub use message::{DeadLetter, Message, MessageCharge};
pub use new_message::NewMessage;
pub(crate) use new_message::millis;
pub use patch::SettingsPatch;
pub use report::{FlowReport, QueueReport, QueueStats};
pub use settings::{Backoff, Durability, QueueSettings};
pub use settle::Nack;
