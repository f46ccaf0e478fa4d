//! Bytes as the Queue door sends them.

/// A bulk string.
pub fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// The receipt of the first delivery of message number `number`.
pub fn receipt(number: u64) -> String {
    format!("{number:016x}-1")
}

/// Message number `number`, first delivery.
pub fn message(number: u64, payload: &str) -> String {
    [
        "%11\r\n",
        &bulk("receipt"),
        &bulk(&receipt(number)),
        &bulk("id"),
        &bulk(&format!("{number:016x}")),
        &bulk("attempts"),
        ":0\r\n",
        &bulk("key"),
        &bulk("tenant"),
        &bulk("weight"),
        ":1\r\n",
        &bulk("cost"),
        ":1\r\n",
        &bulk("enqueued_at"),
        ":0\r\n",
        &bulk("payload"),
        &bulk(payload),
        &bulk("headers"),
        "%1\r\n",
        &bulk("kind"),
        &bulk("test"),
        &bulk("throttle"),
        "*1\r\n",
        &bulk("provider"),
        &bulk("dead"),
        "_\r\n",
    ]
    .concat()
}

/// The same, as it comes to consumer 7.
pub fn push(number: u64, payload: &str) -> String {
    format!(">3\r\n{}:7\r\n{}", bulk("message"), message(number, payload))
}
