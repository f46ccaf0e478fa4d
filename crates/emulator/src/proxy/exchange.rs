//! One call: read, judged, passed on or not, answered or not.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::batch::{self, Halves};
use super::call::Call;
use super::fault::{Fault, Refusal};
use super::message::Message;
use super::plan::{Plan, Power, Verdict};
use crate::patience::PATIENCE;

/// The way to the service from one connection of a client; opened when first needed.
pub struct Upstream {
    address: SocketAddr,
    open: Option<BufReader<TcpStream>>,
}

impl Upstream {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, open: None }
    }

    /// Asks the service. A connection that it has closed in between is opened anew: it had then read nothing of the request.
    fn ask(&mut self, request: &Message) -> io::Result<Message> {
        if let Some(kept) = self.open.take() {
            match self.ask_on(kept, request) {
                Ok(Some(answer)) => return Ok(answer),
                Err(error) if !is_closed(&error) => return Err(error),
                Ok(None) | Err(_) => {}
            }
        }
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        self.ask_on(BufReader::new(stream), request)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn ask_on(&mut self, mut stream: BufReader<TcpStream>, request: &Message) -> io::Result<Option<Message>> {
        request.write(stream.get_mut())?;
        let answer = Message::read(&mut stream)?;
        if answer.as_ref().is_some_and(|answer| !answer.is_last()) {
            self.open = Some(stream);
        }
        Ok(answer)
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe
    )
}

/// What the caller hears; nothing if its connection is to be closed.
pub fn answer(request: Message, plan: &Plan, upstream: &mut Upstream) -> io::Result<Option<Message>> {
    let operation = operation(&request);
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let call = Call { operation: operation.clone(), body: body.clone(), is_passed_on: false };
    let verdict = plan.judge(call.clone(), &String::from_utf8_lossy(&request.body));
    match verdict.power {
        Power::Up => {}
        Power::Silent => {
            plan.wait_for_power();
            return Ok(None);
        }
        Power::Down | Power::Closed => return Ok(None),
    }
    plan.delay(verdict.latency);
    if plan.power() != Power::Up {
        return Ok(None);
    }
    let Some(fault) = verdict.fault else {
        let answer = upstream.ask(&plan.watch.asked(&call, request))?;
        plan.watch.answered(&call, &answer);
        return Ok(Some(dated(answer, verdict.date_offset_ms)));
    };
    faulted(&Asked { request, operation, body }, fault, verdict, plan, upstream)
}

/// A request that something happens to.
struct Asked {
    request: Message,
    operation: String,
    body: Value,
}

fn faulted(
    asked: &Asked,
    fault: Fault,
    verdict: Verdict,
    plan: &Plan,
    upstream: &mut Upstream,
) -> io::Result<Option<Message>> {
    if fault == Fault::Held {
        plan.hold(verdict.releases);
    }
    let refusal = fault.refusal(&asked.operation, asked.body["TransactItems"].as_array().map_or(0, Vec::len));
    if !fault.is_passed_on() {
        return Ok(refusal.map(told));
    }
    let answer = match batch::halve(&asked.operation, &asked.body) {
        Some(halves) if fault == Fault::Partial => half_done(&asked.request, halves, upstream)?,
        _ => upstream.ask(&asked.request)?,
    };
    plan.delay(fault.lateness());
    if fault == Fault::HeldAnswer {
        plan.hold(verdict.releases);
    }
    match fault {
        Fault::Lost => Ok(None),
        _ => Ok(Some(refusal.map_or_else(|| dated(answer, verdict.date_offset_ms), told))),
    }
}

fn half_done(request: &Message, halves: Halves, upstream: &mut Upstream) -> io::Result<Message> {
    let mut answer = match &halves.passed_on {
        Some(body) => {
            let mut half = request.clone();
            half.set_body(body.to_string().into_bytes());
            upstream.ask(&half)?
        }
        None => Message::answer("200 OK", halves.empty.to_string().into_bytes()),
    };
    let mut body: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| json!({}));
    if answer.first_line.contains(" 200 ") {
        body[halves.told_under] = halves.unprocessed;
    }
    answer.set_body(body.to_string().into_bytes());
    Ok(answer)
}

fn told(refusal: Refusal) -> Message {
    Message::answer(refusal.status, refusal.body.to_string().into_bytes())
}

/// The service's clock, as far from ours as the test says.
fn dated(mut answer: Message, offset_ms: i64) -> Message {
    if offset_ms != 0 {
        let offset = Duration::from_millis(offset_ms.unsigned_abs());
        let now = SystemTime::now();
        let moved = if offset_ms > 0 { now + offset } else { now - offset };
        answer.set_header("Date", Some(httpdate::fmt_http_date(moved)));
    }
    answer
}

/// `X-Amz-Target: DynamoDB_20120810.UpdateItem`.
fn operation(request: &Message) -> String {
    let target = request.header("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}
