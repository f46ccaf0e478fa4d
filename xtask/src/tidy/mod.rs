//! The rules of the codebase, as tests. Each rule is one small file that says what is wrong and what to do.

mod checkout;
mod code;
mod crates;
mod deny;
mod report;
mod rules;
mod spdx;

pub use report::run;
