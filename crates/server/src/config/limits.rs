//! The limit for calls that bring none, out of its three options.

use tidegate_core::limit::Parts;
use tidegate_core::{Limit, NANOS_PER_S};

use super::Limits;

impl Limits {
    /// The limit for calls that bring none, or `None` if such calls are to be refused.
    pub fn default_limit(&self) -> Option<Limit> {
        let period_ns = u128::from(self.default_period?) * u128::from(NANOS_PER_S);
        // The bounds of each option are what a limit asks for, so this refuses nothing.
        Limit::new(Parts { burst: self.default_burst?, count: self.default_rate?, period_ns }).ok()
    }
}
