//! The proxy's door, its connections, and what a test may order.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::call::Call;
use super::exchange::{self, Upstream};
use super::fault::Fault;
use super::message::Message;
use super::plan::{Plan, Power};
use super::rule::Rule;
use super::watch::Watcher;
use crate::command;
use crate::emulator::Emulator;

/// Stands before an endpoint. Without orders it passes everything on. Dropped, it closes.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    plan: Arc<Plan>,
    door: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Before the emulator, on a free port.
    ///
    /// # Panics
    /// When no port can be had.
    #[must_use]
    pub fn before(emulator: &Emulator) -> Self {
        Self::before_address(emulator.address()).expect("a free port")
    }

    /// Before anything that speaks DynamoDB's protocol without TLS.
    ///
    /// # Errors
    /// When no port or no thread can be had.
    pub fn before_address(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let plan = Arc::new(Plan::new());
        let shared = Arc::clone(&plan);
        let door = std::thread::Builder::new()
            .name("proxy".into())
            .spawn(move || accept_all(&listener, upstream, &shared))?;
        Ok(Self { address, plan, door: Some(door) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to give to an SDK as the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every call takes that much longer.
    pub fn set_latency(&self, latency: Duration) {
        self.plan.set_latency(latency);
    }

    /// The service's clock, as its `Date` headers tell it, is so far ahead of ours; behind, if negative.
    pub fn set_date_offset_ms(&self, offset_ms: i64) {
        self.plan.set_date_offset_ms(offset_ms);
    }

    /// From now on; an older rule that is for the same call goes first.
    pub fn add(&self, rule: Rule) {
        self.plan.add(rule);
    }

    /// Happens to the next call of that operation.
    pub fn once(&self, operation: &str, fault: Fault) {
        self.add(Rule::of(fault).on(operation).times(1));
    }

    /// Happens to every call until [`clear`](Self::clear).
    pub fn always(&self, fault: Fault) {
        self.add(Rule::of(fault));
    }

    /// Lets go of every call and answer that is held.
    pub fn release(&self) {
        self.plan.release();
    }

    /// Closes connections at their first call, as a service that is gone; orders are still heard.
    pub fn down(&self) {
        self.plan.set_power(Power::Down);
    }

    /// Takes connections and requests and answers nothing, as a service behind a broken path.
    pub fn silent(&self) {
        self.plan.set_power(Power::Silent);
    }

    /// There again.
    pub fn up(&self) {
        self.plan.set_power(Power::Up);
    }

    /// Takes all orders back; what has come is remembered.
    pub fn clear(&self) {
        self.plan.clear();
    }

    /// Tells every call that is passed on without a fault, with its answer, which then says what it cost.
    pub fn watch(&self, watcher: Watcher) {
        self.plan.watch.set(watcher);
    }

    /// How many calls of each operation have come.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.plan.counts()
    }

    /// How many calls of an operation have come.
    #[must_use]
    pub fn count(&self, operation: &str) -> u64 {
        self.counts().get(operation).copied().unwrap_or(0)
    }

    /// The last calls, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.plan.calls()
    }

    /// Counts from 0 again.
    pub fn forget_calls(&self) {
        self.plan.forget_calls();
    }

    /// Waits until so many calls of an operation have come.
    ///
    /// # Panics
    /// When they do not come: the test has then failed.
    pub fn wait_for(&self, operation: &str, count: u64) {
        assert!(self.plan.wait_for(operation, count), "no {count} calls of {operation}: {:?}", self.counts());
    }

    /// Waits until a call or an answer is held.
    ///
    /// # Panics
    /// When none is: the test has then failed.
    pub fn wait_for_held(&self) {
        assert!(self.plan.wait_for_held(), "nothing is held: {:?}", self.counts());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.plan.set_power(Power::Closed);
        // One connection wakes the thread that waits for some; it then sees that this is the end.
        if TcpStream::connect(self.address).is_ok() {
            self.door.take().map(JoinHandle::join);
        }
    }
}

fn accept_all(listener: &TcpListener, upstream: SocketAddr, plan: &Arc<Plan>) {
    while let Ok((stream, _)) = listener.accept() {
        if plan.power() == Power::Closed {
            return;
        }
        let plan = Arc::clone(plan);
        let served = std::thread::Builder::new().name("proxied".into()).spawn(move || {
            // A client that goes away in mid-sentence is nobody's failure.
            serve(stream, upstream, &plan).ok();
        });
        if served.is_err() {
            return;
        }
    }
}

/// Calls one after the other, until either side closes.
fn serve(stream: TcpStream, upstream: SocketAddr, plan: &Plan) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut upstream = Upstream::new(upstream);
    let mut stream = BufReader::new(stream);
    while let Some(request) = Message::read(&mut stream)? {
        let is_last = request.is_last();
        let answer = match command::answer(&request.first_line, &request.body, plan) {
            Some(body) => Some(Message::answer("200 OK", body)),
            None => exchange::answer(request, plan, &mut upstream)?,
        };
        let Some(answer) = answer else { return Ok(()) };
        answer.write(stream.get_mut())?;
        if is_last || answer.is_last() {
            return Ok(());
        }
    }
    Ok(())
}
