//! Each operation: the command it sends, and what it makes of the reply.

use std::time::Duration;

use tidegate_client::{Client, Error, Limit, Options, Request, Retry};

use crate::scripted_server::{PATIENT, Server, WELCOME, assert_refused, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

#[tokio::test]
async fn a_throttle_sends_its_parameters_and_reads_the_decision() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let limit = Limit::per_minute(60).burst(10);

    let ask = async { client.throttle(b"user:\xff", limit).quantity(3).await };
    let answer = async {
        peer.expect(&["THROTTLE", r"user:\xff", "10", "60", "60", "3"]).await;
        peer.reply("*5\r\n:1\r\n:10\r\n:7\r\n:3\r\n:0\r\n").await;
    };
    let (decision, ()) = within(async { tokio::join!(ask, answer) }).await;
    let decision = decision.unwrap();
    assert!(decision.allowed);
    assert_eq!((decision.limit, decision.remaining, decision.retry), (10, 7, Retry::Now));
    assert_eq!(decision.reset_after, Duration::from_secs(3));
}

#[tokio::test]
async fn the_other_operations() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;

    let script = async {
        peer.expect(&["THROTTLE.PEEK", "k", "5", "5", "1", "1"]).await;
        peer.reply("*5\r\n:0\r\n:5\r\n:0\r\n:1\r\n:1\r\n").await;
        peer.expect(&["THROTTLE", "k"]).await;
        peer.reply("*5\r\n:0\r\n:5\r\n:5\r\n:0\r\n:-1\r\n").await;
        peer.expect(&["THROTTLE.RESET", "a", "b"]).await;
        peer.reply(":1\r\n").await;
        peer.expect(&["THROTTLE.CLEAR"]).await;
        peer.reply(":7\r\n").await;
        peer.expect(&["PING"]).await;
        peer.reply("+PONG\r\n").await;
    };
    let calls = async {
        let peeked = client.peek("k", Limit::per_second(5)).await.unwrap();
        assert_eq!(peeked.retry, Retry::After(Duration::from_secs(1)));
        assert_eq!(client.throttle_default("k").await.unwrap().retry, Retry::Never);
        assert_eq!(client.reset(&["a", "b"]).await.unwrap(), 1);
        assert_eq!(client.reset::<&str>(&[]).await.unwrap(), 0);
        assert_eq!(client.clear().await.unwrap(), 7);
        client.ping().await.unwrap();
    };
    within(async { tokio::join!(script, calls) }).await;
}

#[tokio::test]
async fn a_refusal_says_why_and_the_connection_lives_on() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;

    let script = async {
        peer.command().await;
        peer.reply("-ERR invalid_limit: max_burst must be at least 1, not 0; raise it\r\n").await;
        peer.command().await;
        peer.reply("+PONG\r\n").await;
    };
    let calls = async {
        let refused = client.throttle("k", Limit::per_second(0)).await;
        let Err(error @ Error::Refused { .. }) = refused else { panic!("{refused:?}") };
        assert!(!error.may_have_counted());
        let shown = "refused (invalid_limit): max_burst must be at least 1, not 0; raise it";
        assert_eq!(error.to_string(), shown);
        client.ping().await.unwrap();
    };
    within(async { tokio::join!(script, calls) }).await;
}

#[tokio::test]
async fn a_batch_has_one_result_for_each_request_in_order() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let requests = ["a", "b", "c"].map(|key| Request::new(key, Limit::per_second(1)));

    let script = async {
        for key in ["a", "b", "c"] {
            peer.expect(&["THROTTLE", key, "1", "1", "1", "1"]).await;
        }
        peer.reply("*5\r\n:1\r\n:1\r\n:0\r\n:1\r\n:0\r\n-ERR table_full: no room; wait\r\n").await;
        peer.reply("*5\r\n:0\r\n:1\r\n:0\r\n:1\r\n:1\r\n").await;
    };
    let (results, ()) = within(async { tokio::join!(client.throttle_batch(&requests), script) }).await;
    let [a, b, c] = <[_; 3]>::try_from(results).unwrap();
    assert!(a.unwrap().allowed);
    assert_refused(b, "table_full");
    assert!(!c.unwrap().allowed);
}

#[tokio::test]
async fn the_greeting_shows_the_token_then_chooses_the_namespace() {
    let server = Server::listen().await;
    let options = patient().auth_token("s3cret").namespace("staging").name("bot");
    let script = async {
        let mut peer = server.accept().await;
        for (command, reply) in [
            (&["AUTH", "s3cret"][..], "+OK\r\n"),
            (&["HELLO", "3", "SETNAME", "bot"], WELCOME),
            (&["SELECT", "staging"], "+OK\r\n"),
        ] {
            peer.expect(command).await;
            peer.reply(reply).await;
        }
        peer
    };
    let (client, _peer) = within(async { tokio::join!(options.connect(server.address()), script) }).await;
    client.unwrap();
}

#[tokio::test]
async fn a_refused_greeting_is_a_refused_connection() {
    let server = Server::listen().await;
    let script = async {
        let mut peer = server.accept().await;
        peer.expect(&["AUTH", "wrong"]).await;
        peer.reply("-ERR unauthenticated: the token is wrong; ask your operator\r\n").await;
        assert_eq!(peer.command().await, None);
    };
    let connect = patient().auth_token("wrong").connect(server.address());
    let (client, ()) = within(async { tokio::join!(connect, script) }).await;
    assert_refused(client, "unauthenticated");
}

#[tokio::test]
async fn a_door_that_is_not_resp_is_found_at_once() {
    let server = Server::listen().await;
    let script = async {
        let mut peer = server.accept().await;
        peer.command().await;
        peer.reply("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        peer
    };
    let (client, _peer) = within(async { tokio::join!(Client::connect(server.address()), script) }).await;
    assert!(matches!(client, Err(Error::Protocol { .. })), "{client:?}");
}

#[tokio::test]
async fn a_decision_that_is_none_is_a_protocol_error() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        peer.command().await;
        peer.reply("+OK\r\n").await;
    };
    let (result, ()) = within(async { tokio::join!(client.throttle_default("k"), script) }).await;
    assert!(matches!(result, Err(Error::Protocol { .. })), "{result:?}");
}

#[tokio::test]
async fn bytes_that_are_no_reply_end_the_connection() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        peer.command().await;
        peer.command().await;
        peer.reply("?\r\n").await;
    };
    let calls = async { tokio::join!(client.ping(), client.ping()) };
    let ((first, second), ()) = within(async { tokio::join!(calls, script) }).await;
    assert!(matches!(first, Err(Error::Protocol { .. })), "{first:?}");
    assert!(matches!(second, Err(Error::Disconnected)), "{second:?}");
}
