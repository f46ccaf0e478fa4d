//! Many calls on one connection: together, in order, bounded.

use std::time::Duration;

use tidegate_client::{Client, Error, Limit, Request};
use tokio::task::JoinSet;

use crate::scripted_server::{PATIENT, Server, within};

const LIMIT: Limit = Limit::per_second(1000);

/// A decision that tells which call it answers.
fn decision(remaining: usize) -> String {
    format!("*5\r\n:1\r\n:1000\r\n:{remaining}\r\n:1\r\n:0\r\n")
}

/// `count` tasks that each ask about a key named by their number and check that the answer is theirs.
fn ask_from_tasks(client: &Client, count: usize) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let client = client.clone();
        tasks.spawn(async move {
            let answer = client.throttle(number.to_string(), LIMIT).await.unwrap();
            assert_eq!(answer.remaining, number as u64);
        });
    }
    tasks
}

#[tokio::test]
async fn calls_that_wait_together_are_written_together_and_answered_in_order() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    let mut tasks = ask_from_tasks(&client, 100);

    // On one thread every task has called before the connection's task gets its turn: one write for all.
    let bytes = within(peer.one_read()).await;
    let keys: Vec<usize> = keys_in(&bytes);
    assert_eq!(keys.len(), 100);
    // Replies come cut in the middle, as they may.
    let replies: String = keys.iter().map(|&key| decision(key)).collect();
    let (head, tail) = replies.split_at(replies.len() / 2 + 3);
    peer.reply(head).await;
    peer.reply(tail).await;
    while let Some(task) = within(tasks.join_next()).await {
        task.unwrap();
    }
}

/// The keys of the commands in `bytes`, in order: the word after `THROTTLE` and its length.
fn keys_in(bytes: &[u8]) -> Vec<usize> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split("THROTTLE\r\n").skip(1).map(|rest| rest.lines().nth(1).unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn no_more_calls_than_the_bound_are_on_the_wire() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT).max_in_flight(4)).await;
    let mut tasks = ask_from_tasks(&client, 10);

    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 10 {
        let keys = keys_in(&within(peer.one_read()).await);
        sizes.push(keys.len());
        let replies: String = keys.iter().map(|&key| decision(key)).collect();
        peer.reply(&replies).await;
    }
    assert!(sizes.iter().all(|size| *size <= 4), "{sizes:?}");
    while let Some(task) = within(tasks.join_next()).await {
        task.unwrap();
    }
}

#[tokio::test]
async fn a_batch_far_above_the_bound_goes_through() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT).max_in_flight(2)).await;
    let requests: Vec<_> = (0..50).map(|number| Request::new(number.to_string(), LIMIT)).collect();

    let script = async {
        for number in 0..50 {
            assert_eq!(peer.command().await.unwrap()[1], number.to_string());
            peer.reply(&decision(number)).await;
        }
    };
    let (results, ()) = within(async { tokio::join!(client.throttle_batch(&requests), script) }).await;
    let remaining: Vec<u64> = results.into_iter().map(|result| result.unwrap().remaining).collect();
    assert_eq!(remaining, (0..50).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_call_without_an_answer_in_time_is_a_timeout() {
    let server = Server::listen().await;
    let (client, _peer) = server.meet(Client::options().request_timeout(Duration::from_millis(20))).await;
    let late = within(client.throttle("late", LIMIT)).await;
    assert!(matches!(late, Err(Error::Timeout)), "{late:?}");
    assert!(late.unwrap_err().may_have_counted());
}

#[tokio::test]
async fn the_answer_to_a_call_given_up_does_not_reach_the_next_call() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    tokio::select! {
        answer = client.throttle("given up", LIMIT) => panic!("{answer:?}"),
        command = peer.command() => assert_eq!(command.unwrap()[1], "given up"),
    }
    peer.reply(&decision(1)).await;

    let script = async {
        assert_eq!(peer.command().await.unwrap()[1], "next");
        peer.reply(&decision(2)).await;
    };
    let (next, ()) =
        within(async { tokio::join!(client.throttle("next", LIMIT).into_future(), script) }).await;
    assert_eq!(next.unwrap().remaining, 2);
}

#[tokio::test]
async fn a_call_that_is_given_up_before_it_is_written_is_never_written() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;

    let mut given_up = client.throttle("given up", LIMIT).into_future();
    // One poll hands the call over; the connection's task has not run yet when the caller goes away.
    let polled =
        std::future::poll_fn(|context| std::task::Poll::Ready(given_up.as_mut().poll(context))).await;
    assert!(polled.is_pending());
    drop(given_up);

    let script = async {
        assert_eq!(peer.command().await.unwrap()[1], "kept");
        peer.reply(&decision(3)).await;
    };
    let (kept, ()) =
        within(async { tokio::join!(client.throttle("kept", LIMIT).into_future(), script) }).await;
    assert_eq!(kept.unwrap().remaining, 3);
}

#[tokio::test]
async fn a_push_is_not_taken_for_a_reply() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options().request_timeout(PATIENT)).await;
    let script = async {
        peer.command().await;
        peer.reply(&format!(">2\r\n+news\r\n:1\r\n{}", decision(5))).await;
    };
    let (answer, ()) =
        within(async { tokio::join!(client.throttle("k", LIMIT).into_future(), script) }).await;
    assert_eq!(answer.unwrap().remaining, 5);
}

#[tokio::test]
async fn the_connection_closes_with_the_last_clone() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(Client::options()).await;
    let clone = client.clone();
    drop(client);
    let script = async {
        peer.expect(&["PING"]).await;
        peer.reply("+PONG\r\n").await;
    };
    let (pong, ()) = within(async { tokio::join!(clone.ping(), script) }).await;
    pong.unwrap();
    drop(clone);
    assert_eq!(within(peer.command()).await, None);
}
