//! The servers of a run, started when they are first wanted. One that cannot be had is kept as the reason, which each of
//! its rows then shows.

use std::cell::OnceCell;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use super::broker::Broker;
use super::broker::amqp::QuorumQueue;
use super::broker::beanstalkd::Tube;
use super::broker::jetstream::JetStream;
use super::broker::redis_streams::RedisStream;
use super::broker::tidegate::{ClientQueue, Shape, TidegateQueue};
use super::plan::BODY_LEN;
use super::system::System;
use crate::peers::{Beanstalkd, Nats, Process, RabbitMq, Redis, Tidegate, beanstalkd, redis};
use crate::workspace::Workspace;

/// Servers that stay up from one round to the next, idle while another is measured.
pub struct Stage {
    workspace: Workspace,
    chosen_binary: Option<PathBuf>,
    binary: OnceCell<Present<PathBuf>>,
    staged: [OnceCell<Present<Staged>>; System::ALL.len()],
}

type Present<T> = Result<T, String>;

/// A running server with a queue of messages of the usual size.
pub struct Staged {
    server: Server,
    /// Its queue.
    pub broker: Box<dyn Broker>,
}

/// Keeps the server alive, with all that belongs to it.
enum Server {
    Tidegate(Tidegate),
    Nats(Nats),
    Redis(Redis),
    Beanstalkd(Beanstalkd),
    RabbitMq(RabbitMq),
}

impl Staged {
    /// The server's process.
    pub fn process(&self) -> &Process {
        match &self.server {
            Server::Tidegate(server) => &server.process,
            Server::Nats(server) => &server.process,
            Server::Redis(server) => &server.process,
            Server::Beanstalkd(server) => &server.process,
            Server::RabbitMq(server) => &server.process,
        }
    }
}

impl Stage {
    /// Nothing is started yet. `binary` is a Tidegate to take instead of this checkout's.
    pub fn new(workspace: Workspace, binary: Option<PathBuf>) -> Stage {
        Stage {
            workspace,
            chosen_binary: binary,
            binary: OnceCell::new(),
            staged: [const { OnceCell::new() }; System::ALL.len()],
        }
    }

    /// That server with its queue, started and made at the first call.
    pub fn staged(&self, system: System) -> Result<&Staged> {
        on_stage(self.staged[system as usize].get_or_init(|| present(self.start(system))))
    }

    fn start(&self, system: System) -> Result<Staged> {
        let (server, broker): (Server, Box<dyn Broker>) = match system {
            System::Tidegate => {
                let server = self.fresh_tidegate()?;
                let queue = plain_queue(&server, "bench", Shape::plain(BODY_LEN))?;
                (Server::Tidegate(server), Box::new(queue))
            }
            System::TidegateClient => {
                let server = self.fresh_tidegate()?;
                plain_queue(&server, "bench", Shape::plain(BODY_LEN))?;
                let queue = ClientQueue::open(server.doors.resp, "bench", BODY_LEN)?;
                (Server::Tidegate(server), Box::new(queue))
            }
            System::Nats => {
                let server = Nats::start()?;
                let stream = JetStream::create(server.address, BODY_LEN)?;
                (Server::Nats(server), Box::new(stream))
            }
            System::RedisAlways => redis_stream(redis::Fsync::Always)?,
            System::RedisEverySecond => redis_stream(redis::Fsync::EverySecond)?,
            System::BeanstalkdFsync => tube(beanstalkd::Fsync::Always)?,
            System::BeanstalkdNoFsync => tube(beanstalkd::Fsync::Never)?,
            System::RabbitMq => {
                let server = RabbitMq::start()?;
                let queue = QuorumQueue::create(server.address, BODY_LEN)?;
                (Server::RabbitMq(server), Box::new(queue))
            }
        };
        Ok(Staged { server, broker })
    }

    /// The Tidegate that is measured, built at the first call.
    pub fn binary(&self) -> Result<&PathBuf> {
        on_stage(self.binary.get_or_init(|| {
            present(self.chosen_binary.clone().map_or_else(|| self.workspace.build_server(), Ok))
        }))
    }

    /// Another Tidegate, empty.
    pub fn fresh_tidegate(&self) -> Result<Tidegate> {
        Tidegate::start(self.binary()?, &[])
    }
}

/// A queue with every setting as it comes.
pub fn plain_queue(server: &Tidegate, name: &str, shape: Shape) -> Result<TidegateQueue> {
    TidegateQueue::create(server.doors.resp, name, shape, &serde_json::json!({}))
}

fn redis_stream(fsync: redis::Fsync) -> Result<(Server, Box<dyn Broker>)> {
    let server = Redis::start_durable(fsync)?;
    let stream = RedisStream::create(server.address, BODY_LEN)?;
    Ok((Server::Redis(server), Box::new(stream)))
}

fn tube(fsync: beanstalkd::Fsync) -> Result<(Server, Box<dyn Broker>)> {
    let server = Beanstalkd::start(fsync)?;
    let tube = Tube::new(server.address, BODY_LEN);
    Ok((Server::Beanstalkd(server), Box::new(tube)))
}

fn present<T>(peer: Result<T>) -> Present<T> {
    peer.map_err(|error| format!("{error:#}"))
}

fn on_stage<T>(peer: &Present<T>) -> Result<&T> {
    peer.as_ref().map_err(|reason| anyhow!("missing: {reason}"))
}
