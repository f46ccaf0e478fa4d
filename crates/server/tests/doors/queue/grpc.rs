//! gRPC.

use tidegate::transport::grpc::v1::consume_request::Request as Asked;
use tidegate::transport::grpc::v1::consume_response::Response as Told;
use tidegate::transport::grpc::v1::{self, enqueue_result, settle_result};

use crate::http::grpc_client::{Call, Client};
use crate::http::{Door, KeptDoor};

const CONSUME: &str = "tidegate.v1.Queue/Consume";
const LONG_MS: i64 = 60_000;

async fn client_with_queue(door: &Door, settings: v1::Settings) -> Client {
    let client = Client::of(door).await;
    let create = v1::CreateQueueRequest { name: "q".to_owned(), settings: Some(settings) };
    let made: v1::QueueReport = client.unary("CreateQueue", &create).await.unwrap();
    assert_eq!(made.name, "q");
    client
}

fn messages(payloads: &[&'static str]) -> v1::EnqueueRequest {
    let message = |&payload: &&'static str| v1::NewMessage { payload: payload.into(), ..Default::default() };
    v1::EnqueueRequest { queue: "q".to_owned(), messages: payloads.iter().map(message).collect() }
}

fn receive(wait_ms: i64) -> v1::ReceiveRequest {
    v1::ReceiveRequest { queue: "q".to_owned(), max: Some(10), wait_ms: Some(wait_ms) }
}

fn payloads(messages: &[v1::Message]) -> Vec<&[u8]> {
    messages.iter().map(|message| &message.payload[..]).collect()
}

fn ids(response: &v1::EnqueueResponse) -> Vec<String> {
    let id = |result: &v1::EnqueueResult| match &result.outcome {
        Some(enqueue_result::Outcome::Id(id)) => id.clone(),
        Some(enqueue_result::Outcome::Error(error)) => error.code.clone(),
        None => String::new(),
    };
    response.results.iter().map(id).collect()
}

fn settled(response: &v1::SettleResponse) -> Vec<&str> {
    let told = |result: &'_ v1::SettleResult| match result.outcome.as_ref() {
        Some(settle_result::Outcome::Id(_)) => "ok".to_owned(),
        Some(settle_result::Outcome::Error(error)) => error.code.clone(),
        None => String::new(),
    };
    // Leaked: a test is short.
    response.results.iter().map(|result| &*told(result).leak()).collect()
}

#[tokio::test]
async fn a_message_goes_in_and_out_as_it_was() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let said = v1::NewMessage {
        payload: (&b"\xff\0"[..]).into(),
        headers: vec![v1::Header { name: "h".to_owned(), value: (&b"\xfe"[..]).into() }],
        fairness_key: Some((&b"\xfd"[..]).into()),
        weight: Some(2),
        cost: Some(3),
        throttle_keys: Some(v1::ThrottleKeys { keys: vec!["t".into()] }),
        charges: vec![v1::Charge { key: "u".into(), amount: 5 }],
        ..Default::default()
    };
    let wrong = v1::NewMessage { cost: Some(-1), ..Default::default() };
    let request = v1::EnqueueRequest { queue: "q".to_owned(), messages: vec![wrong, said.clone()] };
    let enqueued: v1::EnqueueResponse = client.unary("Enqueue", &request).await.unwrap();
    let [refused, id] = ids(&enqueued).try_into().unwrap();
    assert_eq!(refused, "invalid_message");
    let received: v1::ReceiveResponse = client.unary("Receive", &receive(LONG_MS)).await.unwrap();
    let [message] = received.messages.try_into().unwrap();
    assert_eq!((&message.id, &message.receipt), (&id, &format!("{id}-1")));
    assert_eq!((&message.payload, &message.headers), (&said.payload, &said.headers));
    assert_eq!(Some(&message.fairness_key), said.fairness_key.as_ref());
    assert_eq!((message.weight, message.cost, message.attempts), (2, 3, 0));
    let one = v1::Charge { key: "t".into(), amount: 1 };
    assert_eq!(message.charges, [one, said.charges[0].clone()]);
    let extend = v1::ExtendItem { receipt: message.receipt.clone(), visibility_timeout_ms: LONG_MS };
    let extend = v1::ExtendRequest { queue: "q".to_owned(), items: vec![extend] };
    assert_eq!(settled(&client.unary("Extend", &extend).await.unwrap()), ["ok"]);
    let receipts = vec![message.receipt.clone(), "x".to_owned(), message.receipt];
    let ack = v1::AckRequest { queue: "q".to_owned(), receipts, cost: Vec::new() };
    let acked = client.unary("Ack", &ack).await.unwrap();
    assert_eq!(settled(&acked), ["ok", "invalid_receipt", "message_not_found"]);
}

#[tokio::test]
async fn a_stream_of_messages_is_answered_in_order() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let mut call = client.open("tidegate.v1.Queue/EnqueueStream", &messages(&["a", "b"]), false).await;
    // The queue is named once.
    let more = |payload| v1::EnqueueRequest { queue: String::new(), ..messages(&[payload]) };
    for payload in ["c", "d", "e"] {
        call.send(&more(payload));
    }
    call.send(&v1::EnqueueRequest { queue: "other".to_owned(), ..messages(&["x"]) });
    call.end();
    let mut told = Vec::new();
    while let Some(response) = call.next::<v1::EnqueueResponse>().await {
        told.push(ids(&response));
    }
    assert_eq!(call.code().await, "");
    assert_eq!(told.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1, 1, 1]);
    assert_eq!(told.pop().unwrap(), ["queue_not_found"]);
    let in_order = told.concat();
    assert!(in_order.is_sorted(), "{in_order:?}");
    let received: v1::ReceiveResponse = client.unary("Receive", &receive(LONG_MS)).await.unwrap();
    assert_eq!(payloads(&received.messages), [b"a", b"b", b"c", b"d", b"e"]);
    assert_eq!(received.messages.iter().map(|message| message.id.clone()).collect::<Vec<_>>(), in_order);
}

fn ask(request: Asked) -> v1::ConsumeRequest {
    v1::ConsumeRequest { request: Some(request) }
}

fn subscribe(queue: &str, credit: i64) -> v1::ConsumeRequest {
    ask(Asked::Subscribe(v1::Subscribe { queue: queue.to_owned(), credit }))
}

async fn told(call: &mut Call) -> Told {
    call.next::<v1::ConsumeResponse>().await.expect("a response").response.unwrap()
}

/// So many messages, in however many responses.
async fn delivered(call: &mut Call, count: usize) -> Vec<v1::Message> {
    let mut messages = Vec::new();
    while messages.len() < count {
        let Told::Messages(more) = told(call).await else { panic!("no messages") };
        messages.extend(more.messages);
    }
    assert_eq!(messages.len(), count);
    messages
}

#[tokio::test]
async fn messages_come_for_credit_and_are_settled_on_the_stream() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let _: v1::EnqueueResponse = client.unary("Enqueue", &messages(&["a", "b", "c", "d"])).await.unwrap();
    let mut call = client.open(CONSUME, &subscribe("q", 2), false).await;
    assert_eq!(told(&mut call).await, Told::Subscribed(v1::Subscribed {}));
    let two = delivered(&mut call, 2).await;
    assert_eq!(payloads(&two), [b"a", b"b"]);
    let receipts = vec![two[0].receipt.clone(), "x".to_owned()];
    call.send(&ask(Asked::Ack(v1::Receipts { receipts, ..Default::default() })));
    let close = v1::Close { throttle_key: "t".into(), retry_after_ms: LONG_MS };
    let nack = v1::NackItem {
        receipt: two[1].receipt.clone(),
        delay_ms: Some(LONG_MS),
        close: Some(close),
        ..Default::default()
    };
    call.send(&ask(Asked::Nack(v1::Nacks { items: vec![nack] })));
    // There was no credit: these are next, not messages.
    let Told::Results(acked) = told(&mut call).await else { panic!("no results") };
    assert_eq!(settled(&acked), ["ok", "invalid_receipt"]);
    let Told::Results(nacked) = told(&mut call).await else { panic!("no results") };
    assert_eq!(settled(&nacked), ["ok"]);
    call.send(&ask(Asked::Credit(2)));
    let rest = delivered(&mut call, 2).await;
    assert_eq!(payloads(&rest), [b"c", b"d"]);
    let extend = v1::ExtendItem { receipt: rest[0].receipt.clone(), visibility_timeout_ms: LONG_MS };
    call.send(&ask(Asked::Extend(v1::Extensions { items: vec![extend] })));
    call.send(&ask(Asked::Release(v1::Receipts {
        receipts: vec![rest[1].receipt.clone()],
        ..Default::default()
    })));
    for _ in 0..2 {
        let Told::Results(results) = told(&mut call).await else { panic!("no results") };
        assert_eq!(settled(&results), ["ok"]);
    }
    // What it holds still comes back when it ends, and counts as no attempt.
    call.end();
    assert_eq!(call.next::<v1::ConsumeResponse>().await, None);
    assert_eq!(call.code().await, "");
    let mut back = Vec::new();
    while back.len() < 2 {
        let received: v1::ReceiveResponse = client.unary("Receive", &receive(15_000)).await.unwrap();
        assert!(!received.messages.is_empty(), "{back:?}");
        back.extend(received.messages);
    }
    back.sort_by(|one, other| one.payload.cmp(&other.payload));
    assert_eq!(payloads(&back), [b"c", b"d"]);
    assert!(back.iter().all(|message| message.attempts == 0));
}

#[tokio::test]
async fn a_consumer_that_is_cut_off_gives_back_what_it_holds() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let _: v1::EnqueueResponse = client.unary("Enqueue", &messages(&["a"])).await.unwrap();
    let mut call = client.open(CONSUME, &subscribe("q", 5), false).await;
    assert_eq!(told(&mut call).await, Told::Subscribed(v1::Subscribed {}));
    delivered(&mut call, 1).await;
    drop(call);
    let received: v1::ReceiveResponse = client.unary("Receive", &receive(15_000)).await.unwrap();
    assert_eq!((payloads(&received.messages), received.messages[0].attempts), (vec![&b"a"[..]], 0));
}

#[tokio::test]
async fn a_consumer_is_told_when_its_queue_is_deleted_and_when_the_server_stops() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let mut of_queue = client.open(CONSUME, &subscribe("q", 5), false).await;
    let made = v1::CreateQueueRequest { name: "other".to_owned(), settings: None };
    let _: v1::QueueReport = client.unary("CreateQueue", &made).await.unwrap();
    let mut of_other = client.open(CONSUME, &subscribe("other", 5), false).await;
    for call in [&mut of_queue, &mut of_other] {
        assert_eq!(told(call).await, Told::Subscribed(v1::Subscribed {}));
    }
    let delete = v1::QueueRequest { name: "q".to_owned() };
    let _: v1::DeleteQueueResponse = client.unary("DeleteQueue", &delete).await.unwrap();
    assert_eq!(of_queue.next::<v1::ConsumeResponse>().await, None);
    assert_eq!(of_queue.code().await, "queue_not_found");
    door.stop();
    assert_eq!(of_other.next::<v1::ConsumeResponse>().await, None);
    assert_eq!(of_other.code().await, "shutting_down");
}

#[tokio::test]
async fn a_subscription_comes_first_and_once() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = client_with_queue(&door, v1::Settings::default()).await;
    let code = |call: Call| async move {
        let mut call = call;
        while call.next::<v1::ConsumeResponse>().await.is_some() {}
        call.code().await
    };
    let none = client.open(CONSUME, &subscribe("other", 1), false).await;
    assert_eq!(code(none).await, "queue_not_found");
    let early = client.open(CONSUME, &ask(Asked::Credit(1)), false).await;
    assert_eq!(code(early).await, "invalid_request");
    let mut twice = client.open(CONSUME, &subscribe("q", 1), false).await;
    twice.send(&subscribe("q", 1));
    assert_eq!(code(twice).await, "invalid_request");
    let mut wrong = client.open(CONSUME, &subscribe("q", 1), false).await;
    wrong.send(&ask(Asked::Credit(-1)));
    assert_eq!(code(wrong).await, "invalid_request");
}

#[tokio::test]
async fn queues_are_made_changed_and_deleted() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let settings = v1::Settings {
        retention_ms: Some(5000),
        throttle_keys: vec!["t:{headers.t}".to_owned()],
        durability: Some(v1::Durability::Interval.into()),
        ..Default::default()
    };
    let client = client_with_queue(&door, settings.clone()).await;
    let name = || v1::QueueRequest { name: "q".to_owned() };
    let report: v1::QueueReport = client.unary("GetQueue", &name()).await.unwrap();
    let has = report.settings.unwrap();
    assert_eq!((has.retention_ms, &has.throttle_keys), (settings.retention_ms, &settings.throttle_keys));
    assert_eq!((has.durability, has.dead_letter_queue.as_deref()), (settings.durability, Some("q.dlq")));
    let update = v1::UpdateQueueRequest {
        name: "q".to_owned(),
        settings: Some(v1::Settings { max_depth: Some(1), ..Default::default() }),
        defaults: vec!["retention_ms".to_owned(), "throttle_keys".to_owned()],
    };
    let report: v1::QueueReport = client.unary("UpdateQueue", &update).await.unwrap();
    let has = report.settings.unwrap();
    assert_eq!((has.retention_ms, has.max_depth, has.throttle_keys.len()), (None, Some(1), 0));
    let enqueued: v1::EnqueueResponse = client.unary("Enqueue", &messages(&["a", "b"])).await.unwrap();
    assert_eq!(ids(&enqueued)[1], "queue_full");
    let flows = v1::FlowsRequest { name: "q".to_owned(), limit: None };
    let flows: v1::FlowsResponse = client.unary("Flows", &flows).await.unwrap();
    assert_eq!((&flows.flows[0].fairness_key[..], flows.flows[0].waiting), (&b"default"[..], 1));
    let paused: v1::QueueReport = client.unary("PauseQueue", &name()).await.unwrap();
    let resumed: v1::QueueReport = client.unary("ResumeQueue", &name()).await.unwrap();
    assert_eq!((paused.stats.unwrap().paused, resumed.stats.unwrap().paused), (true, false));
    let purged: v1::PurgeQueueResponse = client.unary("PurgeQueue", &name()).await.unwrap();
    assert_eq!(purged.purged, 1);
    let redrive = v1::RedriveRequest { name: "q.dlq".to_owned(), count: None };
    let redriven: v1::RedriveResponse = client.unary("Redrive", &redrive).await.unwrap();
    assert_eq!(redriven.redriven, 0);
    let queues: v1::ListQueuesResponse = client.unary("ListQueues", &v1::ListQueuesRequest {}).await.unwrap();
    assert_eq!(queues.queues.iter().map(|queue| &*queue.name).collect::<Vec<_>>(), ["q", "q.dlq"]);
    let _: v1::DeleteQueueResponse = client.unary("DeleteQueue", &name()).await.unwrap();
    let gone = client.unary::<v1::QueueReport>("GetQueue", &name()).await;
    assert_eq!(gone, Err("queue_not_found".to_owned()));
}

#[tokio::test]
async fn limits_and_settings() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = Client::of(&door).await;
    let set = v1::SetLimitRequest { key: "k".into(), burst: 2, count: 1, period_s: 3600 };
    let limit: v1::LimitReport = client.unary("SetLimit", &set).await.unwrap();
    assert_eq!(
        (limit.burst, limit.count, limit.period_s, limit.tokens),
        (Some(2), Some(1), Some(3600.0), Some(2))
    );
    let take = v1::TakeLimitRequest { key: "k".into(), quantity: Some(2) };
    let taken: v1::Decision = client.unary("TakeLimit", &take).await.unwrap();
    assert!(taken.allowed, "{taken:?}");
    let key = || v1::LimitRequest { key: "k".into() };
    let limit: v1::LimitReport = client.unary("GetLimit", &key()).await.unwrap();
    assert_eq!(limit.tokens, Some(0));
    let close = v1::CloseLimitRequest { key: "k".into(), retry_after_ms: LONG_MS };
    let closed: v1::LimitReport = client.unary("CloseLimit", &close).await.unwrap();
    assert!(closed.closed_until_ms.is_some());
    let limits: v1::ListLimitsResponse = client.unary("ListLimits", &v1::ListLimitsRequest {}).await.unwrap();
    assert_eq!(limits.limits.len(), 1);
    let _: v1::RemoveLimitResponse = client.unary("RemoveLimit", &key()).await.unwrap();
    let unset = v1::TakeLimitRequest { key: "other".into(), quantity: None };
    assert_eq!(client.unary::<v1::Decision>("TakeLimit", &unset).await, Err("limit_not_found".to_owned()));

    let set = v1::SetSettingRequest { key: "a/1".to_owned(), value: "v".to_owned() };
    let setting: v1::Setting = client.unary("SetSetting", &set).await.unwrap();
    let key = || v1::SettingRequest { key: "a/1".to_owned() };
    assert_eq!(client.unary::<v1::Setting>("GetSetting", &key()).await, Ok(setting.clone()));
    let list = v1::ListSettingsRequest { prefix: "a/".to_owned() };
    let listed: v1::ListSettingsResponse = client.unary("ListSettings", &list).await.unwrap();
    assert_eq!(listed.settings, [setting]);
    let _: v1::RemoveSettingResponse = client.unary("RemoveSetting", &key()).await.unwrap();
    assert_eq!(client.unary::<v1::Setting>("GetSetting", &key()).await, Err("setting_not_found".to_owned()));
}

#[tokio::test]
async fn a_server_without_queues_says_so() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let list = client.unary::<v1::ListQueuesResponse>("ListQueues", &v1::ListQueuesRequest {}).await;
    assert_eq!(list, Err("queues_off".to_owned()));
}
