//! Every option, declared once.
//!
//! To add one, write it here: a doc comment (it becomes the help text), a name with its unit last, a type, a
//! default and, for a number, the bounds. Nothing else needs to change but the code that reads the field, and the
//! reference page: `UPDATE_EXPECT=1 cargo test -p tidegate reference` writes that again.

use std::path::PathBuf;

use super::choice::choices;
use super::define::options;
use super::{Address, Secret, Terms};

choices! {
    /// How much is logged.
    pub enum LogLevel { Error = "error", Warn = "warn", Info = "info", Debug = "debug", Trace = "trace" }
}

choices! {
    /// How a log line is written.
    pub enum LogFormat { Text = "text", Json = "json" }
}

choices! {
    /// What happens to a new key when the table is full of live ones.
    pub enum WhenFull { Evict = "evict", Refuse = "refuse", Admit = "admit" }
}

choices! {
    /// Where entities, their limits and what is left of them are kept.
    pub enum LedgerKind { Embedded = "embedded", Dynamodb = "dynamodb" }
}

/// As many connections as one process could ever hold open.
const MOST_CONNECTIONS: u64 = 1_000_000;
/// The largest buffer, frame or body that is taken from one client.
const MOST_BYTES: u64 = 1 << 30;
/// The largest payload of a message.
const MOST_MESSAGE_BYTES: u64 = 64 << 20;
/// The longest time-out: a day.
const MOST_MS: u64 = 24 * 60 * 60 * 1000;

/// The longest lease: a month.
const MOST_LEASE_MS: u64 = 31 * MOST_MS;
/// The longest retention: a hundred years.
const MOST_DAYS: u64 = 36_525;
const MOST_HOURS: u64 = MOST_DAYS * 24;

options! {
    /// Everything the server can be told, with [`Default`] as what it does untold.
    pub struct Config {
        /// How much is logged: each level includes the ones before it.
        log_level: LogLevel = LogLevel::Info;
        /// How a log line is written: `text` for people, `json` for machines. Logs go to stderr.
        log_format: LogFormat = LogFormat::Text;
        /// The directory where state is kept between runs. It is made if it is missing.
        data_dir: PathBuf = PathBuf::from("./tidegate-data");
        /// Threads that serve connections; 0 means one for every two cores. More of them answer more requests, at
        /// some more CPU for each.
        threads: usize = 0, 0..=1024;
        /// The token that every client must present; empty means that none is asked for. It is never
        /// logged or printed. Prefer the file or the variable, since everyone on the machine can see a flag.
        auth_token: Secret = Secret::default();
        /// How long open connections may take to finish when the server is told to stop, in milliseconds.
        drain_timeout_ms: u64 = 5_000, 0..=MOST_MS;
    }
    sections {
        /// The HTTP and gRPC door, both on one port.
        http: Http = Http::default();
        /// The RESP door, for any Redis client.
        resp: Framed = Framed { max_frame_bytes: 2_097_152, ..Framed::on_port(6380) };
        /// The MessagePack door, length-prefixed frames over TCP.
        msgpack: Framed = Framed::on_port(9090);
        /// The table of inline keys.
        keys: Keys = Keys::default();
        /// What survives a restart.
        persistence: Persistence = Persistence::default();
        /// Queues: what is kept in them, and what may be asked of them at once.
        queue: Queue = Queue::default();
        /// Entities, their limits and leases. They are kept with the queues, so `queue.enabled` has to be true.
        ledger: Ledger = Ledger::default();
        /// The limit for calls that bring none. Set all three or none of them.
        limits: Limits = Limits::default();
        /// What `GET /metrics` shows.
        metrics: Metrics = Metrics::default();
    }
}

options! {
    /// The HTTP and gRPC door.
    pub struct Http {
        /// Whether this door is open.
        enabled: bool = true;
        /// Where this door listens, as host:port. Port 0 takes any free port and prints it.
        address: Address = Address::loopback(8080);
        /// Connections held at once; one more is turned away with `too_many_connections`.
        max_connections: usize = 16_384, 1..=MOST_CONNECTIONS;
        /// How long a connection may be silent before it is closed, in milliseconds; 0 means for ever.
        idle_timeout_ms: u64 = 300_000, 0..=MOST_MS;
        /// How long the head of a request may take to arrive once it has begun, in milliseconds.
        handshake_timeout_ms: u64 = 10_000, 1..=MOST_MS;
        /// The largest request body, in bytes; a larger one is refused with `body_too_large`.
        max_body_bytes: usize = 2_097_152, 1..=MOST_BYTES;
        /// The most requests in one batch; a larger one is refused with `batch_too_large`.
        max_batch: usize = 1_000, 1..=1_000_000;
        /// Concurrent HTTP/2 streams on one connection.
        max_streams: u32 = 256, 1..=65_536;
    }
}

options! {
    /// A door of frames over TCP: RESP and MessagePack.
    pub struct Framed {
        /// Whether this door is open.
        enabled: bool = true;
        /// Where this door listens, as host:port. Port 0 takes any free port and prints it.
        address: Address = Address::loopback(0);
        /// Connections held at once; one more is turned away with `too_many_connections`.
        max_connections: usize = 16_384, 1..=MOST_CONNECTIONS;
        /// How long a connection may be silent before it is closed, in milliseconds; 0 means for ever.
        idle_timeout_ms: u64 = 300_000, 0..=MOST_MS;
        /// How long a request may take to arrive once it has begun, in milliseconds.
        handshake_timeout_ms: u64 = 10_000, 1..=MOST_MS;
        /// The largest request, in bytes; a larger one is refused and its connection closed.
        max_frame_bytes: usize = 65_536, 64..=MOST_BYTES;
        /// Bytes read from a connection at once.
        buffer_bytes: usize = 65_536, 512..=MOST_BYTES;
        /// Requests of one connection answered in one turn; a deeper pipeline waits for its next turn.
        max_pipeline: usize = 1_024, 1..=1_000_000;
        /// How long a client may leave its replies unread before it is cut off, in milliseconds.
        write_timeout_ms: u64 = 10_000, 1..=MOST_MS;
    }
}

impl Framed {
    fn on_port(port: u16) -> Framed {
        Framed { address: Address::loopback(port), ..Framed::default() }
    }
}

options! {
    /// The table of inline keys.
    pub struct Keys {
        /// The most keys held at once, over all namespaces. Memory follows what is held, not this bound.
        max_keys: usize = 16_777_216, 1..=1 << 40;
        /// What happens to a new key when the table is full of live ones: `evict` forgets the key closest to full,
        /// `refuse` answers `table_full`, `admit` lets the call pass without remembering it.
        when_full: WhenFull = WhenFull::Evict;
        /// The longest key, in bytes; a longer one is refused with `key_too_long`.
        max_key_bytes: usize = 1_024, 1..=1_048_576;
    }
}

options! {
    /// What survives a restart.
    pub struct Persistence {
        /// Whether state is written to `data_dir` and restored at start.
        enabled: bool = true;
        /// How often changed keys are written, in milliseconds: the most that a crash can forget.
        flush_interval_ms: u64 = 200, 1..=MOST_MS;
    }
}

options! {
    /// Queues.
    pub struct Queue {
        /// Whether this server keeps queues. They are kept in `data_dir`, so `persistence.enabled` has to be true too.
        enabled: bool = true;
        /// How often a queue with `durability = "interval"` is written and synced, in milliseconds: the most that a
        /// crash can forget of it. The levels of named limits are written as often.
        flush_interval_ms: u64 = 200, 1..=MOST_MS;
        /// The size of one file of the journal, in bytes. Disk use stays within twice the live data plus two of them.
        segment_bytes: u32 = 67_108_864, 1_048_576..=1 << 30;
        /// The largest payload of a message, in bytes; a larger one is refused with `payload_too_large`.
        max_message_bytes: usize = 1_048_576, 1..=MOST_MESSAGE_BYTES;
        /// The most operations of one request: messages to enqueue, receipts to ack.
        max_batch: usize = 1_000, 1..=100_000;
        /// The most messages of one receive; who asks for more gets that many.
        max_receive: u32 = 1_000, 1..=100_000;
        /// The longest that a receive waits for messages, or an acquire in line, in milliseconds; who asks for more waits
        /// that long.
        max_wait_ms: u64 = 60_000, 0..=MOST_MS;
        /// Threads that run the Lua hooks of queues.
        hook_threads: usize = 2, 1..=64;
        /// How long one run of a hook may take, in milliseconds.
        hook_timeout_ms: u64 = 10, 1..=10_000;
        /// Lua instructions of one run of a hook.
        hook_instructions: u64 = 100_000, 1_000..=1_000_000_000;
        /// Memory that the hooks of one queue may use, in bytes.
        hook_memory_bytes: usize = 1_048_576, 65_536..=MOST_BYTES;
    }
}

options! {
    /// Entities, their limits and leases.
    pub struct Ledger {
        /// Where they are kept: `embedded` in `data_dir`, for one server, or `dynamodb` in a table of DynamoDB, which many
        /// servers share.
        kind: LedgerKind = LedgerKind::Embedded;
        /// The table of DynamoDB. `tidegate dynamodb create-table` makes it.
        table: String = "tidegate".to_owned();
        /// The region of the table, for example `eu-central-1`. Empty means as the AWS environment says: `AWS_REGION`, the
        /// profile, or the machine.
        region: String = String::new();
        /// Where to reach DynamoDB, for emulators and private endpoints, for example `http://127.0.0.1:8000`. Empty means AWS
        /// itself.
        endpoint: String = String::new();
        /// How long a call may wait for the table, in milliseconds; then it is refused, or let pass, as `on_unavailable` says.
        timeout_ms: u64 = 2_000, 1..=600_000;
        /// How long one request to the table may take, in milliseconds.
        request_timeout_ms: u64 = 500, 1..=600_000;
        /// How often a request to the table is tried, with growing pauses between.
        request_attempts: u32 = 3, 1..=10;
        /// The longest that a limit that was changed by another server may go unnoticed here, in milliseconds.
        config_refresh_ms: u64 = 5_000, 100..=MOST_MS;
        /// How far ahead of need tokens are drawn from the table, in milliseconds of use at the rate that is seen. More of it
        /// writes less often, and holds more that other servers cannot have meanwhile.
        draw_ahead_ms: u64 = 2_000, 0..=600_000;
        /// How long tokens that were drawn and are not used stay here before they go back to the table, in milliseconds.
        idle_return_ms: u64 = 2_000, 1..=600_000;
        /// How far this server's clock may be from the table's before there is an alarm, in milliseconds.
        max_clock_skew_ms: u64 = 500, 1..=MOST_MS;
        /// Where the RESP door of this server can be reached by the others that share the table, as host:port; they ask it
        /// about leases of its own. Empty means where that door listens, if it is one address: 0.0.0.0 is not.
        advertise: String = String::new();
        /// The limits of entities and resources that nothing else is set for, with a semicolon between them:
        /// `rpm=60/minute; tpm=10000/minute,burst=20000; inflight=8`. A file may have a list of them instead. Empty
        /// means none.
        default_limits: Terms = Terms::default();
        /// How long a lease lasts that neither its call nor the system level says anything of, in milliseconds.
        lease_ttl_ms: u64 = 60_000, 1..=MOST_MS;
        /// The longest that a lease may last, in milliseconds.
        max_lease_ttl_ms: u64 = 86_400_000, 1..=MOST_LEASE_MS;
        /// How often what was taken, used and changed is written, in milliseconds: the most that a crash can forget.
        flush_interval_ms: u64 = 200, 1..=MOST_MS;
        /// How long usage by the minute is kept, in hours; 0 means for ever.
        minute_usage_hours: u64 = 48, 0..=MOST_HOURS;
        /// How long usage by the hour is kept, in days; 0 means for ever.
        hour_usage_days: u64 = 62, 0..=MOST_DAYS;
        /// How long usage by the day is kept, in days; 0 means for ever.
        day_usage_days: u64 = 800, 0..=MOST_DAYS;
        /// How long usage by the month is kept, in days; 0 means for ever.
        month_usage_days: u64 = 0, 0..=MOST_DAYS;
        /// How long it is kept who changed what, in days; 0 means for ever.
        audit_days: u64 = 400, 0..=MOST_DAYS;
    }
}

options! {
    /// The limit for calls that bring none.
    pub struct Limits {
        /// Tokens that may be taken at once when a call brings no limit.
        default_burst: Option<u64> = None, 1..=i64::MAX as u64;
        /// Tokens that come back every period when a call brings no limit.
        default_rate: Option<u64> = None, 1..=i64::MAX as u64;
        /// The period of the default limit, in seconds.
        default_period: Option<u64> = None, 1..=i64::MAX as u64;
    }
}

options! {
    /// What `GET /metrics` shows.
    pub struct Metrics {
        /// How many of the most denied keys are shown by name; 0 shows none.
        top_denied_keys: usize = 100, 0..=10_000;
    }
}
