//! Waiting for a turn instead of being turned away.
//!
//! `cargo run -p tidegate-limiter --example waiting --features async`

use std::time::Instant;

use tidegate_limiter::{InvalidLimit, Limit, Limiter};

fn main() -> Result<(), InvalidLimit> {
    let limiter = Limiter::new();
    let limit = Limit::per_second(10)?.with_burst(2)?;
    let started = Instant::now();
    pollster::block_on(async {
        for job in 1..=5 {
            let waited = limiter.until_ready("jobs", &limit, 1).await;
            println!("job {job} at {:>3} ms: {}", started.elapsed().as_millis(), waited.is_ok());
        }
    });
    Ok(())
}
