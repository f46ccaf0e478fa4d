//! What is to be taken.
//!
//! Nothing is checked here: the server owns the rules, and refuses what it cannot take.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::term::Term;
use crate::queue::millis;
use crate::resp::Frame;

/// What becomes of a lease's tokens when it expires. Its slots come back in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// They are spent.
    Keep,
    /// They are given back.
    GiveBack,
}

/// What is answered while the server cannot write down what is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// A refusal, `store_unavailable`.
    Block,
    /// What the limits say, although a crash would forget it.
    Allow,
}

impl OnExpiry {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            OnExpiry::Keep => "keep",
            OnExpiry::GiveBack => "give_back",
        }
    }
}

impl OnUnavailable {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            OnUnavailable::Block => "block",
            OnUnavailable::Allow => "allow",
        }
    }
}

/// What is to be taken, all or none: amounts of the limits of one or more entities, and of their parents by cascade.
/// For [`Client::acquire`](crate::Client::acquire).
///
/// ```
/// use std::time::Duration;
/// use tidegate_client::Acquire;
///
/// let acquire = Acquire::of("acme", "gpt-4").cost("rpm", 1).cost("tpm", 500).ttl(Duration::from_secs(30));
/// // The same, and what the whole region has left, in one step:
/// let both = acquire.clone().and("region:eu", "gpt-4").cost("tpm", 500);
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is taken until this is given to a client"]
pub struct Acquire<'a> {
    parts: Vec<Part<'a>>,
    limits: Vec<Cow<'a, str>>,
    ttl: Option<Duration>,
    wait: Duration,
    on_expiry: Option<OnExpiry>,
    on_unavailable: Option<OnUnavailable>,
    without_lease: bool,
    quiet: bool,
}

/// A piece of the command, in the order in which it was said.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Charge { entity: &'a str, resource: &'a str },
    Cost { limit: &'a str, amount: u64 },
}

impl<'a> Acquire<'a> {
    /// Of an entity, on a resource. Say how much of which limits with [`cost`](Acquire::cost).
    pub fn of(entity: &'a str, resource: &'a str) -> Acquire<'a> {
        Acquire {
            parts: vec![Part::Charge { entity, resource }],
            limits: Vec::new(),
            ttl: None,
            wait: Duration::ZERO,
            on_expiry: None,
            on_unavailable: None,
            without_lease: false,
            quiet: false,
        }
    }

    /// So much of this limit of the entity that was named last.
    pub fn cost(mut self, limit: &'a str, amount: u64) -> Acquire<'a> {
        self.parts.push(Part::Cost { limit, amount });
        self
    }

    /// Of another entity or resource too. Costs that follow are of this one.
    pub fn and(mut self, entity: &'a str, resource: &'a str) -> Acquire<'a> {
        self.parts.push(Part::Charge { entity, resource });
        self
    }

    /// How long the lease lasts unless it ends or is extended. The server's setting unless said.
    pub fn ttl(self, ttl: Duration) -> Acquire<'a> {
        Acquire { ttl: Some(ttl), ..self }
    }

    /// Waits in line for so long if it cannot pass now, fairly among entities. Nobody else waits for that: it is done on
    /// a connection of its own.
    pub fn wait(self, wait: Duration) -> Acquire<'a> {
        Acquire { wait, ..self }
    }

    /// What becomes of the tokens if the lease expires.
    pub fn on_expiry(self, on_expiry: OnExpiry) -> Acquire<'a> {
        Acquire { on_expiry: Some(on_expiry), ..self }
    }

    /// What is answered while the server cannot write down what is taken.
    pub fn on_unavailable(self, on_unavailable: OnUnavailable) -> Acquire<'a> {
        Acquire { on_unavailable: Some(on_unavailable), ..self }
    }

    /// A limit of the call, instead of all that are stored for the entities it names. May be said several times.
    pub fn limit(mut self, term: &Term) -> Acquire<'a> {
        self.limits.push(term.to_string().into());
        self
    }

    /// The same as text: `tpm=10000/minute,burst=20000`.
    pub fn limit_text(mut self, term: &'a str) -> Acquire<'a> {
        self.limits.push(term.into());
        self
    }

    /// Takes for good: there is nothing to settle or to give back.
    pub fn without_lease(self) -> Acquire<'a> {
        Acquire { without_lease: true, ..self }
    }

    /// Leaves the status of each limit out of the answer.
    pub fn quiet(self) -> Acquire<'a> {
        Acquire { quiet: true, ..self }
    }

    pub(super) fn waits(&self) -> Duration {
        self.wait
    }

    /// About how many bytes it is on the wire.
    pub(super) fn size(&self) -> usize {
        const EACH: usize = 24;
        let parts = self.parts.iter().map(|part| match part {
            Part::Charge { entity, resource } => entity.len() + resource.len() + 2 * EACH,
            Part::Cost { limit, .. } => limit.len() + 2 * EACH,
        });
        let limits = self.limits.iter().map(|term| term.len() + 2 * EACH);
        parts.chain(limits).sum::<usize>() + 4 * EACH
    }

    /// `ACQUIRE entity resource limit amount ...`
    pub(super) fn write(&self, frame: &mut Frame) {
        frame.begin(self.words()).part(b"ACQUIRE");
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                Part::Charge { entity, resource } => {
                    if at > 0 {
                        frame.part(b"AND");
                    }
                    frame.part(entity.as_bytes()).part(resource.as_bytes());
                }
                Part::Cost { limit, amount } => {
                    frame.part(limit.as_bytes()).number(*amount);
                }
            }
        }
        if let Some(ttl) = self.ttl {
            frame.part(b"TTL").number(millis(ttl));
        }
        if let Some(on_expiry) = self.on_expiry {
            frame.part(b"EXPIRY").part(on_expiry.as_str().as_bytes());
        }
        if !self.wait.is_zero() {
            frame.part(b"WAIT").number(millis(self.wait));
        }
        if self.without_lease {
            frame.part(b"NOLEASE");
        }
        for term in &self.limits {
            frame.part(b"LIMIT").part(term.as_bytes());
        }
        if let Some(on_unavailable) = self.on_unavailable {
            frame.part(b"UNAVAILABLE").part(on_unavailable.as_str().as_bytes());
        }
        if self.quiet {
            frame.part(b"QUIET");
        }
    }

    fn words(&self) -> usize {
        let parts = self.parts.iter().map(|part| match part {
            Part::Charge { .. } => 3,
            Part::Cost { .. } => 2,
        });
        let pairs = [
            self.ttl.is_some(),
            self.on_expiry.is_some(),
            !self.wait.is_zero(),
            self.on_unavailable.is_some(),
        ];
        // The name of the command stands where the others have their AND.
        parts.sum::<usize>()
            + 2 * pairs.into_iter().filter(|said| *said).count()
            + 2 * self.limits.len()
            + usize::from(self.without_lease)
            + usize::from(self.quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(acquire: Acquire<'_>, expected: &str) {
        let mut frame = Frame::with_room(acquire.size());
        let allocated = frame.bytes.capacity();
        acquire.write(&mut frame);
        let text = String::from_utf8(frame.bytes.to_vec()).unwrap();
        let words: Vec<&str> = text.lines().skip(2).step_by(2).collect();
        assert_eq!(words.join(" "), expected);
        assert_eq!(text.lines().next().unwrap(), format!("*{}", words.len()));
        assert_eq!(frame.bytes.capacity(), allocated, "the room is enough");
    }

    #[test]
    fn only_what_is_said_is_sent() {
        check(Acquire::of("acme", "gpt-4"), "ACQUIRE acme gpt-4");
        check(
            Acquire::of("acme", "gpt-4").cost("rpm", 1).cost("tpm", 500),
            "ACQUIRE acme gpt-4 rpm 1 tpm 500",
        );
    }

    #[test]
    fn every_part_is_sent() {
        let acquire = Acquire::of("acme", "gpt-4")
            .cost("tpm", 500)
            .and("region:eu", "gpt-4")
            .cost("tpm", u64::MAX)
            .ttl(Duration::from_secs(30))
            .on_expiry(OnExpiry::GiveBack)
            .wait(Duration::from_millis(5))
            .limit(&Term::per_minute("tpm", 10).burst(20))
            .limit_text("inflight=8")
            .on_unavailable(OnUnavailable::Allow)
            .without_lease()
            .quiet();
        check(
            acquire,
            "ACQUIRE acme gpt-4 tpm 500 AND region:eu gpt-4 tpm 18446744073709551615 TTL 30000 EXPIRY give_back \
             WAIT 5 NOLEASE LIMIT tpm=10/minute,burst=20 LIMIT inflight=8 UNAVAILABLE allow QUIET",
        );
    }
}
