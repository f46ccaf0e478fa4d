//! Queues, limits and settings: each call's command, and the document it reads.

use std::time::Duration;

use tidegate_client::{Client, Durability, Error, Limit, Options, Retry, SettingsPatch};

use crate::queue_door::bulk;
use crate::scripted_server::{PATIENT, Server, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

const QUEUE: &str = r#"{"name":"orders","settings":{"visibility_timeout_ms":1000,"retention_ms":null,"max_attempts":5,
    "backoff":{"initial_ms":1,"factor":1.5,"max_ms":2,"jitter":0.0},"dead_letter_queue":"orders.dlq",
    "durability":"interval","throttle_keys":["a:{headers.a}"],"from_a_newer_server":1},
    "stats":{"depth":9,"ready":3,"parked":2,"delayed":1,"in_flight":3,"paused":true,"oldest_age_ms":12,
    "enqueued":20,"acked":11,"from_a_newer_server":1}}"#;

#[tokio::test]
async fn queues() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let orders = client.queue("orders");

    let script = async {
        let flows =
            r#"{"flows":[{"fairness_key":"t","weight":2,"share":0.4,"fair_share":0.5,"parked_on":["p"]}]}"#;
        for (command, document) in [
            (&["QUEUE", "CREATE", "orders", "{\\\"max_attempts\\\":5}"][..], QUEUE),
            (&["QUEUE", "UPDATE", "orders", "{\\\"weight\\\":null}"], QUEUE),
            (&["QUEUE", "INSPECT", "orders"], QUEUE),
            (&["QUEUE", "PAUSE", "orders"], QUEUE),
            (&["QUEUE", "RESUME", "orders"], QUEUE),
            (&["QUEUE", "LIST"], &format!("{{\"queues\":[{QUEUE}]}}")),
            (&["QUEUE", "STATS", "orders"], r#"{"depth":4}"#),
            (&["QUEUE", "FLOWS", "orders", "COUNT", "10"], flows),
            (&["QUEUE", "PURGE", "orders"], r#"{"purged":3}"#),
            (&["QUEUE", "REDRIVE", "orders"], r#"{"redriven":4}"#),
            (&["QUEUE", "REDRIVE", "orders", "COUNT", "2"], r#"{"redriven":2}"#),
            (&["QUEUE", "DELETE", "orders"], r#"{"deleted":"orders"}"#),
            (&["QUEUE", "PURGE", "orders"], r#"{"done":true}"#),
        ] {
            peer.expect(command).await;
            peer.reply(&bulk(document)).await;
        }
    };
    let calls = async {
        let made = orders.create(&SettingsPatch::new().max_attempts(5)).await.unwrap();
        assert_eq!((made.name.as_str(), made.settings.max_attempts), ("orders", Some(5)));
        assert_eq!(made.settings.durability, Durability::Interval);
        assert_eq!((made.stats.depth, made.stats.parked, made.stats.acked), (9, 2, 11));
        orders.update(&SettingsPatch::new().reset("weight")).await.unwrap();
        assert!(orders.inspect().await.unwrap().stats.paused);
        orders.pause().await.unwrap();
        orders.resume().await.unwrap();
        assert_eq!(client.queues().await.unwrap().len(), 1);
        assert_eq!(orders.stats().await.unwrap().depth, 4);
        let flows = orders.flows(10).await.unwrap();
        assert_eq!(
            (flows[0].fairness_key.as_str(), flows[0].parked_on.as_slice()),
            ("t", &["p".to_owned()][..])
        );
        assert_eq!(orders.purge().await.unwrap(), 3);
        assert_eq!(orders.redrive(None).await.unwrap(), 4);
        assert_eq!(orders.redrive(Some(2)).await.unwrap(), 2);
        orders.delete().await.unwrap();
        let odd = orders.purge().await;
        assert!(matches!(odd, Err(Error::Protocol { .. })), "{odd:?}");
    };
    within(async { tokio::join!(script, calls) }).await;
}

#[tokio::test]
async fn limits_and_settings() {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;

    let script = async {
        let limit = r#"{"key":"p","burst":5,"count":10,"period_s":60.0,"tokens":-2,"closed_until_ms":null}"#;
        let setting = r#"{"key":"k","value":"v"}"#;
        for (command, reply) in [
            (&["LIMIT", "SET", "p", "5", "10", "60"][..], bulk(limit)),
            (&["LIMIT", "GET", "p"], bulk(limit)),
            (&["LIMIT", "LIST"], bulk(&format!("{{\"limits\":[{limit}]}}"))),
            (&["LIMIT", "TAKE", "p", "3"], "*5\r\n:0\r\n:5\r\n:0\r\n:1\r\n:2\r\n".to_owned()),
            (&["LIMIT", "CLOSE", "p", "1500"], bulk(r#"{"key":"p","closed_until_ms":99}"#)),
            (&["LIMIT", "DEL", "p"], bulk(r#"{"removed":"p"}"#)),
            (&["SETTING", "SET", "k", "v"], bulk(setting)),
            (&["SETTING", "GET", "k"], bulk(setting)),
            (&["SETTING", "LIST"], bulk(&format!("{{\"settings\":[{setting}]}}"))),
            (&["SETTING", "LIST", "k"], bulk(r#"{"settings":[]}"#)),
            (&["SETTING", "DEL", "k"], bulk(r#"{"removed":"k"}"#)),
        ] {
            peer.expect(command).await;
            peer.reply(&reply).await;
        }
    };
    let calls = async {
        let limits = client.limits();
        let limit = limits.set("p", Limit::per_minute(10).burst(5)).await.unwrap();
        assert_eq!((limit.burst, limit.tokens), (Some(5), Some(-2)));
        assert_eq!(limits.get("p").await.unwrap(), limit);
        assert_eq!(limits.list().await.unwrap(), [limit]);
        assert_eq!(limits.take("p", 3).await.unwrap().retry, Retry::After(Duration::from_secs(2)));
        let closed = limits.close("p", Duration::from_millis(1500)).await.unwrap();
        assert_eq!((closed.burst, closed.closed_until_ms), (None, Some(99)));
        limits.remove("p").await.unwrap();
        let settings = client.settings();
        assert_eq!(settings.set("k", "v").await.unwrap().value, "v");
        assert_eq!(settings.get("k").await.unwrap().value, "v");
        assert_eq!(settings.list("").await.unwrap().len(), 1);
        assert!(settings.list("k").await.unwrap().is_empty());
        settings.remove("k").await.unwrap();
    };
    within(async { tokio::join!(script, calls) }).await;
}
