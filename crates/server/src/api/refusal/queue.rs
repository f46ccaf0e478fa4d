//! What only the Queue door refuses, and how the engine's own refusals are told.

use std::fmt::Display;

use tidegate_engine::Refused;

use super::{Code, Refusal};

/// Bytes that somebody sent, short enough and plain enough to be shown.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(80).collect();
    text.escape_debug().to_string()
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        if let Refused::Ledger(refused) = refused {
            return refused.into();
        }
        let (code, hint) = reason(&refused);
        Refusal::new(code, refused.to_string(), hint)
    }
}

/// The code of what the engine refuses, and the next step.
fn reason(refused: &Refused) -> (Code, &'static str) {
    match refused {
        Refused::QueueNotFound(_) => {
            (Code::QueueNotFound, "create it first, or list the queues of this namespace")
        }
        Refused::QueueExists(_) => {
            (Code::QueueExists, "update it to change its settings, or choose another name")
        }
        Refused::InvalidName(_) => (Code::InvalidName, "use 1 to 128 letters, digits, '_', '-', '.' or ':'"),
        Refused::InvalidSettings(_) => {
            (Code::InvalidSettings, "inspect a queue to see every setting with its value")
        }
        Refused::MessageNotFound(_) => (
            Code::MessageNotFound,
            "it was answered already, or belongs to another queue; nothing is left to do",
        ),
        Refused::StaleReceipt(_) => (
            Code::StaleReceipt,
            "use the receipt of the latest delivery; a longer visibility timeout gives more time",
        ),
        Refused::ConsumerNotFound(_) => (Code::ConsumerNotFound, "subscribe again"),
        Refused::QueueFull(_) => (
            Code::QueueFull,
            "retry once consumers have caught up, or raise max_depth or max_bytes of the queue",
        ),
        Refused::Ledger(refused) => super::ledger::reason(refused),
        Refused::NamespaceDeleted(_) => (Code::NamespaceDeleted, "recover it first, or use another one"),
        Refused::NamespaceNotFound(_) => (
            Code::NamespaceNotFound,
            "list the namespaces; one with nothing but inline keys is emptied by clearing them",
        ),
        Refused::NamespaceNotDeleted(_) => {
            (Code::NamespaceNotFound, "delete it first, or list the namespaces")
        }
        Refused::DefaultNamespace => (Code::InvalidNamespace, "name another one"),
        Refused::FlowNotFound(_) => (Code::MessageNotFound, "nothing of it waits or is in flight"),
        Refused::NoSuchMessage(_) => (Code::MessageNotFound, "it is done with, or belongs to another queue"),
        Refused::NotADeadLetterQueue(_) => {
            (Code::NotADeadLetterQueue, "name the dead-letter queue itself, for instance NAME.dlq")
        }
        Refused::OriginGone(_) => (Code::OriginGone, "create that queue again, then redrive"),
        Refused::LimitNotFound(_) => (Code::LimitNotFound, "set its limit first"),
        Refused::Storage(_) => (Code::StorageFull, "free some space on the server's disk, then retry"),
        Refused::Stopping => (Code::ShuttingDown, "connect again in a moment"),
    }
}

impl Refusal {
    /// The server was told to keep no queues.
    pub fn queues_off() -> Refusal {
        let hint = "set queue.enabled and persistence.enabled to true, and restart the server";
        Refusal::new(Code::QueuesOff, "this server keeps no queues", hint)
    }

    /// There is no queue `name`.
    pub fn queue_not_found(name: &[u8]) -> Refusal {
        Refused::QueueNotFound(shown(name)).into()
    }

    /// Throttle key `key` has no limit.
    pub fn limit_not_found(key: &[u8]) -> Refusal {
        Refused::LimitNotFound(shown(key)).into()
    }

    /// Setting `key` has no value.
    pub fn setting_not_found(key: &[u8]) -> Refusal {
        let message = format!("the setting `{}` has no value", shown(key));
        Refusal::new(Code::SettingNotFound, message, "set it first, or list the settings of this namespace")
    }

    /// The connection has no such consumer.
    pub fn consumer_not_found(id: impl Display) -> Refusal {
        let message = format!("this connection has no consumer {id}");
        Refusal::new(Code::ConsumerNotFound, message, "CONSUME answers with the number of the new consumer")
    }

    /// A payload of `len` bytes where `max` are allowed.
    pub fn payload_too_large(len: usize, max: usize) -> Refusal {
        let message = format!("the message has {len} bytes, {max} are allowed");
        let hint = "keep large bodies elsewhere and send where they are, or raise queue.max_message_bytes";
        Refusal::new(Code::PayloadTooLarge, message, hint)
    }

    /// A part of a message that is out of its bounds.
    pub fn invalid_message(message: String, hint: &'static str) -> Refusal {
        Refusal::new(Code::InvalidMessage, message, hint)
    }

    /// Settings that are no JSON object, or whose script does not compile.
    pub fn invalid_settings(message: String, hint: &'static str) -> Refusal {
        Refusal::new(Code::InvalidSettings, message, hint)
    }

    /// A receipt that is none.
    pub fn invalid_receipt(text: &[u8]) -> Refusal {
        let message = format!("'{}' is no receipt", shown(text));
        let hint = "send it back as it came with the message: 16 hexadecimal digits, '-', a number";
        Refusal::new(Code::InvalidReceipt, message, hint)
    }

    /// A limit that cannot be, in the words of LIMIT SET.
    pub fn invalid_named_limit(name: &'static str, value: i64) -> Refusal {
        let message = format!("{name} must be at least 1, not {value}");
        let hint = "a limit is `burst` tokens at once and `count` tokens back every `period_s` seconds";
        Refusal::new(Code::InvalidLimit, message, hint)
    }

    /// More operations at once than `max`.
    pub fn too_many_at_once(len: usize, max: usize) -> Refusal {
        let message = format!("{len} operations came at once, {max} are allowed");
        Refusal::new(Code::BatchTooLarge, message, "split them, or raise queue.max_batch")
    }

    /// The engine has not answered for a while.
    pub fn engine_stuck() -> Refusal {
        let hint = "check the server's disk and log";
        Refusal::new(Code::StorageFault, "the queue engine does not answer: it may wait for the disk", hint)
    }

    /// A message that the disk does not give back.
    pub fn storage_fault(error: &dyn Display) -> Refusal {
        let hint = "the message stays in its queue; check the server's disk and log";
        Refusal::new(Code::StorageFault, format!("the message cannot be read: {error}"), hint)
    }
}
