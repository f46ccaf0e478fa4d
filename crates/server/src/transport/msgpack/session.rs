//! One connection: frames in, frames out.

use std::sync::Arc;

use crate::api::{Api, Batch, Namespace, Refusal, Transport};
use crate::transport::framed::{Next, Progress, Protocol};

use super::request::{self, Command, Request, Shape};
use super::response::{HEADER, Response};

/// One MessagePack connection.
pub struct Msgpack {
    api: Arc<Api>,
    max_frame_bytes: usize,
    authorized: bool,
    default_namespace: Namespace,
}

impl Msgpack {
    /// A connection that has said nothing yet.
    pub fn new(api: Arc<Api>, max_frame_bytes: usize) -> Msgpack {
        let (authorized, default_namespace) = (!api.wants_token(), api.default_namespace());
        Msgpack { api, max_frame_bytes, authorized, default_namespace }
    }

    fn respond(&mut self, batch: &mut Batch<'_>, frame: &[u8], output: &mut Vec<u8>) {
        let request = match request::read(frame) {
            Ok(request) => request,
            Err(refusal) => {
                batch.refuse();
                return Response::Refused(&refusal).write(request::shape(frame), output);
            }
        };
        match self.run(batch, &request) {
            Ok(response) => response.write(request.shape, output),
            Err(refusal) => Response::Refused(&refusal).write(request.shape, output),
        }
    }

    fn run<'r>(&mut self, batch: &mut Batch<'_>, request: &Request<'_>) -> Result<Response<'r>, Refusal> {
        let Request { command, call, .. } = request;
        if *command == Command::Auth {
            self.api.authorize(Some(call.key)).inspect_err(|_| batch.refuse())?;
            self.authorized = true;
            return Ok(Response::Count(1));
        }
        let namespace = self.admit(request).inspect_err(|_| batch.refuse())?;
        match command {
            Command::Throttle => batch.throttle(namespace, call).map(Response::Decision),
            Command::Peek => batch.peek(namespace, call).map(Response::Decision),
            Command::Reset => batch.reset(namespace, call.key).map(|held| Response::Count(u64::from(held))),
            Command::Clear => Ok(Response::Count(batch.clear(namespace))),
            Command::Auth => unreachable!("answered above"),
        }
    }

    /// Where a request may work, if its connection has presented the token.
    fn admit(&self, request: &Request<'_>) -> Result<Namespace, Refusal> {
        if !self.authorized {
            self.api.authorize(None)?;
        }
        match request.namespace {
            Some(name) => self.api.namespace(name),
            None => Ok(self.default_namespace),
        }
    }
}

impl Protocol for Msgpack {
    const TRANSPORT: Transport = Transport::Msgpack;
    const SECTION: &'static str = "msgpack";

    fn answer(&mut self, input: &[u8], max: usize, output: &mut Vec<u8>) -> Progress {
        let api = self.api.clone();
        let mut batch = api.begin(Self::TRANSPORT);
        let mut consumed = 0;
        for _ in 0..max {
            let rest = &input[consumed..];
            let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else {
                return Progress { consumed, next: Next::Read };
            };
            let len = u32::from_be_bytes(*header) as usize;
            if len > self.max_frame_bytes {
                batch.refuse();
                let refusal = Refusal::body_too_large(self.max_frame_bytes, "msgpack.max_frame_bytes");
                self.refuse(&refusal, output);
                return Progress { consumed: input.len(), next: Next::Close };
            }
            let Some(frame) = rest.get(..len) else { return Progress { consumed, next: Next::Read } };
            consumed += HEADER + len;
            self.respond(&mut batch, frame, output);
        }
        let next = if consumed == input.len() { Next::Read } else { Next::Continue };
        Progress { consumed, next }
    }

    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>) {
        Response::Refused(refusal).write(Shape::Map, output);
    }
}
