//! What calls hear when a connection breaks, and how the next one is made.

use std::time::Duration;

use tidegate_client::{Client, Error, Limit};
use tokio::net::TcpListener;

use crate::scripted_server::{PATIENT, Server, within};

const LIMIT: Limit = Limit::per_second(1000);

#[tokio::test]
async fn a_call_in_flight_fails_and_the_next_one_finds_a_new_connection() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;

    let first = async {
        peer.command().await;
        drop(peer);
    };
    let (lost, ()) =
        within(async { tokio::join!(client.throttle("lost", LIMIT).into_future(), first) }).await;
    assert!(matches!(lost, Err(Error::Disconnected)), "{lost:?}");

    let second = async {
        let mut peer = server.greet().await;
        // The lost call is not sent again: it may have been counted.
        peer.expect(&["THROTTLE", "next", "1000", "1000", "1", "1"]).await;
        peer.reply("*5\r\n:1\r\n:1000\r\n:999\r\n:1\r\n:0\r\n").await;
        peer
    };
    let (next, _peer) =
        within(async { tokio::join!(client.throttle("next", LIMIT).into_future(), second) }).await;
    assert!(next.unwrap().allowed);
}

#[tokio::test]
async fn every_call_in_flight_hears_of_the_break_but_an_answered_one_keeps_its_answer() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    let script = async {
        for _ in 0..3 {
            peer.command().await;
        }
        // One whole answer and a half.
        peer.reply("+PONG\r\n+PO").await;
        drop(peer);
    };
    let calls = async { tokio::join!(client.ping(), client.ping(), client.ping()) };
    let ((a, b, c), ()) = within(async { tokio::join!(calls, script) }).await;
    a.unwrap();
    assert!(matches!((&b, &c), (Err(Error::Disconnected), Err(Error::Disconnected))), "{b:?} {c:?}");
}

#[tokio::test]
async fn a_reply_that_nobody_asked_for_ends_the_connection() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    peer.reply("-ERR shutting_down: the server is stopping; try another\r\n").await;
    assert_eq!(within(peer.command()).await, None);

    let again = async {
        let mut peer = server.greet().await;
        peer.expect(&["PING"]).await;
        peer.reply("+PONG\r\n").await;
        peer
    };
    let (pong, _peer) = within(async { tokio::join!(client.ping(), again) }).await;
    pong.unwrap();
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_io_error_and_coming_back_is_noticed() {
    let server = Server::listen().await;
    let (client, peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    drop(peer);
    let refuse = async {
        // Three attempts are turned away before their greeting; each costs a pause.
        for _ in 0..3 {
            drop(server.accept().await);
        }
        let mut peer = server.greet().await;
        peer.expect(&["PING"]).await;
        peer.reply("+PONG\r\n").await;
        peer
    };
    let keep_calling = async {
        let mut failures = 0;
        while let Err(error) = client.ping().await {
            // The very first call may still have met the old connection.
            assert!(matches!(error, Error::Io(_)) || failures == 0, "{error:?}");
            failures += 1;
            tokio::task::yield_now().await;
        }
        assert!(failures >= 3, "{failures}");
    };
    within(async { tokio::join!(refuse, keep_calling) }).await;
}

#[tokio::test]
async fn connecting_to_nobody_is_an_io_error_with_a_hint() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = within(Client::connect(address)).await.unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error:?}");
    assert!(error.hint().contains("tidegate serve"));
    assert!(!error.may_have_counted());
}

#[tokio::test]
async fn a_server_that_does_not_greet_is_given_up() {
    let server = Server::listen().await;
    let connect = Client::options().connect_timeout(Duration::from_millis(50)).connect(server.address());
    let error = within(connect).await.unwrap_err();
    let Error::Io(io) = &error else { panic!("{error:?}") };
    assert_eq!(io.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_connection_that_has_gone_silent_is_replaced() {
    let server = Server::listen().await;
    let (client, mut silent) =
        server.meet(Client::options().request_timeout(Duration::from_millis(50))).await;
    let unanswered = within(client.ping()).await;
    assert!(matches!(unanswered, Err(Error::Timeout)), "{unanswered:?}");
    silent.expect(&["PING"]).await;
    // Nobody calls any more, yet the client gives the connection up by itself.
    assert_eq!(within(silent.command()).await, None);
}
