//! Messages out, sent as they come: credit, answers and the ends of a consumer.

use tidegate_client::{Client, Consumer, Error, Options};

use crate::queue_door::{bulk, push, receipt};
use crate::scripted_server::{PATIENT, Peer, Server, assert_refused, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

/// A consumer with this credit, and the other end of its connection.
async fn subscribe(server: &Server, client: &Client, credit: u32) -> (Consumer, Peer) {
    let script = async {
        let mut peer = server.greet().await;
        peer.expect(&["CONSUME", "orders", "CREDIT", &credit.to_string()]).await;
        peer.reply(":7\r\n").await;
        peer
    };
    let orders = client.queue("orders");
    let (consumer, peer) = within(async { tokio::join!(orders.consume(credit).into_future(), script) }).await;
    (consumer.unwrap(), peer)
}

#[tokio::test]
async fn messages_come_by_themselves_and_settling_one_makes_room_for_the_next() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 2).await;

    peer.reply(&[push(1, "one"), push(2, "two")].concat()).await;
    let first = within(consumer.next()).await.unwrap();
    assert_eq!(&first.payload[..], b"one");
    let script = async {
        peer.expect(&["ACK", "orders", &receipt(1)]).await;
        peer.expect(&["CREDIT", "7", "1"]).await;
        // Messages and answers mixed, as they may be.
        peer.reply(&format!("{}+OK\r\n+OK\r\n", push(3, "three"))).await;
    };
    let (acked, ()) = within(async { tokio::join!(first.ack(), script) }).await;
    acked.unwrap();

    // One that is dropped makes room as well, and is told to nobody.
    drop(within(consumer.next()).await.unwrap());
    within(peer.expect(&["CREDIT", "7", "1"])).await;
    peer.reply("+OK\r\n").await;
    assert_eq!(&within(consumer.next()).await.unwrap().payload[..], b"three");
}

#[tokio::test]
async fn answers_under_way_together_leave_together() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 4).await;
    peer.reply(&(1..=3).map(|number| push(number, "b")).collect::<String>()).await;
    let mut messages = Vec::new();
    while messages.len() < 3 {
        messages.extend(within(consumer.next_batch(100)).await.unwrap());
    }
    let [first, second, third] = <[_; 3]>::try_from(messages).unwrap();
    let script = async {
        peer.expect(&["ACK", "orders", &receipt(1), &receipt(2), &receipt(3)]).await;
        peer.expect(&["CREDIT", "7", "3"]).await;
        peer.reply("*3\r\n+OK\r\n-ERR stale_receipt: old; no\r\n+OK\r\n+OK\r\n").await;
    };
    let acks = async { tokio::join!(first.ack(), second.ack(), third.ack()) };
    let ((first, second, third), ()) = within(async { tokio::join!(acks, script) }).await;
    first.unwrap();
    assert_refused(second, "stale_receipt");
    third.unwrap();
}

#[tokio::test]
async fn credit_comes_back_when_the_server_has_less_than_half() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 4).await;
    peer.reply(&push(1, "one")).await;
    drop(within(consumer.next()).await.unwrap());
    // The server could still send three. With the next message it could send two, and hears of the first.
    peer.reply(&push(2, "two")).await;
    within(peer.expect(&["CREDIT", "7", "1"])).await;
    peer.reply("+OK\r\n").await;
    assert_eq!(&within(consumer.next()).await.unwrap().payload[..], b"two");
}

#[tokio::test]
async fn explicit_credit_is_given_by_the_caller_alone() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let orders = client.queue("orders");
    let script = async {
        let mut peer = server.greet().await;
        peer.expect(&["CONSUME", "orders", "CREDIT", "1"]).await;
        peer.reply(&format!(":7\r\n{}", push(1, "one"))).await;
        peer
    };
    let open = orders.consume(1).explicit_credit().into_future();
    let (consumer, mut peer) = within(async { tokio::join!(open, script) }).await;
    let mut consumer = consumer.unwrap();

    let message = within(consumer.next()).await.unwrap();
    let script = async {
        peer.expect(&["ACK", "orders", &receipt(1)]).await;
        peer.reply("+OK\r\n").await;
    };
    let (acked, ()) = within(async { tokio::join!(message.ack(), script) }).await;
    acked.unwrap();
    consumer.credit(5);
    within(peer.expect(&["CREDIT", "7", "5"])).await;
}

#[tokio::test]
async fn more_messages_than_credit_end_the_connection() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 1).await;
    peer.reply(&[push(1, "one"), push(2, "two")].concat()).await;
    assert_eq!(within(peer.command()).await, None);
    let broken = within(consumer.next()).await;
    assert!(matches!(broken, Err(Error::Protocol { .. })), "{broken:?}");
}

#[tokio::test]
async fn a_break_is_told_once_and_the_next_call_subscribes_again() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 5).await;
    peer.reply(&push(1, "one")).await;
    let message = within(consumer.next()).await.unwrap();
    drop(peer);
    // Whoever had the message has it no more.
    let broken = within(consumer.next()).await;
    assert!(matches!(broken, Err(Error::Disconnected)), "{broken:?}");
    assert!(matches!(within(message.ack()).await, Err(Error::Disconnected)));

    let script = async {
        let mut peer = server.greet().await;
        peer.expect(&["CONSUME", "orders", "CREDIT", "5"]).await;
        peer.reply(&format!(":7\r\n{}", push(2, "two"))).await;
        peer
    };
    let (next, _peer) = within(async { tokio::join!(consumer.next(), script) }).await;
    assert_eq!(&next.unwrap().payload[..], b"two");
}

#[tokio::test]
async fn a_subscription_that_is_refused_says_why() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let script = async {
        let mut peer = server.greet().await;
        peer.command().await;
        peer.reply("-ERR queue_not_found: none; create it\r\n").await;
        assert_eq!(peer.command().await, None);
    };
    let orders = client.queue("orders");
    let (refused, ()) = within(async { tokio::join!(orders.consume(1).into_future(), script) }).await;
    assert_refused(refused.map(drop), "queue_not_found");
}

#[tokio::test]
async fn credit_that_is_refused_ends_the_subscription_with_the_reason() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 1).await;
    consumer.credit(1);
    within(peer.command()).await;
    peer.reply("-ERR consumer_not_found: none; subscribe again\r\n").await;
    assert_refused(within(consumer.next()).await.map(drop), "consumer_not_found");
}

#[tokio::test]
async fn a_queue_that_is_deleted_ends_the_subscription_with_the_reason() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 2).await;
    let why = "ERR queue_not_found: none; create it";
    peer.reply(&format!("{}>3\r\n{}:7\r\n{}", push(1, "one"), bulk("ended"), bulk(why))).await;
    let ended = loop {
        match within(consumer.next()).await {
            Ok(message) => assert_eq!(&message.payload[..], b"one"),
            Err(error) => break error,
        }
    };
    assert_refused(Err::<(), _>(ended), "queue_not_found");
}

#[tokio::test]
async fn dropped_it_hangs_up_once_what_is_under_way_is_answered() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 5).await;
    peer.reply(&push(1, "one")).await;
    let message = within(consumer.next()).await.unwrap();
    let ack = tokio::spawn(message.ack());
    within(peer.expect(&["ACK", "orders", &receipt(1)])).await;
    drop(consumer);
    peer.reply("+OK\r\n").await;
    within(ack).await.unwrap().unwrap();
    assert_eq!(within(peer.command()).await, None);
}

#[tokio::test]
async fn closed_it_gives_back_what_was_not_taken_and_waits_for_what_was() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 5).await;
    peer.reply(&[push(1, "one"), push(2, "two")].concat()).await;
    let message = within(consumer.next()).await.unwrap();
    let closed = tokio::spawn(consumer.close());
    within(peer.expect(&["RELEASE", "orders", &receipt(2)])).await;
    // One more that was on its way already.
    peer.reply(&format!("{}+OK\r\n", push(3, "three"))).await;
    within(peer.expect(&["RELEASE", "orders", &receipt(3)])).await;
    peer.reply("+OK\r\n").await;
    assert!(!closed.is_finished());

    let script = async {
        // No credit any more.
        peer.expect(&["ACK", "orders", &receipt(1)]).await;
        peer.reply("+OK\r\n").await;
        assert_eq!(peer.command().await, None);
    };
    let (acked, ()) = within(async { tokio::join!(message.ack(), script) }).await;
    acked.unwrap();
    within(closed).await.unwrap();
}

#[tokio::test]
async fn a_silent_connection_is_asked_for_a_sign_of_life_and_given_up_without_one() {
    let server = Server::listen().await;
    let (client, _calls) = server.meet(patient()).await;
    let (mut consumer, mut peer) = subscribe(&server, &client, 5).await;
    // From here on, time jumps to the next timer when nothing else can be done.
    tokio::time::pause();
    peer.expect(&["PING"]).await;
    peer.reply("+PONG\r\n").await;
    peer.expect(&["PING"]).await;
    let broken = consumer.next().await;
    assert!(matches!(broken, Err(Error::Timeout)), "{broken:?}");
}
