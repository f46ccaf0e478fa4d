//! A round of this benchmark.

use super::plan::Plan;
use super::stage::Stage;

/// What a workload works with.
pub type Round<'a> = crate::round::Round<'a, Plan, Stage>;
