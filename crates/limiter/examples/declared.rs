//! Limits that are declared once and taken together, all or none.
//!
//! `cargo run -p tidegate-limiter --example declared`

use tidegate_limiter::{InvalidLimit, Limit, Limiter};

fn main() -> Result<(), InvalidLimit> {
    let limiter = Limiter::new();
    limiter.declare("provider:aws", Limit::per_second(100)?);
    limiter.declare("region:eu", Limit::per_second(1)?);
    let charges = [("provider:aws", 10), ("region:eu", 1)];
    for attempt in 1..=2 {
        match limiter.take_all(&charges) {
            Ok(()) => println!("attempt {attempt}: taken from both"),
            Err(short) => println!("attempt {attempt}: {short}: {}", charges[short.charge].0),
        }
    }
    let left = limiter.buckets().tokens(b"provider:aws", limiter.clock().now());
    println!("provider:aws paid once: {} tokens are left", left.unwrap_or(0));
    Ok(())
}
