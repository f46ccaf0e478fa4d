//! Messages in: what is sent, and what becomes of the answers.

use std::time::Duration;

use tidegate_client::{Client, Error, NewMessage, Options};

use crate::queue_door::bulk;
use crate::scripted_server::{PATIENT, Server, assert_refused, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

#[tokio::test]
async fn an_enqueue_sends_what_is_said_and_hears_its_id() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let orders = client.queue("orders");

    let calls = async {
        let plain = orders.enqueue(b"\xff").await.unwrap();
        assert_eq!(plain.to_string(), "0192f3c4a1b20001");
        let full = orders.enqueue("b").key("t").weight(2).cost(3).delay(Duration::from_millis(4));
        let full = full.throttle("a").charge("c", 5).header("n", "v").await;
        assert_refused(full, "queue_full");
        let odd = orders.enqueue("c").await;
        assert!(matches!(odd, Err(Error::Protocol { .. })), "{odd:?}");
    };
    let script = async {
        peer.expect(&["ENQUEUE", "orders", r"\xff"]).await;
        peer.reply(&bulk("0192f3c4a1b20001")).await;
        let said = "ENQUEUE orders b KEY t WEIGHT 2 COST 3 DELAY 4 THROTTLE a CHARGE c 5 HEADER n v";
        peer.expect(&said.split(' ').collect::<Vec<_>>()).await;
        peer.reply("-ERR queue_full: the queue is full; wait\r\n").await;
        peer.command().await;
        peer.reply("+OK\r\n").await;
    };
    within(async { tokio::join!(calls, script) }).await;
}

#[tokio::test]
async fn a_batch_is_one_write_and_each_has_its_result() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let bodies: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let messages: Vec<_> = bodies.iter().map(|body| NewMessage::new(body).key("tenant")).collect();

    let script = async {
        let bytes = peer.one_read().await;
        assert_eq!(String::from_utf8(bytes).unwrap().matches("ENQUEUE").count(), 50);
        for number in 0..50 {
            let id = bulk(&format!("{number:016x}"));
            peer.reply(if number == 7 { "-ERR never_passes: no; less\r\n" } else { &id }).await;
        }
    };
    let orders = client.queue("orders");
    let (results, ()) = within(async { tokio::join!(orders.enqueue_batch(&messages), script) }).await;
    assert_eq!(results.len(), 50);
    for (number, result) in results.into_iter().enumerate() {
        match number {
            7 => assert_refused(result, "never_passes"),
            _ => assert_eq!(result.unwrap().0, number as u64),
        }
    }
}

#[tokio::test]
async fn a_batch_that_is_cut_off_keeps_the_ids_it_heard() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let messages = ["a", "b"].map(NewMessage::new);
    let script = async {
        peer.command().await;
        peer.command().await;
        peer.reply(&bulk("0000000000000001")).await;
        drop(peer);
    };
    let orders = client.queue("orders");
    let (results, ()) = within(async { tokio::join!(orders.enqueue_batch(&messages), script) }).await;
    let [first, second] = <[_; 2]>::try_from(results).unwrap();
    assert_eq!(first.unwrap().0, 1);
    assert!(matches!(second, Err(Error::Disconnected)), "{second:?}");
}

#[tokio::test]
async fn a_batch_above_every_bound_goes_through_in_order() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient().max_in_flight(4)).await;
    // More than the messages of one piece, and more than the bytes of one.
    let large = "x".repeat(300_000);
    let bodies: Vec<&str> =
        (0..1030).map(|number| if number % 200 == 0 { large.as_str() } else { "s" }).collect();
    let messages: Vec<_> = bodies.iter().map(NewMessage::new).collect();
    let script = async {
        for (number, body) in bodies.iter().enumerate() {
            assert_eq!(peer.command().await.unwrap()[2].len(), body.len());
            peer.reply(&bulk(&format!("{number:016x}"))).await;
        }
    };
    let orders = client.queue("orders");
    let (results, ()) = within(async { tokio::join!(orders.enqueue_batch(&messages), script) }).await;
    let ids: Vec<u64> = results.into_iter().map(|result| result.unwrap().0).collect();
    assert_eq!(ids, (0..1030).collect::<Vec<u64>>());
}

#[tokio::test]
async fn an_empty_batch_says_nothing() {
    let server = Server::listen().await;
    let (client, _peer) = server.meet(patient()).await;
    assert!(within(client.queue("orders").enqueue_batch(&[])).await.is_empty());
}
