//! One queue of a running Tidegate.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::Value;

use super::super::body::Body;
use super::super::link::Link;
use super::super::roles::{Broker, Consumer, Producer, Seat};
use super::admin::Admin;
use super::consumer::TidegateConsumer;
use super::producer::TidegateProducer;
use super::shape::{Shape, Writer};

/// A queue, and what is put into it.
pub struct TidegateQueue {
    address: SocketAddr,
    name: String,
    shape: Shape,
}

impl TidegateQueue {
    /// Makes the queue.
    pub fn create(address: SocketAddr, name: &str, shape: Shape, settings: &Value) -> Result<TidegateQueue> {
        Admin::connect(address)?.create_queue(name, settings)?;
        Ok(TidegateQueue { address, name: name.to_string(), shape })
    }

    /// The same queue with messages of another shape.
    pub fn shaped(&self, shape: Shape) -> TidegateQueue {
        TidegateQueue { address: self.address, name: self.name.clone(), shape }
    }

    /// The same queue on a server that was started again.
    pub fn moved(&self, address: SocketAddr) -> TidegateQueue {
        TidegateQueue { address, name: self.name.clone(), shape: self.shape.clone() }
    }
}

impl Broker for TidegateQueue {
    fn producer(&self, seat: Seat) -> Result<Box<dyn Producer>> {
        let writer = Writer::new(&self.name, &self.shape, seat);
        let (link, body) = (Link::connect(self.address)?, Body::new(self.shape.body_len));
        Ok(Box::new(TidegateProducer { link, body, writer, outgoing: Vec::new() }))
    }

    fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
        Ok(Box::new(TidegateConsumer::new(Link::connect(self.address)?, &self.name)))
    }

    fn left(&self) -> Result<u64> {
        Admin::connect(self.address)?.stats(&self.name)?.count("depth")
    }
}
