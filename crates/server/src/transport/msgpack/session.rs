//! One connection: frames in, frames out.

use std::sync::Arc;

use crate::api::{Api, Batch, Namespace, Refusal, Transport};
use crate::transport::framed::{FORESIGHT, Input, Next, Progress, Protocol};

use super::request::{self, Command, Request, Shape};
use super::response::{HEADER, Response};

/// Frames read ahead of being answered, at most: see [`Batch::foresee`].
const WINDOW: usize = 16;

/// What a typical request takes, to make room for as many as have arrived.
const TYPICAL_BYTES: usize = 24;

/// A frame that was read: its request, or why it holds none and in which shape to say so.
type Read<'a> = Result<Request<'a>, (Refusal, Shape)>;

/// What stands behind the frames that were read.
enum Behind {
    /// The beginning of a frame.
    Partial,
    /// A frame above the bound.
    TooLarge,
}

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

    fn respond(&mut self, batch: &mut Batch<'_>, read: &Read<'_>, output: &mut Vec<u8>) {
        let request = match read {
            Ok(request) => request,
            Err((refusal, shape)) => {
                batch.refuse();
                return Response::Refused(refusal).write(*shape, output);
            }
        };
        match self.run(batch, request) {
            Ok(response) => response.write(request.shape, output),
            Err(refusal) => Response::Refused(&refusal).write(request.shape, output),
        }
    }

    /// Reads the next few frames of `input`, at most `most`, into `window`: how many bytes they take, and what stands
    /// behind them unless the window is full.
    fn read<'i>(&self, input: &'i [u8], most: usize, window: &mut Vec<Read<'i>>) -> (usize, Option<Behind>) {
        window.clear();
        let mut rest = input;
        for _ in 0..most.min(WINDOW) {
            let behind = |behind| (input.len() - rest.len(), Some(behind));
            let Some((header, after)) = rest.split_first_chunk::<HEADER>() else {
                return behind(Behind::Partial);
            };
            let len = u32::from_be_bytes(*header) as usize;
            if len > self.max_frame_bytes {
                return behind(Behind::TooLarge);
            }
            let Some((frame, after)) = after.split_at_checked(len) else { return behind(Behind::Partial) };
            match request::read(frame) {
                Ok(request) => window.push(Ok(request)),
                Err(refusal) => window.push(Err((refusal, request::shape(frame)))),
            }
            rest = after;
        }
        (input.len() - rest.len(), None)
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

    fn answer(&mut self, input: Input<'_>, max: usize, output: &mut Vec<u8>) -> Progress {
        let input = input.bytes();
        let api = self.api.clone();
        let mut batch = api.begin(Self::TRANSPORT);
        let mut window = Vec::with_capacity((input.len() / TYPICAL_BYTES + 1).min(WINDOW));
        let (mut consumed, mut left) = (0, max);
        while left > 0 {
            let (len, behind) = self.read(&input[consumed..], left, &mut window);
            consumed += len;
            left -= window.len();
            if window.len() >= FORESIGHT {
                batch.foresee(window.iter().flatten().map(|request| request.call.key));
            }
            window.iter().for_each(|read| self.respond(&mut batch, read, output));
            match behind {
                None => (),
                Some(Behind::Partial) => return Progress { consumed, next: Next::Read },
                Some(Behind::TooLarge) => {
                    batch.refuse();
                    let refusal = Refusal::body_too_large(self.max_frame_bytes, "msgpack.max_frame_bytes");
                    self.refuse(&refusal, output);
                    return Progress { consumed: input.len(), next: Next::Close };
                }
            }
        }
        let next = if consumed == input.len() { Next::Read } else { Next::Continue };
        Progress { consumed, next }
    }

    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>) {
        Response::Refused(refusal).write(Shape::Map, output);
    }
}
