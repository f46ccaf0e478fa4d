//! `tidegate.v1.Queue`: durable queues over gRPC.
//!
//! | module | holds |
//! |---|---|
//! | `caller` | who calls, and what of |
//! | `call` | a unary method: message in, message out |
//! | `admin` | the methods about queues, limits and settings |
//! | `enqueue_stream` | `EnqueueStream`: what has arrived together goes in together |
//! | `consume` | `Consume`: messages for credit, and their answers |
//! | `settle` | acks, nacks, extensions and releases |
//! | `message` | messages in and out |
//! | `settings` | the settings of a queue, to and from what the engine reads |
//! | `report` | how queues, flows and limits are told |

mod admin;
mod call;
mod caller;
mod consume;
mod enqueue_stream;
mod message;
mod report;
mod settings;
mod settle;

pub use call::QueueCall;
pub use caller::Caller;
pub use consume::Consume;
pub use enqueue_stream::EnqueueStream;
