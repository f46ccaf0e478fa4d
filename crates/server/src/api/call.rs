//! A call as it comes off a wire, and what has to hold for it.

use tidegate_core::limit::Parts;
use tidegate_core::{Limit, NANOS_PER_S};

use super::refusal::{Parameter, Refusal};

/// A throttle or peek, in the caller's numbers. Signed, so that a wrong sign is seen and named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call<'a> {
    /// Any bytes.
    pub key: &'a [u8],
    /// Tokens at once.
    pub max_burst: Option<i64>,
    /// Tokens back every period.
    pub count_per_period: Option<i64>,
    /// The period in seconds.
    pub period: Option<i64>,
    /// Tokens to take; 1 if unsaid.
    pub quantity: Option<i64>,
}

impl Call<'_> {
    /// The limit that the call brings, or the default if it brings none of it.
    #[inline]
    fn limit(&self, default: Option<Limit>) -> Result<Limit, Refusal> {
        match (self.max_burst, self.count_per_period, self.period) {
            (Some(burst), Some(count), Some(period_s)) => {
                let burst = positive(Parameter::MaxBurst, burst)?;
                let count = positive(Parameter::CountPerPeriod, count)?;
                let period_s = positive(Parameter::Period, period_s)?;
                let period_ns = u128::from(period_s) * u128::from(NANOS_PER_S);
                let limit = Limit::new(Parts { burst, count, period_ns });
                limit.map_err(|_| Refusal::limit_required(Parameter::MaxBurst, default.is_some()))
            }
            (None, None, None) => {
                default.ok_or_else(|| Refusal::limit_required(Parameter::MaxBurst, default.is_some()))
            }
            (burst, count, _) => {
                let missing = match (burst, count) {
                    (None, _) => Parameter::MaxBurst,
                    (_, None) => Parameter::CountPerPeriod,
                    _ => Parameter::Period,
                };
                Err(Refusal::limit_required(missing, default.is_some()))
            }
        }
    }

    #[inline]
    pub(super) fn quantity(&self) -> Result<u64, Refusal> {
        let quantity = self.quantity.unwrap_or(1);
        u64::try_from(quantity).map_err(|_| Refusal::invalid_quantity(quantity))
    }
}

/// The limit that was asked for last: a pipeline mostly has one, and making it takes two divisions.
#[derive(Clone, Copy, Default)]
pub(super) struct Rate {
    said: [Option<i64>; 3],
    limit: Option<Limit>,
}

impl Rate {
    /// The limit of a call: see [`Call::limit`].
    #[inline]
    pub(super) fn limit(&mut self, call: &Call<'_>, default: Option<Limit>) -> Result<&Limit, Refusal> {
        let said = [call.max_burst, call.count_per_period, call.period];
        if self.limit.is_none() || self.said != said {
            (self.said, self.limit) = (said, None);
        }
        match &mut self.limit {
            Some(limit) => Ok(limit),
            none => Ok(none.insert(call.limit(default)?)),
        }
    }
}

#[inline]
fn positive(parameter: Parameter, value: i64) -> Result<u64, Refusal> {
    match value {
        1.. => Ok(value as u64),
        _ => Err(Refusal::invalid_limit(parameter, value)),
    }
}
