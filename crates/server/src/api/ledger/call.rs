//! An acquire as it comes off a wire, and what has to hold for it. Made on the stack: most acquires are small.

use smallvec::SmallVec;
use tidegate_core::ledger::Term;
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_ledger::{Acquire, Charge, LeaseTerms, OnExpiry, OnUnavailable, SpaceId};

use crate::api::Refusal;

/// Charges, and amounts of all of them, that fit without the heap.
const FEW_CHARGES: usize = 2;
const FEW_AMOUNTS: usize = 8;

const NANOS_PER_MS: u64 = 1_000_000;

/// An acquire, in the caller's words.
#[derive(Clone, Debug, Default)]
pub struct AcquireCall<'a> {
    charges: SmallVec<[Named<'a>; FEW_CHARGES]>,
    amounts: SmallVec<[(&'a str, u64); FEW_AMOUNTS]>,
    ttl_ns: Option<u64>,
    on_expiry: Option<OnExpiry>,
    on_unavailable: Option<OnUnavailable>,
    /// How long to stand in line.
    wait_ms: u64,
    /// Take without a lease.
    pub no_lease: bool,
    /// Limits that replace the stored ones.
    pub limits: Option<Vec<Term>>,
    /// Leave out the statuses.
    pub quiet: bool,
}

/// A charge, and where its amounts end.
#[derive(Clone, Copy, Debug)]
struct Named<'a> {
    entity: &'a [u8],
    resource: &'a str,
    end: usize,
}

impl<'a> AcquireCall<'a> {
    /// Begins the next charge. An empty resource is the default one.
    #[inline]
    pub fn charge(&mut self, entity: &'a [u8], resource: &'a [u8]) -> Result<(), Refusal> {
        let resource = match resource {
            b"" => DEFAULT_RESOURCE,
            name => text("resource", name)?,
        };
        self.push(entity, resource);
        Ok(())
    }

    /// What the charge that was begun last takes of a limit.
    #[inline]
    pub fn cost(&mut self, limit: &'a [u8], amount: i64) -> Result<(), Refusal> {
        let limit = text("limit", limit)?;
        let amount = u64::try_from(amount).map_err(|_| Refusal::invalid_amount(limit, amount))?;
        self.push_cost(limit, amount);
        Ok(())
    }

    /// How long the lease lasts. One that is longer than allowed is refused by the ledger.
    pub fn ttl(&mut self, ttl_ms: i64) -> Result<(), Refusal> {
        self.ttl_ns = Some(ttl_ns(ttl_ms)?);
        Ok(())
    }

    /// What becomes of it when it expires.
    pub fn on_expiry(&mut self, word: &[u8]) -> Result<(), Refusal> {
        self.on_expiry = match word {
            b"keep" => Some(OnExpiry::Keep),
            b"give_back" => Some(OnExpiry::GiveBack),
            _ => return Err(Refusal::invalid_word("on_expiry", word, "keep or give_back")),
        };
        Ok(())
    }

    /// What becomes of it when the store is unavailable.
    pub fn on_unavailable(&mut self, word: &[u8]) -> Result<(), Refusal> {
        self.on_unavailable = match word {
            b"block" => Some(OnUnavailable::Block),
            b"allow" => Some(OnUnavailable::Allow),
            _ => return Err(Refusal::invalid_word("on_unavailable", word, "block or allow")),
        };
        Ok(())
    }

    /// How long to stand in line.
    pub fn wait(&mut self, wait_ms: i64) -> Result<(), Refusal> {
        self.wait_ms =
            u64::try_from(wait_ms).map_err(|_| Refusal::invalid_time("the time to wait", wait_ms))?;
        Ok(())
    }

    /// A limit that replaces the stored ones, as text.
    pub fn limit(&mut self, term: &[u8]) -> Result<(), Refusal> {
        let told = text("limit", term)?;
        let term = told.parse().map_err(|error| Refusal::invalid_limit_of(told, error))?;
        self.limits.get_or_insert_default().push(term);
        Ok(())
    }

    /// The rest of an acquire that was checked before: its charges are to be pushed.
    pub(super) fn again(
        lease: Option<LeaseTerms>,
        on_unavailable: Option<OnUnavailable>,
        wait_ms: u64,
    ) -> AcquireCall<'a> {
        let LeaseTerms { ttl_ns, on_expiry } = lease.unwrap_or_default();
        let no_lease = lease.is_none();
        AcquireCall { ttl_ns, on_expiry, on_unavailable, wait_ms, no_lease, ..AcquireCall::default() }
    }

    pub(super) fn push(&mut self, entity: &'a [u8], resource: &'a str) {
        self.charges.push(Named { entity, resource, end: self.amounts.len() });
    }

    pub(super) fn push_cost(&mut self, limit: &'a str, amount: u64) {
        self.amounts.push((limit, amount));
        if let Some(charge) = self.charges.last_mut() {
            charge.end = self.amounts.len();
        }
    }

    pub(super) fn unavailable(&self) -> Option<OnUnavailable> {
        self.on_unavailable
    }

    /// How long it may wait.
    pub fn wait_ms(&self) -> u64 {
        self.wait_ms
    }

    /// Refuses what does not go together.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.charges.is_empty() {
            let hint = "say who, for what and how much";
            return Err(Refusal::invalid_request("an acquire carries at least one charge", hint));
        }
        let told = match (self.wait_ms > 0, self.no_lease, self.limits.is_some()) {
            (true, true, _) => "an acquire that waits has a lease",
            (true, _, true) => "an acquire that brings its own limits cannot wait",
            _ => return Ok(()),
        };
        Err(Refusal::invalid_request(told, "leave one of the two out"))
    }

    /// The lease that is asked for.
    pub(super) fn lease(&self) -> Option<LeaseTerms> {
        (!self.no_lease).then_some(LeaseTerms { ttl_ns: self.ttl_ns, on_expiry: self.on_expiry })
    }

    /// Each charge: who, for what, and how much.
    pub(super) fn charges(&self) -> impl Iterator<Item = Charge<'_>> {
        let mut from = 0;
        self.charges.iter().map(move |charge| {
            let cost = &self.amounts[from..charge.end];
            from = charge.end;
            Charge { entity: charge.entity, resource: charge.resource, cost }
        })
    }

    /// Hands it over in the ledger's own words.
    #[inline]
    pub(super) fn with<T>(&self, space: SpaceId, ask: impl FnOnce(&Acquire<'_>) -> T) -> T {
        let charges: SmallVec<[Charge<'_>; FEW_CHARGES]> = self.charges().collect();
        ask(&Acquire {
            space,
            charges: &charges,
            terms: self.limits.as_deref(),
            lease: self.lease(),
            in_line: self.wait_ms > 0,
            on_unavailable: self.on_unavailable,
            statuses: !self.quiet,
            give_up: false,
        })
    }
}

/// A name as text. The ledger has its own rules for names; none of them lets anything else pass.
pub(super) fn text<'a>(what: &'static str, name: &'a [u8]) -> Result<&'a str, Refusal> {
    std::str::from_utf8(name).map_err(|_| Refusal::no_name(what, name))
}

/// A time to live, in nanoseconds.
pub fn ttl_ns(ttl_ms: i64) -> Result<u64, Refusal> {
    match u64::try_from(ttl_ms) {
        Ok(ms @ 1..) => Ok(ms.saturating_mul(NANOS_PER_MS)),
        _ => Err(Refusal::invalid_time("the time to live", ttl_ms)),
    }
}
