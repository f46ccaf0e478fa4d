//! The threads that run scripts, so that neither the engine nor a connection ever waits for one.
//!
//! A queue is pinned to one thread, where its [`Sandbox`](crate::Sandbox) lives, and its jobs run in the order in which
//! they came. The last thread is for slow queues: one whose scripts take long (see [`Routes`](routes::Routes)) is moved
//! there for a while and so delays only others like it.
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use tidegate_hooks::guarded::Setup;
//! use tidegate_hooks::{Bounds, EnqueueInput, Hooks, Pool};
//!
//! let pool = Pool::new(2)?;
//! let hooks = Hooks::compile(
//!     Some("function on_enqueue(msg) return { fairness_key = msg.headers.tenant } end"),
//!     None,
//! )?;
//! let setup = Setup { hooks, bounds: Bounds::default(), config: Arc::new(()) };
//! let messages = vec![vec![("tenant".to_owned(), "acme".to_owned())], vec![]];
//! let (queue_key, version, now) = (7, 1, 0);
//!
//! let (sender, receiver) = mpsc::channel();
//! pool.run(queue_key, Box::new(move |sandboxes| {
//!     let queue = sandboxes.get(queue_key, version, || setup);
//!     let answers = messages.iter().map(|headers| {
//!         let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
//!         queue.on_enqueue(&EnqueueInput { queue: "mail", headers: &headers, payload_size: 3 }, now)
//!     });
//!     sender.send(answers.collect::<Vec<_>>()).unwrap();
//! }));
//!
//! let answers = receiver.recv()?;
//! assert_eq!(answers[0].verdict.fairness_key.as_deref(), Some(&b"acme"[..]));
//! assert_eq!(answers[1].verdict.fairness_key, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod routes;
mod sandboxes;
mod threads;
mod worker;

pub use sandboxes::Sandboxes;
pub use threads::{Job, Pool};
