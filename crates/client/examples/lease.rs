//! Takes an estimate, does the work, settles what it really was. Start a server first: `tidegate serve`.
//!
//! `cargo run -p tidegate-client --example lease [ADDRESS]`

use std::time::Duration;

use tidegate_client::{Acquire, Acquired, Client, Scope, ScopePatch, Term};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:6380".to_owned());
    let client = Client::connect(address).await?;
    let limits =
        [Term::per_minute("rpm", 60), Term::per_minute("tpm", 3_300), Term::concurrency("inflight", 8)];
    client.scopes().set(&Scope::resource("example-model"), &ScopePatch::new().limits(limits)).await?;

    for prompt in
        ["a short one", "one that turns out to be long", "one that fails", "one more", "one too many"]
    {
        let ask = Acquire::of("acme", "example-model").cost("rpm", 1).cost("tpm", 800);
        match client.acquire(ask.wait(Duration::from_millis(200))).await? {
            Acquired::Granted(lease) => match call_the_model(prompt).await {
                Ok(tokens) => {
                    lease.settle([("tpm", tokens)]).await?;
                    println!("{prompt}: {tokens} tokens");
                }
                // Dropped, the lease gives everything back.
                Err(why) => println!("{prompt}: {why}"),
            },
            Acquired::Denied(denied) => {
                let short: Vec<&str> = denied.exceeded().map(|status| status.limit.as_str()).collect();
                println!(
                    "{prompt}: not now, {} is short; try again in {:?}",
                    short.join(", "),
                    denied.retry_after
                );
            }
        }
    }
    Ok(())
}

/// Stands for what costs something, and tells how much only afterwards.
async fn call_the_model(prompt: &str) -> Result<u64, &'static str> {
    match prompt {
        "one that fails" => Err("the model did not answer"),
        prompt => Ok(prompt.len() as u64 * 60),
    }
}
