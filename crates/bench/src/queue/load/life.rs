//! The whole life of messages, as fast as it goes: produced, consumed and acknowledged in batches, all at once.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::window::{Bounds, Window};
use crate::queue::broker::link::SILENCE_WITHIN;
use crate::queue::broker::{Broker, Seat};

/// Messages in a batch.
pub const BATCH: usize = 100;
/// Batches that may be under way for every producer: one on its way in, one on its way out, and some that wait.
const AHEAD: usize = 4;

/// How many do it, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Connections that produce, and as many that consume, one batch at a time.
    pub pairs: usize,
    /// For how long new messages are produced.
    pub lasting: Duration,
}

/// What was done.
#[derive(Clone, Copy, Debug)]
pub struct Lived {
    /// Messages that were acknowledged.
    pub messages: usize,
    /// Until the last acknowledgement.
    pub elapsed: Duration,
}

impl Life {
    /// Drives the load to its end: all that was produced is consumed.
    pub fn run(&self, broker: &dyn Broker) -> Result<Lived> {
        let seats: Vec<Seat> = (0..self.pairs).map(|index| Seat { index, of: self.pairs }).collect();
        let producers: Vec<_> = seats.iter().map(|&seat| broker.producer(seat)).collect::<Result<_>>()?;
        let consumers: Vec<_> = seats.iter().map(|&seat| broker.consumer(seat)).collect::<Result<_>>()?;
        let bounds = Bounds { first: BATCH, most: AHEAD * BATCH * self.pairs };
        let window = Window::new(self.pairs, bounds);
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let window = &window;
            let mut threads = Vec::new();
            for mut producer in producers {
                threads.push(scope.spawn(move || {
                    guard(window, || {
                        while window.elapsed() < self.lasting && window.may_send(BATCH) {
                            producer.send(BATCH, 0)?;
                            let mut confirmed = 0;
                            while confirmed < BATCH {
                                match producer.confirmed(SILENCE_WITHIN)? {
                                    0 => bail!("{} messages were not confirmed", BATCH - confirmed),
                                    newly => confirmed += newly,
                                }
                            }
                            window.produced(BATCH);
                        }
                        window.producer_ended();
                        Ok(())
                    })
                }));
            }
            for mut consumer in consumers {
                threads.push(scope.spawn(move || {
                    guard(window, || {
                        let mut stamps = Vec::new();
                        while let Some(claim) = window.claim(BATCH) {
                            stamps.clear();
                            consumer.receive(claim, &mut stamps)?;
                            if !stamps.is_empty() {
                                consumer.ack()?;
                            }
                            window.acked(stamps.len(), claim);
                        }
                        Ok(())
                    })
                }));
            }
            threads.into_iter().map(|thread| thread.join().ok().context("a thread failed")?).collect()
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        let (messages, elapsed) = window.outcome();
        Ok(Lived { messages, elapsed })
    }
}

/// A thread that fails ends the load of the others.
fn guard(window: &Window, work: impl FnOnce() -> Result<()>) -> Result<()> {
    work().inspect_err(|_| window.fail())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::broker::{Consumer, Producer};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// A queue that is a number.
    #[derive(Clone, Copy)]
    struct Count(&'static AtomicUsize);

    impl Broker for Count {
        fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
            Ok(Box::new(*self))
        }
        fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
            Ok(Box::new(*self))
        }
        fn left(&self) -> Result<u64> {
            Ok(self.0.load(Relaxed) as u64)
        }
    }

    impl Producer for Count {
        fn send(&mut self, count: usize, _stamp: u64) -> Result<()> {
            self.0.fetch_add(count, Relaxed);
            Ok(())
        }
        fn confirmed(&mut self, _within: Duration) -> Result<usize> {
            Ok(50)
        }
    }

    impl Consumer for Count {
        fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
            stamps.resize(want, 0);
            Ok(())
        }
        fn ack(&mut self) -> Result<()> {
            self.0.fetch_sub(1, Relaxed);
            Ok(())
        }
        fn follow(&mut self, _within: Duration, _stamps: &mut Vec<u64>) -> Result<()> {
            bail!("nobody follows here")
        }
    }

    #[test]
    fn all_that_is_produced_is_acknowledged() {
        static SENT: AtomicUsize = AtomicUsize::new(0);
        let load = Life { pairs: 3, lasting: Duration::from_millis(20) };
        let lived = load.run(&Count(&SENT)).unwrap();
        assert!(lived.messages >= 3 * BATCH && lived.messages.is_multiple_of(BATCH), "{lived:?}");
        assert!(lived.elapsed > Duration::ZERO);
        // Every acknowledgement took one away again.
        assert!(SENT.load(Relaxed) < lived.messages);
    }
}
