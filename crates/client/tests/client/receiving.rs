//! Messages out, asked for: each receive on a connection of its own.

use std::time::Duration;

use tidegate_client::{Client, Error, Nack, Options};

use crate::queue_door::{message, receipt};
use crate::scripted_server::{PATIENT, Server, assert_refused, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

#[tokio::test]
async fn messages_are_received_and_settled() {
    let server = Server::listen().await;
    let (client, mut calls) = server.meet(patient()).await;
    let orders = client.queue("orders");

    let script = async {
        let mut polls = server.greet().await;
        polls.expect(&["RECEIVE", "orders", "COUNT", "10", "WAIT", "20000"]).await;
        let all: String = (1..=4).map(|number| message(number, "body")).collect();
        polls.reply(&format!("*4\r\n{all}")).await;
        calls.expect(&["ACK", "orders", &receipt(1)]).await;
        calls.reply("+OK\r\n").await;
        calls
            .expect(&[
                "NACK",
                "orders",
                &receipt(2),
                "DELAY",
                "50",
                "ERROR",
                "429",
                "CLOSE",
                "provider",
                "30000",
            ])
            .await;
        calls.reply("+OK\r\n").await;
        calls.expect(&["EXTEND", "orders", &receipt(3), "60000"]).await;
        calls.reply("+OK\r\n").await;
        calls.expect(&["RELEASE", "orders", &receipt(3)]).await;
        calls.reply("-ERR stale_receipt: old; use the new one\r\n").await;
        polls
    };
    let work = async {
        let messages = orders.receive(10, Duration::from_secs(20)).await.unwrap();
        let [first, second, third, fourth] = <[_; 4]>::try_from(messages).unwrap();
        assert_eq!((&first.payload[..], &first.key[..]), (&b"body"[..], &b"tenant"[..]));
        assert_eq!(first.header("kind").map(|value| &value[..]), Some(&b"test"[..]));
        first.ack().await.unwrap();
        let nack =
            Nack::error("429").delay(Duration::from_millis(50)).close("provider", Duration::from_secs(30));
        second.nack(nack).await.unwrap();
        third.extend(Duration::from_secs(60)).await.unwrap();
        assert_refused(third.release().await, "stale_receipt");
        // Says nothing: it comes back when its time is over.
        drop(fourth);
    };
    within(async { tokio::join!(script, work) }).await;
}

#[tokio::test]
async fn a_receive_that_waits_holds_up_nobody_and_its_connection_is_used_again() {
    let server = Server::listen().await;
    let (client, mut calls) = server.meet(patient()).await;
    let orders = client.queue("orders");
    let waiting = tokio::spawn({
        let orders = orders.clone();
        async move { orders.receive(1, PATIENT).await }
    });
    let mut polls = within(server.greet()).await;
    within(polls.command()).await;

    let pong = async {
        calls.expect(&["PING"]).await;
        calls.reply("+PONG\r\n").await;
    };
    let (ping, ()) = within(async { tokio::join!(client.ping(), pong) }).await;
    ping.unwrap();

    polls.reply("*0\r\n").await;
    assert!(within(waiting).await.unwrap().unwrap().is_empty());
    let again = async {
        polls.expect(&["RECEIVE", "orders", "COUNT", "1", "WAIT", "0"]).await;
        polls.reply("-ERR queue_not_found: none; create it\r\n").await;
    };
    let (refused, ()) = within(async { tokio::join!(orders.receive(1, Duration::ZERO), again) }).await;
    assert_refused(refused, "queue_not_found");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let orders = client.queue("orders");
    let script = async {
        let mut polls = server.greet().await;
        polls.command().await;
        polls.reply("*0\r\n").await;
        drop(polls);
        let mut polls = server.greet().await;
        polls.command().await;
        polls.reply(&format!("*1\r\n{}", message(1, "b"))).await;
        polls
    };
    let work = async {
        assert!(orders.receive(1, Duration::ZERO).await.unwrap().is_empty());
        assert_eq!(orders.receive(1, Duration::ZERO).await.unwrap().len(), 1);
    };
    within(async { tokio::join!(script, work) }).await;
}

#[tokio::test]
async fn the_time_out_begins_after_the_wait() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(Client::options().request_timeout(Duration::from_secs(1))).await;
    let orders = client.queue("orders");
    let receive = |wait| {
        let orders = orders.clone();
        tokio::spawn(async move { orders.receive(1, wait).await })
    };

    let patient = receive(Duration::from_secs(20));
    let mut polls = within(server.greet()).await;
    within(polls.command()).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(20)).await;
    tokio::time::resume();
    polls.reply("*0\r\n").await;
    assert!(within(patient).await.unwrap().unwrap().is_empty());

    let late = receive(Duration::from_secs(20));
    within(polls.command()).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(22)).await;
    let late = late.await.unwrap();
    assert!(matches!(late, Err(Error::Timeout)), "{late:?}");
}

#[tokio::test]
async fn a_receive_that_is_given_up_hangs_up() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let orders = client.queue("orders");
    let mut polls = tokio::select! {
        answer = orders.receive(1, PATIENT) => panic!("{answer:?}"),
        polls = async {
            let mut polls = server.greet().await;
            polls.command().await;
            polls
        } => polls,
    };
    assert_eq!(within(polls.command()).await, None);
}

#[tokio::test]
async fn acknowledgements_that_wait_together_are_one_command() {
    let server = Server::listen().await;
    let (client, mut calls) = server.meet(patient()).await;
    let orders = client.queue("orders");
    let receipts: Vec<_> = (1..=3).map(|number| receipt(number).parse().unwrap()).collect();

    let script = async {
        calls.expect(&["ACK", "orders", &receipt(1), &receipt(2), &receipt(3)]).await;
        calls.reply("*3\r\n+OK\r\n-ERR message_not_found: gone; nothing to do\r\n+OK\r\n").await;
    };
    let acks =
        async { tokio::join!(orders.ack(receipts[0]), orders.ack(receipts[1]), orders.ack(receipts[2])) };
    let ((first, second, third), ()) = within(async { tokio::join!(acks, script) }).await;
    first.unwrap();
    assert_refused(second, "message_not_found");
    third.unwrap();

    let script = async {
        calls.expect(&["ACK", "orders", &receipt(1), &receipt(2), &receipt(3)]).await;
        calls.reply("*3\r\n+OK\r\n+OK\r\n-ERR stale_receipt: old; no\r\n").await;
    };
    let (results, ()) = within(async { tokio::join!(orders.ack_batch(&receipts), script) }).await;
    let [first, second, third] = <[_; 3]>::try_from(results).unwrap();
    first.unwrap();
    second.unwrap();
    assert_refused(third, "stale_receipt");
}
