//! Asks about one key until it is denied. Start a server first: `tidegate serve`.
//!
//! `cargo run -p tidegate-client --example throttle [ADDRESS]`

use tidegate_client::{Client, Error, Limit, Retry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:6380".to_owned());
    match ask_until_denied(&address).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\nhint: {}", error.hint());
            std::process::ExitCode::FAILURE
        }
    }
}

async fn ask_until_denied(address: &str) -> Result<(), Error> {
    let client = Client::connect(address).await?;
    let limit = Limit::per_minute(60).burst(5);
    loop {
        let decision = client.throttle("user:42", limit).await?;
        match decision.retry {
            Retry::Now => println!("allowed, {} of {} left", decision.remaining, decision.limit),
            Retry::After(_) | Retry::Never => {
                println!("denied, try again {}", decision.retry);
                break;
            }
        }
    }

    let forgotten = client.reset(&["user:42"]).await?;
    println!("reset: {forgotten} key forgotten");
    Ok(())
}
