//! The load generator against a server that answers in a pattern.

use std::time::Duration;

use tidegate_client::load::{Load, Pace, Plan, Stop};
use tidegate_client::{Error, Limit};

use crate::scripted_server::{Peer, Server, within};

/// Answers every fourth command with a denial, refuses key 0, and allows the rest.
async fn answer_in_a_pattern(mut peer: Peer) {
    let mut count = 0;
    while let Some(words) = peer.command().await {
        count += 1;
        let reply = match (words[1].as_str(), count % 4) {
            ("key:000000000000", _) => "-ERR invalid_limit: for the test; none\r\n",
            (_, 0) => "*5\r\n:0\r\n:10\r\n:0\r\n:60\r\n:6\r\n",
            _ => "*5\r\n:1\r\n:10\r\n:9\r\n:6\r\n:0\r\n",
        };
        peer.reply(reply).await;
    }
}

/// A server for `plan`, which is given its address.
async fn served(plan: Plan) -> Plan {
    let server = Server::listen().await;
    let plan = Plan { address: server.address(), ..plan };
    let connections = plan.connections;
    tokio::spawn(async move {
        for _ in 0..connections {
            tokio::spawn(answer_in_a_pattern(server.greet().await));
        }
    });
    plan
}

#[tokio::test]
async fn exactly_the_requests_asked_for_are_made_and_counted() {
    let plan =
        Plan { connections: 3, pipeline: 16, keys: 10, stop: Stop::Requests(1_000), ..Plan::default() };
    let load = Load::new(served(plan).await).unwrap();
    let progress = load.progress();
    let report = within(load.run()).await.unwrap();

    assert_eq!((report.requests(), progress.requests(), report.latency_ns.len()), (1_000, 1_000, 1_000));
    assert!(report.allowed > report.denied && report.denied > 0 && report.refused > 0, "{report:?}");
    assert!(matches!(&report.refusal, Some(Error::Refused { code, .. }) if code == "invalid_limit"));
    assert!(report.requests_per_s() > 0.0);
}

#[tokio::test]
async fn a_duration_ends_the_run() {
    let plan = Plan { connections: 2, stop: Stop::After(Duration::from_millis(50)), ..Plan::default() };
    let report = within(Load::new(served(plan).await).unwrap().run()).await.unwrap();
    assert!(report.requests() > 0);
    assert!(report.elapsed >= Duration::from_millis(50));
}

#[tokio::test]
async fn an_open_loop_is_no_faster_than_its_rate() {
    let pace = Pace::Open { rate_per_s: 10_000 };
    let plan = Plan { connections: 2, pipeline: 1, pace, stop: Stop::Requests(500), ..Plan::default() };
    let report = within(Load::new(served(plan).await).unwrap().run()).await.unwrap();
    assert_eq!(report.requests(), 500);
    // The last of 500 is due 49.9 ms after the first.
    assert!(report.elapsed >= Duration::from_micros(49_900), "{:?}", report.elapsed);
}

#[tokio::test]
async fn an_open_loop_does_not_wait_for_answers() {
    let server = Server::listen().await;
    let pace = Pace::Open { rate_per_s: 10_000 };
    let address = server.address();
    let plan =
        Plan { address, connections: 1, pipeline: 1, pace, stop: Stop::Requests(20), ..Plan::default() };
    let script = async {
        let mut peer = server.greet().await;
        for _ in 0..20 {
            peer.command().await;
        }
        // All are here before the first has its answer, and then they come at once.
        peer.reply(&"*5\r\n:1\r\n:10\r\n:9\r\n:6\r\n:0\r\n".repeat(20)).await;
        peer
    };
    let (report, _) = within(async { tokio::join!(Load::new(plan).unwrap().run(), script) }).await;
    assert_eq!(report.unwrap().allowed, 20);
}

#[tokio::test]
async fn a_connection_that_breaks_ends_the_run() {
    let server = Server::listen().await;
    let plan =
        Plan { address: server.address(), connections: 1, limit: Limit::per_second(1), ..Plan::default() };
    let script = async {
        let mut peer = server.greet().await;
        peer.command().await;
        drop(peer);
    };
    let (report, ()) = within(async { tokio::join!(Load::new(plan).unwrap().run(), script) }).await;
    assert!(matches!(report, Err(Error::Disconnected)), "{report:?}");
}
