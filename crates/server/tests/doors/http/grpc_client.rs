//! A bare HTTP/2 client for gRPC.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use prost::Message;

use super::Door;

/// A connection.
pub struct Client {
    requests: SendRequest<Bytes>,
}

/// A call under way.
pub struct Call {
    requests: SendStream<Bytes>,
    headers: HeaderMap,
    body: RecvStream,
    buffered: BytesMut,
}

impl Client {
    pub async fn of(door: &Door) -> Client {
        let (requests, connection) = h2::client::handshake(door.connect().await).await.unwrap();
        // It ends with the test, or when the door closes it.
        tokio::spawn(async { connection.await.unwrap_or_default() });
        Client { requests }
    }

    /// Opens a call with its first message, which is the last one if `end`.
    pub async fn open(&self, method: &str, first: &impl Message, end: bool) -> Call {
        let request = Request::post(format!("http://x/{method}"))
            .header("te", "trailers")
            .header("content-type", "application/grpc");
        let mut ready = self.requests.clone().ready().await.unwrap();
        let (response, mut requests) = ready.send_request(request.body(()).unwrap(), false).unwrap();
        requests.send_data(framed(first), end).unwrap();
        let (head, body) = response.await.unwrap().into_parts();
        Call { requests, headers: head.headers, body, buffered: BytesMut::new() }
    }

    /// Makes a unary call; the stable code of what is refused is the error.
    pub async fn unary<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<M, String> {
        self.unary_of("tidegate.v1.Queue", method, request).await
    }

    /// The same of another service.
    pub async fn unary_of<M: Message + Default>(
        &self,
        service: &str,
        method: &str,
        request: &impl Message,
    ) -> Result<M, String> {
        let mut call = self.open(&format!("{service}/{method}"), request, true).await;
        match call.next().await {
            Some(message) => Ok(message),
            None => Err(call.code().await),
        }
    }
}

impl Call {
    pub fn send(&mut self, message: &impl Message) {
        self.requests.send_data(framed(message), false).unwrap();
    }

    /// Nothing more is asked.
    pub fn end(&mut self) {
        self.requests.send_data(Bytes::new(), true).unwrap();
    }

    pub async fn next<M: Message + Default>(&mut self) -> Option<M> {
        loop {
            if let Some(message) = unframed(&mut self.buffered) {
                return Some(message);
            }
            let data = self.body.data().await?.unwrap();
            self.body.flow_control().release_capacity(data.len()).unwrap();
            self.buffered.extend_from_slice(&data);
        }
    }

    /// The stable code that the call ended with; empty if all is well.
    pub async fn code(mut self) -> String {
        let trailers = self.body.trailers().await.unwrap().unwrap_or(self.headers);
        trailers.get("tidegate-code").map_or("", |code| code.to_str().unwrap()).to_owned()
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
fn unframed<M: Message + Default>(buffer: &mut BytesMut) -> Option<M> {
    let length = u32::from_be_bytes(buffer.get(1..5)?.try_into().unwrap()) as usize;
    buffer.get(5..5 + length)?;
    buffer.advance(5);
    Some(M::decode(buffer.split_to(length)).unwrap())
}
