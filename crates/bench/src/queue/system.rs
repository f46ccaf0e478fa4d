//! Who is measured, and how the table names them.

/// A broker, and what it promises to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Tidegate over RESP; every answer after its fsync.
    Tidegate,
    /// The same through its Rust client.
    TidegateClient,
    /// JetStream on files, synced every two minutes.
    Nats,
    /// Redis streams, synced before the answer.
    RedisAlways,
    /// Redis streams, synced every second.
    RedisEverySecond,
    /// beanstalkd's binlog, synced before the answer.
    BeanstalkdFsync,
    /// beanstalkd's binlog, not synced.
    BeanstalkdNoFsync,
    /// A quorum queue, synced before the confirmation.
    RabbitMq,
}

impl System {
    /// All of them, in the order of the report.
    pub const ALL: [System; 8] = [
        System::BeanstalkdNoFsync,
        System::BeanstalkdFsync,
        System::RedisEverySecond,
        System::RedisAlways,
        System::Nats,
        System::RabbitMq,
        System::Tidegate,
        System::TidegateClient,
    ];

    /// Those that keep up with 1,000 single messages a second on a common disk. beanstalkd syncs each message by itself.
    pub const AT_PACE: [System; 7] = [
        System::BeanstalkdNoFsync,
        System::RedisEverySecond,
        System::RedisAlways,
        System::Nats,
        System::RabbitMq,
        System::Tidegate,
        System::TidegateClient,
    ];

    /// As the table names it.
    pub fn name(self) -> &'static str {
        match self {
            System::Tidegate => TIDEGATE,
            System::TidegateClient => TIDEGATE_CLIENT,
            System::Nats => "nats JetStream, no fsync",
            System::RedisAlways => "redis streams, fsync",
            System::RedisEverySecond => "redis streams, everysec",
            System::BeanstalkdFsync => "beanstalkd, fsync",
            System::BeanstalkdNoFsync => "beanstalkd, no fsync",
            System::RabbitMq => "rabbitmq quorum, fsync",
        }
    }
}

/// Tidegate, where it is measured alone.
pub const TIDEGATE: &str = "tidegate, fsync";
/// Tidegate through its Rust client.
pub const TIDEGATE_CLIENT: &str = "tidegate client, fsync";
/// The disk itself.
pub const DISK: &str = "fdatasync of 4 KB";
