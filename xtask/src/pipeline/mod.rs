//! `cargo xtask test`: everything that CI runs, in order, stopping at the first failure.

mod examples;
mod steps;
mod tally;

pub use steps::run;
pub use tally::Tally;
