//! The table on an emulator: what operators do, rows, namespaces, audit, usage, and faults on the way.

mod audit;
mod faults;
mod namespaces;
mod operate;
mod pages;
mod rows;
mod setup;
mod spawn;
mod sync;
mod usage;
