//! A call on its way: the bytes to send, and who waits for what comes back.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::Error;
use crate::queue::{MessageId, Receipt};
use crate::resp::{Cursor, Frame, Item, Reply, Stop, input};

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
    Ids(Ids),
    /// For an array with an item for each.
    Acks(Vec<AckCaller>),
    /// Nobody.
    Nobody,
    /// The connection itself: it is of no use if this is refused.
    Connection,
}

/// The ids of a batch, as they come in.
#[derive(Debug)]
pub(crate) struct Ids {
    count: usize,
    ids: Vec<Result<MessageId, Error>>,
    caller: oneshot::Sender<Vec<Result<MessageId, Error>>>,
}

impl Call {
    /// A command, and where its answer will come.
    pub(crate) fn one(frame: Frame) -> (Call, oneshot::Receiver<Result<Reply, Error>>) {
        let (sender, answer) = oneshot::channel();
        (Call::Commands { frame, caller: Caller::One(sender) }, answer)
    }

    /// A batch of `count` enqueues, and where their ids will come.
    pub(crate) fn ids(
        frame: Frame,
        count: usize,
    ) -> (Call, oneshot::Receiver<Vec<Result<MessageId, Error>>>) {
        let (caller, answer) = oneshot::channel();
        let ids = Ids { count, ids: Vec::with_capacity(count), caller };
        (Call::Commands { frame, caller: Caller::Ids(ids) }, answer)
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
            Call::Commands { caller: Caller::Ids(ids), .. } => ids.caller.is_closed(),
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
            Caller::Ids(ids) => ids.count - ids.ids.len(),
            Caller::One(_) | Caller::Acks(_) | Caller::Nobody | Caller::Connection => 1,
        }
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
            Caller::Ids(mut ids) => {
                ids.ids.push(message_id(reply));
                Ok(ids.waits_or_is_told().map(Caller::Ids))
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
            Caller::Ids(mut ids) => {
                ids.ids.resize_with(ids.count, || Err(error.clone()));
                ids.waits_or_is_told();
            }
            Caller::Acks(callers) => callers.into_iter().for_each(|caller| tell(caller, Err(error.clone()))),
            Caller::Nobody | Caller::Connection => {}
        }
    }
}

impl Ids {
    fn waits_or_is_told(self) -> Option<Ids> {
        if self.ids.len() < self.count {
            return Some(self);
        }
        tell(self.caller, self.ids);
        None
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
