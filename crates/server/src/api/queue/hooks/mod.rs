//! Lua scripts that queues bring: asked off the loops and off the engine. A script that fails, or none at all, leaves
//! the message to the queue's templates and settings.
//!
//! | module | holds |
//! |---|---|
//! | [`scripts`] | the scripts of all queues, and the threads that run them |
//! | [`choosing`] | `on_enqueue`, asked about messages on their way in |
//! | [`failing`] | `on_failure`, asked about a message whose attempt has failed |
//! | [`trouble`] | what is counted and logged of scripts that fail |

mod choosing;
mod failing;
mod scripts;
mod trouble;

pub use choosing::Choosing;
pub use scripts::Hooks;
pub use trouble::HookMetrics;
