//! Two tenants share a queue: messages in, messages out, and a limit that both draw on. Start a server first:
//! `tidegate serve`.
//!
//! `cargo run -p tidegate-client --example queue [ADDRESS]`

use tidegate_client::{Client, Error, Limit, NewMessage, SettingsPatch};

/// Messages of the tenant that has many.
const NOISY: usize = 6;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:6380".to_owned());
    match share_a_queue(&address).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\nhint: {}", error.hint());
            std::process::ExitCode::FAILURE
        }
    }
}

async fn share_a_queue(address: &str) -> Result<(), Error> {
    let client = Client::connect(address).await?;
    let mail = client.queue("example-mail");
    mail.create(&SettingsPatch::new().max_attempts(5)).await?;
    // All of them are sent over one provider, which takes 1,000 a second.
    client.limits().set("provider:example", Limit::per_second(1_000)).await?;

    let noisy: Vec<String> = (1..=NOISY).map(|number| format!("noisy {number}")).collect();
    let messages = noisy.iter().map(|body| NewMessage::new(body).key("noisy"));
    let messages: Vec<NewMessage<'_>> =
        messages.map(|message| message.throttle("provider:example")).collect();
    for result in mail.enqueue_batch(&messages).await {
        result?;
    }
    // Came last, and is among the first to be delivered.
    mail.enqueue("quiet").key("quiet").throttle("provider:example").header("kind", "welcome").await?;

    let mut consumer = mail.consume(10).await?;
    for _ in 0..=NOISY {
        let message = consumer.next().await?;
        println!("{}", String::from_utf8_lossy(&message.payload));
        message.ack().await?;
    }
    consumer.close().await;

    let stats = mail.stats().await?;
    println!("{} enqueued, {} acked, {} left", stats.enqueued, stats.acked, stats.depth);
    client.limits().remove("provider:example").await?;
    mail.delete().await
}
