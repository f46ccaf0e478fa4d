//! Leases: what is sent for them, and how they end, whatever becomes of their holders.

use std::time::Duration;

use tidegate_client::{Acquire, Acquired, Client, Error, LeaseId, OnExpiry, Options};
use tokio::sync::oneshot;

use crate::queue_door::bulk;
use crate::scripted_server::{PATIENT, Peer, Server, assert_refused, within};

const LEASE: &str = "00000000000000aa";

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

/// A lease of number `number`.
fn granted(number: u64) -> String {
    format!("*4\r\n:1\r\n{}:0\r\n:1700000000000\r\n", bulk(&format!("{number:016x}")))
}

fn status(limit: &str, available: i64, exceeded: u8, retry_after_ms: i64) -> String {
    let names = [bulk("acme"), bulk("gpt-4"), bulk(limit)].concat();
    format!("*8\r\n{names}:100\r\n:{available}\r\n:5\r\n:{exceeded}\r\n:{retry_after_ms}\r\n")
}

fn acquire() -> Acquire<'static> {
    Acquire::of("acme", "gpt-4").cost("tpm", 5)
}

/// A client, its server's end, and a lease.
async fn leased() -> (Client, Peer, tidegate_client::Lease) {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        peer.expect(&["ACQUIRE", "acme", "gpt-4", "tpm", "5"]).await;
        peer.reply(&granted(0xaa)).await;
    };
    let (acquired, ()) = within(async { tokio::join!(client.acquire(acquire()), script) }).await;
    let lease = acquired.unwrap().granted().unwrap();
    (client, peer, lease)
}

#[tokio::test]
async fn an_acquire_is_granted_or_denied_with_the_status_of_every_limit() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        peer.expect(&["ACQUIRE", "acme", "gpt-4", "tpm", "5"]).await;
        let lease = bulk(LEASE);
        let (rpm, tpm) = (status("rpm", 99, 0, 0), status("tpm", -3, 0, 0));
        peer.reply(&format!("*5\r\n:1\r\n{lease}:0\r\n:1700000000000\r\n*2\r\n{rpm}{tpm}")).await;
        peer.expect(&["LEASE", "SETTLE", LEASE]).await;
        peer.reply("+OK\r\n").await;
        peer.command().await;
        let (rpm, tpm) = (status("rpm", 99, 0, 0), status("tpm", 2, 1, 1_500));
        peer.reply(&format!("*5\r\n:0\r\n_\r\n:1500\r\n:0\r\n*2\r\n{rpm}{tpm}")).await;
        peer.command().await;
        peer.reply("*5\r\n:0\r\n_\r\n:-1\r\n:0\r\n*0\r\n").await;
        peer.command().await;
        peer.reply("-ERR unknown_limit: there is no `tpm`; there are `rpm`\r\n").await;
        peer.command().await;
        peer.reply("+OK\r\n").await;
    };
    let calls = async {
        let lease = client.acquire(acquire()).await.unwrap().granted().unwrap();
        assert_eq!(lease.id(), Some(LeaseId(0xaa)));
        let at = std::time::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000);
        assert_eq!((lease.expires_at(), lease.statuses().len()), (Some(at), 2));
        assert_eq!((lease.statuses()[1].limit.as_str(), lease.statuses()[1].available), ("tpm", -3));
        lease.keep().await.unwrap();

        let denied = client.acquire(acquire()).await.unwrap().granted().unwrap_err();
        assert_eq!(denied.retry_after, Some(Duration::from_millis(1_500)));
        assert_eq!(denied.exceeded().map(|status| status.limit.as_str()).collect::<Vec<_>>(), ["tpm"]);
        let nobody_knows = client.acquire(acquire()).await.unwrap().granted().unwrap_err();
        assert_eq!(nobody_knows.retry_after, None);
        assert_refused(client.acquire(acquire()).await, "unknown_limit");
        let odd = client.acquire(acquire()).await;
        assert!(matches!(odd, Err(Error::Protocol { .. })), "{odd:?}");
    };
    within(async { tokio::join!(script, calls) }).await;
}

#[tokio::test]
async fn a_lease_is_adjusted_extended_and_settled_once() {
    let (client, mut peer, lease) = leased().await;
    let script = async {
        for command in [
            &["LEASE", "ADJUST", LEASE, "tpm", "312"][..],
            &["LEASE", "ADJUST", LEASE, "tpm", "-5", "rpm", "1"],
            &["LEASE", "EXTEND", LEASE, "30000"],
            &["LEASE", "SETTLE", LEASE, "tpm", "812"],
            // Nothing in between: a settled lease is not released too.
            &["PING"],
        ] {
            peer.expect(command).await;
            peer.reply(if command == ["PING"] { "+PONG\r\n" } else { "+OK\r\n" }).await;
        }
    };
    let calls = async {
        lease.adjust("tpm", 312).await.unwrap();
        lease.adjust_all([("tpm", -5), ("rpm", 1)]).await.unwrap();
        lease.extend(Duration::from_secs(30)).await.unwrap();
        lease.settle([("tpm", 812)]).await.unwrap();
        client.ping().await.unwrap();
    };
    within(async { tokio::join!(script, calls) }).await;
}

#[tokio::test]
async fn a_lease_that_is_dropped_is_released() {
    let (_client, mut peer, lease) = leased().await;
    drop(lease);
    within(peer.expect(&["LEASE", "RELEASE", LEASE])).await;
}

#[tokio::test]
async fn a_lease_that_is_dropped_last_is_released_before_the_connection_closes() {
    let (client, mut peer, lease) = leased().await;
    drop(client);
    drop(lease);
    within(peer.expect(&["LEASE", "RELEASE", LEASE])).await;
    // It stays for the answer: closing on one that is under way would be a reset.
    let turns = async {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        end = peer.command() => panic!("{end:?}"),
        () = turns => {}
    }
    peer.reply("+OK\r\n").await;
    assert_eq!(within(peer.command()).await, None);
}

#[tokio::test]
async fn a_task_that_is_cancelled_or_panics_releases_its_lease() {
    let (client, mut peer, lease) = leased().await;
    let (started, start) = oneshot::channel();
    let task = tokio::spawn(async move {
        let _lease = lease;
        started.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    within(start).await.unwrap();
    task.abort();
    within(peer.expect(&["LEASE", "RELEASE", LEASE])).await;
    peer.reply("+OK\r\n").await;

    let script = async {
        peer.command().await;
        peer.reply(&granted(0xbb)).await;
    };
    let (acquired, ()) = within(async { tokio::join!(client.acquire(acquire()), script) }).await;
    let acquired = acquired.unwrap();
    let task = tokio::spawn(async move {
        let _lease = acquired;
        panic!("as expected");
    });
    assert!(within(task).await.unwrap_err().is_panic());
    within(peer.expect(&["LEASE", "RELEASE", "00000000000000bb"])).await;
}

#[tokio::test]
async fn an_acquire_that_is_cancelled_on_its_way_is_released_when_it_is_granted() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let task = tokio::spawn(async move { client.acquire(acquire()).await.map(drop) });
    within(peer.expect(&["ACQUIRE", "acme", "gpt-4", "tpm", "5"])).await;
    task.abort();
    assert!(within(task).await.unwrap_err().is_cancelled());
    peer.reply(&granted(0xaa)).await;
    within(peer.expect(&["LEASE", "RELEASE", LEASE])).await;
    peer.reply("+OK\r\n").await;
    assert_eq!(within(peer.command()).await, None);
}

#[tokio::test]
async fn a_settle_that_is_cancelled_is_sent_all_the_same() {
    let (client, mut peer, lease) = leased().await;
    let mut settle = Box::pin(lease.settle([("tpm", 812)]));
    std::future::poll_fn(|context| {
        assert!(settle.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop((settle, client));
    within(peer.expect(&["LEASE", "SETTLE", LEASE, "tpm", "812"])).await;
    peer.reply("+OK\r\n").await;
    assert_eq!(within(peer.command()).await, None);
}

#[tokio::test]
async fn dropping_never_waits_for_room() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient().max_in_flight(1)).await;
    let acquires: Vec<_> = (0..50).map(|_| acquire()).collect();
    let script = async {
        for number in 0..50 {
            peer.command().await;
            peer.reply(&granted(number)).await;
        }
    };
    let (leases, ()) = within(async { tokio::join!(client.acquire_batch(&acquires), script) }).await;
    assert!(leases.iter().all(|lease| matches!(lease, Ok(Acquired::Granted(_)))));
    drop(leases);
    for number in 0..50 {
        within(peer.expect(&["LEASE", "RELEASE", &format!("{number:016x}")])).await;
        peer.reply("+OK\r\n").await;
    }
}

#[tokio::test]
async fn a_lease_outlives_its_connection() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        peer.command().await;
        peer.reply(&granted(0xaa)).await;
        drop(peer);
    };
    let (acquired, ()) = within(async { tokio::join!(client.acquire(acquire()), script) }).await;
    drop(acquired);
    let mut peer = within(server.greet()).await;
    within(peer.expect(&["LEASE", "RELEASE", LEASE])).await;
}

#[tokio::test]
async fn a_batch_is_one_write_and_each_has_its_result() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let acquires: Vec<_> = (0..50).map(|_| acquire().wait(PATIENT).quiet()).collect();
    let script = async {
        let bytes = peer.one_read().await;
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!((text.matches("ACQUIRE").count(), text.matches("WAIT").count()), (50, 0));
        for number in 0..50 {
            let lease = granted(number);
            peer.reply(if number == 7 { "*4\r\n:0\r\n_\r\n:7\r\n:0\r\n" } else { &lease }).await;
        }
    };
    let (results, ()) = within(async { tokio::join!(client.acquire_batch(&acquires), script) }).await;
    let mut leases = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        match result.unwrap().granted() {
            Ok(lease) => {
                assert_eq!(lease.id(), Some(LeaseId(number as u64)));
                leases.push((lease, vec![("tpm", 3)]));
            }
            Err(denied) => assert_eq!((number, denied.retry_after), (7, Some(Duration::from_millis(7)))),
        }
    }
    let script = async {
        let bytes = peer.one_read().await;
        assert_eq!(String::from_utf8(bytes).unwrap().matches("SETTLE").count(), 49);
        for number in 0..49 {
            peer.reply(if number == 5 { "-ERR lease_not_found: gone; no\r\n" } else { "+OK\r\n" }).await;
        }
    };
    let (results, ()) = within(async { tokio::join!(client.settle_batch(leases), script) }).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 48);
    assert_refused(results.into_iter().nth(5).unwrap(), "lease_not_found");
}

#[tokio::test]
async fn an_acquire_that_waits_has_a_connection_of_its_own_which_the_next_one_uses() {
    let server = Server::listen().await;
    let (client, mut calls) = server.meet(patient()).await;
    let waits = || client.acquire(acquire().wait(Duration::from_secs(5)).on_expiry(OnExpiry::Keep));
    let script = async {
        let mut line = server.greet().await;
        let said = "ACQUIRE acme gpt-4 tpm 5 EXPIRY keep WAIT 5000";
        line.expect(&said.split(' ').collect::<Vec<_>>()).await;
        // Others are answered meanwhile.
        calls.expect(&["PING"]).await;
        calls.reply("+PONG\r\n").await;
        line.reply(&granted(0xaa)).await;
        line.command().await;
        line.reply("*4\r\n:0\r\n_\r\n:9\r\n:0\r\n").await;
        line
    };
    let both = async {
        let (lease, pong) = tokio::join!(waits(), client.ping());
        pong.unwrap();
        assert_eq!(lease.unwrap().granted().unwrap().detach(), Some(LeaseId(0xaa)));
        assert!(!waits().await.unwrap().is_granted());
    };
    within(async { tokio::join!(script, both) }).await;
}

#[tokio::test]
async fn who_leaves_the_line_gives_back_what_comes_too_late() {
    let server = Server::listen().await;
    let (client, mut calls) = server.meet(patient()).await;
    let task = tokio::spawn(async move { client.acquire(acquire().wait(PATIENT)).await.map(drop) });
    let mut line = within(server.greet()).await;
    within(line.command()).await;
    task.abort();
    assert!(within(task).await.unwrap_err().is_cancelled());
    // The server learns that nobody is there, but the answer was on its way.
    assert_eq!(within(line.command()).await, None);
    line.reply(&granted(0xaa)).await;
    within(calls.expect(&["LEASE", "RELEASE", LEASE])).await;
}
