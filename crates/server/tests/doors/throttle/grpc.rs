//! gRPC over real sockets, frame by frame: a bare HTTP/2 client shows what a generated one would hide.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use prost::Message;
use tidegate::transport::grpc::throttlecrab;
use tidegate::transport::grpc::v1::throttle_result::Outcome;
use tidegate::transport::grpc::v1::{
    ClearRequest, ClearResponse, Decision, ResetRequest, ResetResponse, ThrottleBatchRequest,
    ThrottleBatchResponse, ThrottleRequest, ThrottleResult,
};
use tonic::Code;

use crate::http::Door;

const LIMITER: &str = "/throttlecrab.RateLimiter/Throttle";
const THROTTLE: &str = "/tidegate.v1.Ask/Throttle";
const STREAM: &str = "/tidegate.v1.Ask/ThrottleStream";
const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// An HTTP/2 connection.
#[derive(Clone)]
struct Client {
    requests: SendRequest<Bytes>,
}

/// A call under way.
struct Call {
    requests: SendStream<Bytes>,
    response: ResponseFuture,
}

/// How a call ended: the trailers, or the headers of a response that is nothing else.
#[derive(Debug)]
struct End(HeaderMap);

impl End {
    fn code(&self) -> Code {
        Code::from_bytes(self.0["grpc-status"].as_bytes())
    }

    fn stable_code(&self) -> &str {
        self.0.get("tidegate-code").map_or("", |code| code.to_str().unwrap())
    }
}

impl Client {
    async fn of(door: &Door) -> Client {
        let (requests, connection) = h2::client::handshake(door.connect().await).await.unwrap();
        // It ends with the test, or when the door closes it.
        tokio::spawn(async { connection.await.unwrap_or_default() });
        Client { requests }
    }

    /// Opens a call with metadata of its own.
    async fn open(&self, path: &str, metadata: &[(&'static str, &'static str)]) -> Call {
        let mut request = Request::post(format!("http://x{path}"))
            .header("te", "trailers")
            .header("content-type", "application/grpc");
        for (name, value) in metadata {
            request = request.header(*name, *value);
        }
        let mut ready = self.requests.clone().ready().await.unwrap();
        let (response, requests) = ready.send_request(request.body(()).unwrap(), false).unwrap();
        Call { requests, response }
    }

    /// Makes a unary call with any bytes for a body.
    async fn raw(&self, path: &str, metadata: &[(&'static str, &'static str)], body: Bytes) -> (Bytes, End) {
        let mut call = self.open(path, metadata).await;
        // A call that is refused by its head may be over by now.
        call.requests.send_data(body, true).unwrap_or_default();
        let mut replies = call.replies().await;
        let mut body = BytesMut::new();
        while let Some(data) = replies.body.data().await {
            let data = data.unwrap();
            replies.body.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        (body.freeze(), replies.end().await)
    }

    async fn unary<M: Message + Default>(&self, path: &str, message: &impl Message) -> Result<M, End> {
        self.unary_with(path, &[], message).await
    }

    async fn unary_with<M: Message + Default>(
        &self,
        path: &str,
        metadata: &[(&'static str, &'static str)],
        message: &impl Message,
    ) -> Result<M, End> {
        let (mut body, end) = self.raw(path, metadata, framed(message)).await;
        match end.code() {
            Code::Ok => Ok(unframed(&mut body).expect("one message")),
            _ => Err(end),
        }
    }
}

impl Call {
    async fn replies(self) -> Replies {
        let (head, body) = self.response.await.unwrap().into_parts();
        assert_eq!(head.status, 200);
        assert_eq!(head.headers["content-type"], "application/grpc");
        Replies { headers: head.headers, body, buffered: BytesMut::new(), _requests: self.requests }
    }
}

/// The answers of a call.
struct Replies {
    headers: HeaderMap,
    body: RecvStream,
    buffered: BytesMut,
    /// Kept, since dropping it would reset the call.
    _requests: SendStream<Bytes>,
}

impl Replies {
    async fn next<M: Message + Default>(&mut self) -> Option<M> {
        loop {
            if let Some(message) = unframed(&mut self.buffered) {
                return Some(message);
            }
            let data = self.body.data().await?.unwrap();
            self.body.flow_control().release_capacity(data.len()).unwrap();
            self.buffered.extend_from_slice(&data);
        }
    }

    async fn end(mut self) -> End {
        End(self.body.trailers().await.unwrap().unwrap_or(self.headers))
    }
}

fn framed(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(message.encoded_len() as u32);
    message.encode(&mut out).unwrap();
    out.freeze()
}

/// Takes the first message off, if it is there in whole.
fn unframed<M: Message + Default>(buffer: &mut (impl Buf + AsRef<[u8]>)) -> Option<M> {
    let length = u32::from_be_bytes(buffer.as_ref().get(1..5)?.try_into().unwrap()) as usize;
    buffer.as_ref().get(5..5 + length)?;
    buffer.advance(5);
    Some(M::decode(buffer.copy_to_bytes(length)).unwrap())
}

/// 60 an hour, 2 at once.
fn limited(key: &'static [u8]) -> ThrottleRequest {
    ThrottleRequest {
        key: Bytes::from_static(key),
        max_burst: Some(2),
        count_per_period: Some(60),
        period: Some(3600),
        quantity: None,
    }
}

#[tokio::test]
async fn a_client_of_throttlecrab_is_at_home() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let mut request = throttlecrab::ThrottleRequest {
        key: "k".to_owned(),
        max_burst: Some(2),
        count_per_period: Some(1),
        period: Some(i32::MAX),
        quantity: None,
    };
    let answer = |remaining| throttlecrab::ThrottleResponse {
        allowed: true,
        limit: 2,
        remaining,
        retry_after: 0,
        // 68 years for one token, and for two more than fits.
        reset_after: i32::MAX,
    };
    // An absent quantity takes 1, and 0 takes nothing.
    for (quantity, remaining) in [(None, 1), (Some(0), 1), (Some(1), 0), (Some(0), 0)] {
        request.quantity = quantity;
        assert_eq!(client.unary(LIMITER, &request).await.ok(), Some(answer(remaining)), "{quantity:?}");
    }
    request.quantity = Some(3);
    let never: throttlecrab::ThrottleResponse = client.unary(LIMITER, &request).await.unwrap();
    assert_eq!((never.allowed, never.retry_after), (false, -1));
}

#[tokio::test]
async fn every_method_answers() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let key = limited(b"\xff\0 is no text");
    let expected = |allowed, remaining, reset_after, retry_after| Decision {
        allowed,
        limit: 2,
        remaining,
        reset_after,
        retry_after,
    };
    assert_eq!(client.unary(THROTTLE, &key).await.ok(), Some(expected(true, 1, 60, 0)));
    assert_eq!(client.unary("/tidegate.v1.Ask/Peek", &key).await.ok(), Some(expected(true, 1, 60, 0)));
    let never = ThrottleRequest { quantity: Some(3), ..key.clone() };
    assert_eq!(client.unary(THROTTLE, &never).await.ok(), Some(expected(false, 1, 60, -1)));

    let requests = vec![key.clone(), key.clone(), ThrottleRequest::default()];
    let batch = ThrottleBatchRequest { requests };
    let ThrottleBatchResponse { results } =
        client.unary("/tidegate.v1.Ask/ThrottleBatch", &batch).await.unwrap();
    let [Some(Outcome::Decision(first)), Some(Outcome::Decision(second)), Some(Outcome::Error(third))] =
        &results.into_iter().map(|result| result.outcome).collect::<Vec<_>>()[..]
    else {
        panic!("two decisions and an error")
    };
    assert_eq!((*first, *second), (expected(true, 0, 120, 0), expected(false, 0, 120, 60)));
    assert_eq!(third.code, "limit_required");

    let reset = ResetRequest { keys: vec![key.key.clone(), Bytes::new()] };
    assert_eq!(client.unary("/tidegate.v1.Ask/Reset", &reset).await.ok(), Some(ResetResponse { reset: 1 }));
    client.unary::<Decision>(THROTTLE, &key).await.unwrap();
    let clear = client.unary("/tidegate.v1.Ask/Clear", &ClearRequest {}).await.ok();
    assert_eq!(clear, Some(ClearResponse { cleared: 1 }));
}

#[tokio::test]
async fn namespaces_are_apart() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    for (namespace, remaining) in [("a", 1), ("b", 1), ("a", 0)] {
        let metadata = [("tidegate-namespace", namespace)];
        let decision: Decision = client.unary_with(THROTTLE, &metadata, &limited(b"k")).await.unwrap();
        assert_eq!(decision.remaining, remaining, "{namespace}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_by_status_and_code() {
    let door = Door::with(|config| {
        config.http.max_batch = 2;
        config.http.max_body_bytes = 2000;
    })
    .await;
    let client = Client::of(&door).await;
    let bad_limit = framed(&ThrottleRequest { max_burst: Some(0), ..limited(b"k") });
    let long_key = framed(&limited(&[b'k'; 1025]));
    let batch = framed(&ThrottleBatchRequest { requests: vec![limited(b"k"); 3] });
    let good = framed(&limited(b"k"));
    let compressed = Bytes::from_static(b"\x01\0\0\0\0");
    let cases = [
        (THROTTLE, "", bad_limit, Code::InvalidArgument, "invalid_limit"),
        (THROTTLE, "", framed(&ThrottleRequest::default()), Code::InvalidArgument, "limit_required"),
        (THROTTLE, "", long_key, Code::InvalidArgument, "key_too_long"),
        (THROTTLE, "a b", good.clone(), Code::InvalidArgument, "invalid_namespace"),
        (STREAM, "a b", good.clone(), Code::InvalidArgument, "invalid_namespace"),
        (THROTTLE, "", Bytes::new(), Code::InvalidArgument, "invalid_request"),
        (THROTTLE, "", Bytes::from_static(b"\0\0\0\0\x01\xff"), Code::InvalidArgument, "invalid_request"),
        (THROTTLE, "", [&good[..], &good[..]].concat().into(), Code::InvalidArgument, "invalid_request"),
        (THROTTLE, "", compressed, Code::Unimplemented, ""),
        (THROTTLE, "", vec![0; 2001].into(), Code::ResourceExhausted, "body_too_large"),
        ("/tidegate.v1.Ask/ThrottleBatch", "", batch, Code::InvalidArgument, "batch_too_large"),
        ("/tidegate.v1.Ask/Nothing", "", good.clone(), Code::Unimplemented, "not_found"),
        ("/nothing.Nothing/Nothing", "", good.clone(), Code::Unimplemented, "not_found"),
        ("/throttle", "", good, Code::Unimplemented, "not_found"),
    ];
    for (path, namespace, body, code, stable) in cases {
        let metadata = [("tidegate-namespace", namespace)];
        let metadata = if namespace.is_empty() { &[][..] } else { &metadata[..] };
        let (_, end) = client.raw(path, metadata, body).await;
        assert_eq!((end.code(), end.stable_code()), (code, stable), "{path} {:?}", end.0);
    }
}

#[tokio::test]
async fn a_stream_answers_each_request_in_order() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let mut call = client.open(STREAM, &[]).await;
    // Two messages in one frame, then one in two frames.
    let (good, bad) = (framed(&limited(b"k")), framed(&ThrottleRequest::default()));
    call.requests.send_data([&good[..], &bad[..]].concat().into(), false).unwrap();
    call.requests.send_data(good.slice(..3), false).unwrap();
    call.requests.send_data(good.slice(3..), false).unwrap();
    call.requests.send_data(good.clone(), true).unwrap();
    let mut replies = call.replies().await;
    let mut told = Vec::new();
    while let Some(ThrottleResult { outcome }) = replies.next().await {
        told.push(match outcome.unwrap() {
            Outcome::Decision(decision) => format!("{} {}", decision.allowed, decision.remaining),
            Outcome::Error(refusal) => refusal.code,
        });
    }
    assert_eq!(told, ["true 1", "limit_required", "true 0", "false 0"]);
    assert_eq!(replies.end().await.code(), Code::Ok);
}

#[tokio::test]
async fn a_long_stream_is_answered_while_it_is_sent() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let mut call = client.open(STREAM, &[]).await;
    // Several times what either side may send without the other taking some of it.
    const COUNT: usize = 50_000;
    call.requests.send_data(framed(&limited(b"k")).repeat(COUNT).into(), true).unwrap();
    let mut replies = call.replies().await;
    let mut count = 0;
    while replies.next::<ThrottleResult>().await.is_some() {
        count += 1;
    }
    assert_eq!(count, COUNT);
    assert_eq!(replies.end().await.code(), Code::Ok);
}

#[tokio::test]
async fn an_open_stream_ends_when_the_server_stops() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let mut call = client.open(STREAM, &[]).await;
    call.requests.send_data(framed(&limited(b"k")), false).unwrap();
    let mut replies = call.replies().await;
    assert!(replies.next::<ThrottleResult>().await.is_some());
    door.stop();
    assert!(replies.next::<ThrottleResult>().await.is_none());
    let end = replies.end().await;
    assert_eq!((end.code(), end.stable_code()), (Code::Unavailable, "shutting_down"));
    drop(client);
    door.stopped().await;
}

#[tokio::test]
async fn a_message_that_does_not_come_is_not_waited_for() {
    let door = Door::with(|config| config.http.handshake_timeout_ms = 50).await;
    let client = Client::of(&door).await;
    let mut call = client.open(THROTTLE, &[]).await;
    call.requests.send_data(framed(&limited(b"k")).slice(..4), false).unwrap();
    let end = call.replies().await.end().await;
    assert_eq!((end.code(), end.stable_code()), (Code::DeadlineExceeded, "timeout"));
    // The connection, and a stream on it, live longer than that.
    let mut call = client.open(STREAM, &[]).await;
    call.requests.send_data(framed(&limited(b"k")), true).unwrap();
    assert!(call.replies().await.next::<ThrottleResult>().await.is_some());
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let door = Door::with(|config| config.http.idle_timeout_ms = 50).await;
    let (_requests, connection) = h2::client::handshake(door.connect().await).await.unwrap();
    connection.await.unwrap();
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set_but_not_for_health() {
    let door = Door::with(|config| {
        let option = tidegate::config::table::options().iter().find(|option| option.path == "auth_token");
        config.set_option(option.unwrap(), tidegate::config::value::Input::Word("secret")).unwrap();
    })
    .await;
    let client = Client::of(&door).await;
    let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    for path in [THROTTLE, LIMITER, STREAM, reflection] {
        let (_, end) = client.raw(path, &[], framed(&limited(b"k"))).await;
        assert_eq!((end.code(), end.stable_code()), (Code::Unauthenticated, "unauthenticated"), "{path}");
    }
    let token = [("authorization", "Bearer secret")];
    assert!(client.unary_with::<Decision>(THROTTLE, &token, &limited(b"k")).await.is_ok());
    assert_eq!(client.raw(HEALTH, &[], Bytes::from_static(&[0; 5])).await.1.code(), Code::Ok);
}

#[tokio::test]
async fn health_is_told_for_every_service() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    let request = |service: &str| {
        let service = service.to_owned();
        framed(&tonic_health::pb::HealthCheckRequest { service })
    };
    for service in ["", "throttlecrab.RateLimiter", "tidegate.v1.Ask"] {
        let (mut body, end) = client.raw(HEALTH, &[], request(service)).await;
        assert_eq!(end.code(), Code::Ok);
        let response: tonic_health::pb::HealthCheckResponse = unframed(&mut body).unwrap();
        assert_eq!(response.status().as_str_name(), "SERVING", "{service}");
    }
    assert_eq!(client.raw(HEALTH, &[], request("nothing")).await.1.code(), Code::NotFound);

    let mut call = client.open("/grpc.health.v1.Health/Watch", &[]).await;
    call.requests.send_data(request(""), true).unwrap();
    let first: tonic_health::pb::HealthCheckResponse = call.replies().await.next().await.unwrap();
    assert_eq!(first.status().as_str_name(), "SERVING");
}

#[tokio::test]
async fn services_are_found_by_reflection() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    for version in ["v1", "v1alpha"] {
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        // The field `list_services`, which is number 7, with any text.
        let (body, end) = client.raw(&path, &[], Bytes::from_static(b"\0\0\0\0\x03\x3a\x01*")).await;
        assert_eq!(end.code(), Code::Ok);
        let text = String::from_utf8_lossy(&body);
        for service in ["throttlecrab.RateLimiter", "tidegate.v1.Ask", "grpc.health.v1.Health"] {
            assert!(text.contains(service), "{version}: {text}");
        }
    }
}

#[tokio::test]
async fn json_is_served_on_the_same_connection_and_sees_the_same_keys() {
    let door = Door::open().await;
    let client = Client::of(&door).await;
    client.unary::<Decision>(THROTTLE, &limited(b"k")).await.unwrap();
    let request = Request::post("http://x/throttle").body(()).unwrap();
    let mut ready = client.requests.clone().ready().await.unwrap();
    let (response, mut body) = ready.send_request(request, false).unwrap();
    let json = r#"{"key":"k","max_burst":2,"count_per_period":60,"period":3600}"#;
    body.send_data(json.into(), true).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer = response.into_body().data().await.unwrap().unwrap();
    assert_eq!(answer, &br#"{"allowed":true,"limit":2,"remaining":0,"reset_after":120,"retry_after":0}"#[..]);
}
