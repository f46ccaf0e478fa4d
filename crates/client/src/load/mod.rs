//! A load generator for the Ask door: what `tidegate bench ask` runs.
//!
//! Many connections with batches of pipelined `THROTTLE` commands over random keys: the next one when the last has its
//! answers, or when it is due.
//! It writes and reads raw bytes rather than going through [`Client`](crate::Client), so that what is measured
//! is the server. Everything is bounded by the [`Plan`]; memory depends on connections and pipeline depth,
//! not on the number of requests.
//!
//! ```no_run
//! use tidegate_client::load::{Load, Plan, Stop};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Plan { connections: 10, stop: Stop::Requests(100_000), ..Plan::default() };
//! let report = Load::new(plan)?.run().await?;
//! println!("{:.0} requests/s", report.requests_per_s());
//! println!("p99 {} us", report.latency_ns.value_at_quantile(0.99) / 1_000);
//! # Ok(())
//! # }
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `plan` | what to do, checked |
//! | `run` | all connections, from first to last request |
//! | `worker` | one connection |
//! | `pace` | when the next batch goes out, and whether there is one |
//! | `batch` | the bytes of a batch |
//! | `answer` | the bytes of its answers |
//! | `report` | what was seen |

mod answer;
mod batch;
mod pace;
mod plan;
mod report;
mod run;
mod worker;

pub use hdrhistogram::Histogram;
pub use plan::{Invalid, Pace, Plan, Stop};
pub use report::Report;
pub use run::{Load, Progress};
