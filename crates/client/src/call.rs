//! A call on its way: the bytes to send, and who waits for what comes back.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::queue::{MessageId, Receipt};
use crate::resp::{Cursor, Frame, Item, Reply, Stop, input};
use crate::{Acquired, Client, Error};

/// Where the calls of clients arrive.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Calls, bounded.
    pub(crate) calls: mpsc::Receiver<Call>,
    /// The ends of leases.
    pub(crate) ends: mpsc::UnboundedReceiver<Call>,
}

impl Inbox {
    /// Puts the calls that are there into `waiting`, at most `max`, and waits for the first. Says how many; 0 when every
    /// client is gone. Nothing is lost if this is dropped before it is done.
    pub(crate) async fn take(&mut self, waiting: &mut Vec<Call>, max: usize) -> usize {
        poll_fn(|context| {
            // Ends first: they make room for others.
            let ended = self.ends.poll_recv_many(context, waiting, max);
            if ended.is_ready() { ended } else { self.calls.poll_recv_many(context, waiting, max) }
        })
        .await
    }
}

/// One call.
#[derive(Debug)]
pub(crate) enum Call {
    /// One command, or a batch of commands that are written together.
    Commands {
        /// Their bytes.
        frame: Frame,
        /// Who waits.
        caller: Caller,
    },
    /// An acknowledgement. Those of a queue that wait together become one command.
    Ack {
        /// The queue.
        queue: Arc<str>,
        /// Which delivery.
        receipt: Receipt,
        /// Who waits.
        caller: AckCaller,
    },
}

/// Who waits for the answer to an acknowledgement.
pub(crate) type AckCaller = oneshot::Sender<Result<(), Error>>;

/// Who waits for replies. As many replies come as there are commands.
#[derive(Debug)]
pub(crate) enum Caller {
    /// For the one reply.
    One(oneshot::Sender<Result<Reply, Error>>),
    /// For the ids of a batch of messages.
    Ids(Batch<MessageId>),
    /// For a batch of acquires, whose leases end if nobody is there any more.
    Acquires(Client, Batch<Acquired>),
    /// For an array with an item for each.
    Acks(Vec<AckCaller>),
    /// Nobody.
    Nobody,
    /// The connection itself: it is of no use if this is refused.
    Connection,
}

/// The answers to a batch, as they come in.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    count: usize,
    answers: Vec<Result<T, Error>>,
    caller: oneshot::Sender<Vec<Result<T, Error>>>,
}

/// Where the answers to a batch will come.
pub(crate) type Answers<T> = oneshot::Receiver<Vec<Result<T, Error>>>;

impl Call {
    /// A command, and where its answer will come.
    pub(crate) fn one(frame: Frame) -> (Call, oneshot::Receiver<Result<Reply, Error>>) {
        let (sender, answer) = oneshot::channel();
        (Call::Commands { frame, caller: Caller::One(sender) }, answer)
    }

    /// A batch of `count` enqueues, and where their ids will come.
    pub(crate) fn ids(frame: Frame, count: usize) -> (Call, Answers<MessageId>) {
        let (batch, answers) = Batch::of(count);
        (Call::Commands { frame, caller: Caller::Ids(batch) }, answers)
    }

    /// A batch of `count` acquires, and where their leases will come, which are the client's to end.
    pub(crate) fn acquires(frame: Frame, count: usize, client: Client) -> (Call, Answers<Acquired>) {
        let (batch, answers) = Batch::of(count);
        (Call::Commands { frame, caller: Caller::Acquires(client, batch) }, answers)
    }

    /// A command that is answered by OK, and sent even if nobody hears that.
    pub(crate) fn insisted(frame: Frame) -> (Call, oneshot::Receiver<Result<(), Error>>) {
        let (caller, answer) = oneshot::channel();
        (Call::Commands { frame, caller: Caller::Acks(vec![caller]) }, answer)
    }

    /// A command whose answer nobody waits for.
    pub(crate) fn unheard(frame: Frame) -> Call {
        Call::Commands { frame, caller: Caller::Nobody }
    }

    /// How many replies it will have.
    pub(crate) fn replies(&self) -> usize {
        match self {
            Call::Commands { caller, .. } => caller.replies(),
            Call::Ack { .. } => 1,
        }
    }

    /// Whether nobody would hear the answer.
    pub(crate) fn is_given_up(&self) -> bool {
        match self {
            Call::Commands { caller: Caller::One(caller), .. } => caller.is_closed(),
            Call::Commands { caller: Caller::Ids(batch), .. } => batch.caller.is_closed(),
            Call::Commands { caller: Caller::Acquires(_, batch), .. } => batch.caller.is_closed(),
            Call::Commands { .. } => false,
            Call::Ack { caller, .. } => caller.is_closed(),
        }
    }

    /// Tells the caller that there will be no answer.
    pub(crate) fn fail(self, error: &Error) {
        match self {
            Call::Commands { caller, .. } => caller.fail(error),
            Call::Ack { caller, .. } => tell(caller, Err(error.clone())),
        }
    }
}

impl Caller {
    /// How many replies it waits for.
    pub(crate) fn replies(&self) -> usize {
        match self {
            Caller::Ids(batch) => batch.missing(),
            Caller::Acquires(_, batch) => batch.missing(),
            Caller::One(_) | Caller::Acks(_) | Caller::Nobody | Caller::Connection => 1,
        }
    }

    /// Whether the server has to hear of it even if nobody is left to hear the answer.
    pub(crate) fn is_insisted(&self) -> bool {
        matches!(self, Caller::Nobody | Caller::Acks(_))
    }

    /// Takes one reply, whole. Gives the caller back while it waits for more. An error is about the reply: it cannot be
    /// read, so whose replies come next cannot be known either.
    pub(crate) fn answer(self, reply: &[u8]) -> Result<Option<Caller>, Error> {
        match self {
            Caller::One(caller) => {
                let reply = Reply::read(reply);
                let broken = reply.as_ref().err().cloned();
                tell(caller, reply.and_then(refusal));
                broken.map_or(Ok(None), Err)
            }
            Caller::Ids(batch) => Ok(batch.push(message_id(reply)).map(Caller::Ids)),
            Caller::Acquires(client, batch) => {
                let acquired = Acquired::read(&mut Cursor::over(reply), &client);
                Ok(batch.push(acquired).map(|batch| Caller::Acquires(client, batch)))
            }
            Caller::Acks(callers) => acks(callers, reply).map(|()| None),
            Caller::Nobody => Ok(None),
            Caller::Connection => acked(Cursor::over(reply).item()).map(|()| None),
        }
    }

    /// Tells that no more replies will come.
    pub(crate) fn fail(self, error: &Error) {
        match self {
            Caller::One(caller) => tell(caller, Err(error.clone())),
            Caller::Ids(batch) => batch.fail(error),
            Caller::Acquires(_, batch) => batch.fail(error),
            Caller::Acks(callers) => callers.into_iter().for_each(|caller| tell(caller, Err(error.clone()))),
            Caller::Nobody | Caller::Connection => {}
        }
    }
}

impl<T> Batch<T> {
    fn of(count: usize) -> (Batch<T>, Answers<T>) {
        let (caller, answers) = oneshot::channel();
        (Batch { count, answers: Vec::with_capacity(count), caller }, answers)
    }

    fn missing(&self) -> usize {
        self.count - self.answers.len()
    }

    /// Gives itself back while it waits for more.
    fn push(mut self, answer: Result<T, Error>) -> Option<Batch<T>> {
        self.answers.push(answer);
        if self.missing() > 0 {
            return Some(self);
        }
        tell(self.caller, self.answers);
        None
    }

    fn fail(mut self, error: &Error) {
        self.answers.resize_with(self.count, || Err(error.clone()));
        tell(self.caller, self.answers);
    }
}

fn tell<T>(caller: oneshot::Sender<T>, answer: T) {
    // A caller that has given up is not there to be told.
    caller.send(answer).ok();
}

fn refusal(reply: Reply) -> Result<Reply, Error> {
    match reply {
        Reply::Error(text) => Err(Error::refused(&text)),
        reply => Ok(reply),
    }
}

/// What an enqueue came to.
fn message_id(reply: &[u8]) -> Result<MessageId, Error> {
    match Cursor::over(reply).item() {
        Ok(Item::Bulk(id)) => MessageId::from_hex(id).ok_or(Error::protocol("an id of 16 digits")),
        Ok(Item::Error(text)) => Err(refused(text)),
        _ => Err(Error::protocol("an enqueue is answered by an id")),
    }
}

/// One receipt is answered by itself, several by an array.
fn acks(callers: Vec<AckCaller>, reply: &[u8]) -> Result<(), Error> {
    let mut cursor = Cursor::over(reply);
    if callers.len() > 1 {
        match cursor.item().map_err(input::malformed)? {
            Item::Array(len) if len == callers.len() => {}
            // The whole command was refused.
            Item::Error(text) => {
                let error = refused(text);
                callers.into_iter().for_each(|caller| tell(caller, Err(error.clone())));
                return Ok(());
            }
            _ => {
                let error = Error::protocol("an acknowledgement of several is answered one by one");
                callers.into_iter().for_each(|caller| tell(caller, Err(error.clone())));
                return Err(error);
            }
        }
    }
    for caller in callers {
        tell(caller, acked(cursor.item()));
    }
    Ok(())
}

/// What is answered by OK.
fn acked(item: Result<Item<'_>, Stop>) -> Result<(), Error> {
    match item.map_err(input::malformed)? {
        Item::Simple(_) | Item::Bulk(_) => Ok(()),
        Item::Error(text) => Err(refused(text)),
        _ => Err(Error::protocol("this is answered by OK")),
    }
}

fn refused(text: &[u8]) -> Error {
    Error::refused(&String::from_utf8_lossy(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T>(mut answer: oneshot::Receiver<T>) -> T {
        answer.try_recv().expect("the caller was told")
    }

    #[test]
    fn a_batch_is_told_once_each_has_its_answer() {
        let (call, mut answer) = Call::ids(Frame::with_room(0), 3);
        let Call::Commands { caller, .. } = call else { panic!("a batch is commands") };
        let caller = caller.answer(b"$16\r\n0192f3c4a1b20001\r\n").unwrap().unwrap();
        assert!(answer.try_recv().is_err());
        let caller = caller.answer(b"-ERR queue_full: no; wait\r\n").unwrap().unwrap();
        caller.fail(&Error::Disconnected);
        let [id, full, lost] = <[_; 3]>::try_from(told(answer)).unwrap();
        assert_eq!(id.unwrap().to_string(), "0192f3c4a1b20001");
        assert!(matches!(full, Err(Error::Refused { code, .. }) if code == "queue_full"));
        assert!(matches!(lost, Err(Error::Disconnected)));
    }

    #[test]
    fn acknowledgements_together_are_told_apart() {
        let (callers, answers): (Vec<_>, Vec<_>) = (0..2).map(|_| oneshot::channel()).unzip();
        Caller::Acks(callers).answer(b"*2\r\n+OK\r\n-ERR stale_receipt: old; no\r\n").unwrap();
        let [first, second] = <[_; 2]>::try_from(answers).unwrap().map(told);
        first.unwrap();
        assert!(matches!(second, Err(Error::Refused { code, .. }) if code == "stale_receipt"));
    }

    #[test]
    fn one_refusal_can_be_for_all() {
        let (callers, answers): (Vec<_>, Vec<_>) = (0..2).map(|_| oneshot::channel()).unzip();
        Caller::Acks(callers).answer(b"-ERR queue_not_found: none; create it\r\n").unwrap();
        for answer in answers {
            assert!(matches!(told(answer), Err(Error::Refused { code, .. }) if code == "queue_not_found"));
        }
    }
}
