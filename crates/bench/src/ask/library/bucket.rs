//! Declared limits: one take, and three taken all or none. Tidegate only; the story that asked for these
//! operations gives its own figures, 4 ns and 64 ns, for a bucket without lock or clock.

use anyhow::Result;
use tidegate_core::Bucket;
use tidegate_core::bucket::Ready;
use tidegate_limiter::{Limit, Limiter, Parts};

use super::super::plan::Plan;
use super::super::round::Round;
use super::super::systems;
use super::stretch;
use crate::row::{Figures, Series};

/// The workload of one bucket.
pub const ONE_TAKE: &str = "bucket, one take";
/// The workload of three.
pub const THREE_KEYS: &str = "bucket, three keys all or none";
const NAMES: [&str; 3] = ["provider:aws", "region:eu-west-1", "tenant:acme"];

/// The bucket alone, then by name in the library.
pub fn run(round: &mut Round<'_>) {
    round.measure(Series::new(systems::TIDEGATE_CORE, ONE_TAKE), |plan, _| alone(plan));
    round.measure(Series::new(systems::TIDEGATE_LIMITER, ONE_TAKE), |plan, _| {
        let limiter = declared()?;
        stretch::run(&[numbers()], plan.library_stretch, |_| limiter.take(NAMES[0], 1).is_ok())
    });
    round.measure(Series::new(systems::TIDEGATE_LIMITER, THREE_KEYS), |plan, _| {
        let (limiter, charges) = (declared()?, NAMES.map(|name| (name, 1)));
        stretch::run(&[numbers()], plan.library_stretch, |_| limiter.take_all(&charges).is_ok())
    });
}

/// Time goes on by a nanosecond a take, so that every take refills as well.
fn alone(plan: &Plan) -> Result<Figures> {
    let limit = limit()?;
    let (mut bucket, mut now) = (Bucket::full(&limit, 0), 0);
    stretch::run_alone(&numbers(), plan.library_stretch, |_| {
        now += 1;
        std::hint::black_box(&mut bucket).try_take(&limit, 1, now) == Ready::Now
    })
}

fn declared() -> Result<Limiter> {
    let limiter = Limiter::new();
    for name in NAMES {
        limiter.declare(name, limit()?);
    }
    Ok(limiter)
}

/// Allows everything that a benchmark can ask.
fn limit() -> Result<Limit> {
    Ok(Limit::new(Parts { burst: 1_000_000_000_000, count: 1_000_000_000, period_ns: 1_000_000_000 })?)
}

fn numbers() -> Vec<u32> {
    (0..1 << 16).collect()
}
