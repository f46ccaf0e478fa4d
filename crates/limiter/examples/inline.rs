//! Limits that come with the call: nothing to declare, and no key costs anything before it is seen.
//!
//! `cargo run -p tidegate-limiter --example inline`

use tidegate_limiter::{InvalidLimit, Limit, Limiter};

fn main() -> Result<(), InvalidLimit> {
    let limiter = Limiter::new();
    let limit = Limit::per_minute(60)?.with_burst(3)?;
    for attempt in 1..=5 {
        let decision = limiter.check("user:42", &limit);
        match decision.allowed {
            true => println!("attempt {attempt}: runs, {} left", decision.remaining),
            false => println!("attempt {attempt}: wait {} s", decision.retry_after.seconds()),
        }
    }
    limiter.refund("user:42", &limit, 2);
    println!("after a refund of 2: {} left", limiter.peek("user:42", &limit, 1).remaining);
    limiter.reset("user:42");
    println!("after a reset: {} left", limiter.peek("user:42", &limit, 1).remaining);
    Ok(())
}
