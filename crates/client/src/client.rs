//! The client: every operation of the Ask door as a method, and the way to the Queue door and the ledger.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::call::{Call, Inbox};
use crate::link::{CALLS_READ, Link, Target};
use crate::queue::receive::Polls;
use crate::resp::command::{self, Verb};
use crate::resp::{Frame, Reply};
use crate::{Ask, Decision, Error, Limit, Limits, Options, Queue, QueueReport, Request, Settings, redial};

/// A connection to a Tidegate server, shared by all its clones.
///
/// The connection closes when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<Shared>,
}

/// What the clones of a client have in common.
#[derive(Debug)]
struct Shared {
    calls: mpsc::Sender<Call>,
    /// The ends of leases. No more come than leases were granted, so they need no bound of their own, and dropping a
    /// lease never waits for room.
    ends: mpsc::UnboundedSender<Call>,
    request_timeout: Duration,
    polls: Polls,
}

/// A call that has been handed over, and until when its answer is waited for.
pub(crate) struct Handed<T> {
    answer: oneshot::Receiver<T>,
    deadline: Instant,
}

impl Client {
    /// Connects to the RESP door at `address`, a `host:port`, with the default options.
    pub async fn connect(address: impl Into<String>) -> Result<Client, Error> {
        Client::options().connect(address).await
    }

    /// Options to connect with.
    pub fn options() -> Options {
        Options::default()
    }

    pub(crate) async fn open(address: String, options: Options) -> Result<Client, Error> {
        let request_timeout = options.request_timeout;
        let (calls, called) = mpsc::channel(options.max_in_flight);
        let (ends, ended) = mpsc::unbounded_channel();
        let target = Target { address, options };
        let link = Link::open(&target, CALLS_READ).await.map_err(redial::unsent)?;
        tokio::spawn(redial::serve(link, target.clone(), Inbox { calls: called, ends: ended }));
        Ok(Client { shared: Arc::new(Shared { calls, ends, request_timeout, polls: Polls::new(target) }) })
    }

    /// The queue of this name.
    pub fn queue(&self, name: &str) -> Queue {
        Queue::new(self, name)
    }

    /// Every queue of the namespace, by name.
    pub async fn queues(&self) -> Result<Vec<QueueReport>, Error> {
        Queue::list(self).await
    }

    /// Named limits: what throttle keys are held to.
    pub fn limits(&self) -> Limits<'_> {
        Limits::new(self)
    }

    /// Runtime settings: what hooks read.
    pub fn settings(&self) -> Settings<'_> {
        Settings::new(self)
    }

    /// May one call of `key` run now? If so, it is counted.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
    /// use tidegate_client::Limit;
    ///
    /// let tokens = Limit { burst: 1_000, count: 10_000, period_s: 3_600 };
    /// let decision = client.throttle(b"\xff any bytes", tokens).quantity(250).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn throttle<K: AsRef<[u8]>>(&self, key: K, limit: Limit) -> Ask<'_, K> {
        Ask::new(self, Verb::Throttle, key, limit)
    }

    /// Would one call of `key` pass now? Nothing is counted.
    pub fn peek<K: AsRef<[u8]>>(&self, key: K, limit: Limit) -> Ask<'_, K> {
        Ask::new(self, Verb::Peek, key, limit)
    }

    /// [`throttle`](Client::throttle) with the server's own default limit. A server that has none refuses with
    /// the code `limit_required`.
    pub async fn throttle_default(&self, key: impl AsRef<[u8]>) -> Result<Decision, Error> {
        let frame = command::throttle_default(key.as_ref());
        self.call(frame).await.and_then(Decision::from_reply)
    }

    /// Asks all of `requests` together and gives one result for each, in the same order. Each stands alone:
    /// one that is denied or refused does not keep the next from passing.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) {
    /// use tidegate_client::{Limit, Request};
    ///
    /// let limit = Limit::per_second(5);
    /// let requests = ["alice", "bob"].map(|key| Request::new(key, limit));
    /// for result in client.throttle_batch(&requests).await {
    ///     println!("{result:?}");
    /// }
    /// # }
    /// ```
    pub async fn throttle_batch<K: AsRef<[u8]>>(
        &self,
        requests: &[Request<K>],
    ) -> Vec<Result<Decision, Error>> {
        // A batch above the bound of the client needs replies to its head before its tail finds room. Those
        // come in without us, so handing over everything first cannot lock up.
        let mut handed = Vec::with_capacity(requests.len());
        for request in requests {
            let (call, answer) = Call::one(command::ask(Verb::Throttle, request));
            handed.push(self.hand_over(call, answer).await);
        }
        let mut results = Vec::with_capacity(requests.len());
        for call in handed {
            let reply = match call {
                Ok(call) => call.answer().await.and_then(|reply| reply),
                Err(error) => Err(error),
            };
            results.push(reply.and_then(Decision::from_reply));
        }
        results
    }

    /// Forgets `keys`: each has its whole burst again. Says how many of them were known.
    pub async fn reset<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64, Error> {
        if keys.is_empty() {
            return Ok(0);
        }
        self.call(command::reset(keys)).await.and_then(count)
    }

    /// Forgets every key of the namespace. Says how many there were.
    pub async fn clear(&self) -> Result<u64, Error> {
        self.call(command::words(&[b"THROTTLE.CLEAR"])).await.and_then(count)
    }

    /// Asks the server for a sign of life.
    pub async fn ping(&self) -> Result<(), Error> {
        match self.call(command::words(&[b"PING"])).await? {
            Reply::Simple(text) if text == "PONG" => Ok(()),
            _ => Err(Error::protocol("a ping is answered by PONG")),
        }
    }

    /// Sends one command and waits for its reply.
    pub(crate) async fn call(&self, frame: Frame) -> Result<Reply, Error> {
        let (call, answer) = Call::one(frame);
        self.hand_over(call, answer).await?.answer().await?
    }

    /// Gives a call to the task that owns the connection, waiting for room if there is none.
    pub(crate) async fn hand_over<T>(
        &self,
        call: Call,
        answer: oneshot::Receiver<T>,
    ) -> Result<Handed<T>, Error> {
        let Shared { calls, request_timeout, .. } = &*self.shared;
        hand_over(calls, *request_timeout, call, answer).await
    }

    /// Gives the end of a lease to the task that owns the connection, at once. From here on it is sent even if nobody
    /// waits for the answer any more.
    pub(crate) fn end<T>(&self, call: Call, answer: oneshot::Receiver<T>) -> Result<Handed<T>, Error> {
        let deadline = Instant::now() + self.shared.request_timeout;
        self.shared.ends.send(call).map_err(|_| Error::Disconnected)?;
        Ok(Handed { answer, deadline })
    }

    /// The same, of which nobody hears.
    pub(crate) fn end_unheard(&self, call: Call) {
        // Without its runtime a client cannot send, and the lease expires by itself.
        self.shared.ends.send(call).ok();
    }

    /// The way to the task that owns the connection, and how long a call may take.
    pub(crate) fn way(&self) -> (&mpsc::Sender<Call>, Duration) {
        (&self.shared.calls, self.shared.request_timeout)
    }

    /// Connections for who waits for something.
    pub(crate) fn polls(&self) -> &Polls {
        &self.shared.polls
    }
}

/// Gives a call to the task that owns a connection, waiting for room if there is none.
pub(crate) async fn hand_over<T>(
    calls: &mpsc::Sender<Call>,
    request_timeout: Duration,
    call: Call,
    answer: oneshot::Receiver<T>,
) -> Result<Handed<T>, Error> {
    let deadline = Instant::now() + request_timeout;
    match timeout_at(deadline, calls.send(call)).await {
        Ok(Ok(())) => Ok(Handed { answer, deadline }),
        // The task of a client ends before its clients only together with its runtime; that of a consumer ends with
        // its connection.
        Ok(Err(_)) => Err(Error::Disconnected),
        Err(_) => Err(Error::Timeout),
    }
}

impl<T> Handed<T> {
    pub(crate) async fn answer(self) -> Result<T, Error> {
        match timeout_at(self.deadline, self.answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Error::Disconnected),
            Err(_) => Err(Error::Timeout),
        }
    }
}

fn count(reply: Reply) -> Result<u64, Error> {
    match reply {
        Reply::Integer(number) => {
            u64::try_from(number).map_err(|_| Error::protocol("a count of keys that is negative"))
        }
        _ => Err(Error::protocol("a count of keys is a number")),
    }
}
