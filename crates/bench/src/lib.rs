//! Tidegate beside its peers, on the same machine, in the same run.
//!
//! Every benchmark starts the servers itself on loopback, drives the same load at each in turn, prints one
//! table and writes one JSON file of [`row::Row`]s. The machine may be shared and noisy, so the systems take
//! turns inside a repeat, ratios are taken inside a repeat, and a report shows the median and the spread.
//!
//! | module | holds |
//! |---|---|
//! | [`row`], [`samples`], [`spread`] | what was measured |
//! | [`round`] | one pass over the workloads |
//! | [`target`] | what should be reached, and whether it was |
//! | [`report`], [`columns`] | the table, the list of targets, the JSON file |
//! | [`cpu`], [`cpu_family`], [`rss`], [`run_delay`] | what a process has used, and had to wait for |
//! | [`workspace`], [`command`] | the checkout; programs that are run to their end |
//! | [`peers`] | the servers: found or installed, started, ended |
//! | [`load`] | the clients that drive them |
//! | [`ask`] | the Ask door: its workloads and targets |
//! | [`queue`] | the Queue door: its workloads and targets |
//! | [`acquire`] | entities and leases: its workloads and targets |
//! | [`dynamodb`] | limits on DynamoDB: its workloads and targets |

pub mod acquire;
pub mod ask;
pub mod columns;
pub mod command;
pub mod cpu;
pub mod cpu_family;
pub mod dynamodb;
pub mod load;
pub mod peers;
pub mod queue;
pub mod report;
pub mod round;
pub mod row;
pub mod rss;
pub mod run_delay;
pub mod samples;
pub mod spread;
pub mod target;
pub mod workspace;
