//! Limits that live in a table, which the test plays.

mod played;
mod receives;
mod weights;

use played::{Table, bench, options};
