"""Acquire, and what becomes of the lease."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ..errors import RateLimitExceeded
from . import reply
from .charge import DEFAULT_RESOURCE, Charge, charges_of
from .command import Command, Cost, Seconds, Word, amounts, milliseconds, option
from .limit import Limit
from .status import Status, status_from, status_from_row

OnExpiry = Literal["keep", "give_back"]
"""What becomes of the tokens of a lease that nobody ended."""

OnUnavailable = Literal["block", "allow"]
"""What to do while the server's store is unavailable."""


Manner = Literal["taken", "bypassed", "degraded"]
"""How it was granted: as ever; by a bypass, so that it was only counted; or while the store was unavailable, so
that a crash forgets it."""

_MANNERS: dict[int, Manner] = {2: "bypassed", 3: "degraded"}


@dataclass(frozen=True)
class Granted:
    """A granted acquire. `lease` is None when none was asked for."""

    lease: str | None
    expires_at: datetime | None
    statuses: list[Status]
    manner: Manner = "taken"


@dataclass(frozen=True)
class Holding:
    """What a lease holds of one limit."""

    entity: str
    resource: str
    limit: str
    kind: str
    amount: int


@dataclass(frozen=True)
class LeaseView:
    """A lease as the server has it."""

    id: str
    expires_at: datetime
    on_expiry: str
    holds: list[Holding]


@dataclass(frozen=True)
class Availability:
    """Would it pass now? If not, `retry_after` is when, in seconds; None where nobody knows."""

    allowed: bool
    retry_after: float | None
    statuses: list[Status]


def _granted(found: Any) -> Granted:
    granted, lease, retry_after_ms, expires_at_ms, *rest = reply.array(found, 4)
    statuses = [status_from_row(row) for row in rest[0]] if rest else []
    if not granted:
        raise RateLimitExceeded(statuses, reply.in_seconds(retry_after_ms))
    manner = _MANNERS.get(reply.number(granted), "taken")
    if lease is None:
        return Granted(None, None, statuses, manner)
    return Granted(reply.text(lease), reply.at(expires_at_ms), statuses, manner)


def acquire(
    entity: str | None = None,
    resource: str = DEFAULT_RESOURCE,
    consume: Cost | None = None,
    *,
    charges: Iterable[Charge] | None = None,
    wait: Seconds | None = None,
    ttl: Seconds | None = None,
    on_expiry: OnExpiry | None = None,
    limits: Iterable[Limit | str] | None = None,
    on_unavailable: OnUnavailable | None = None,
) -> Command[Granted]:
    """Takes every charge, or none, and leases it: `async with limiter.acquire(...) as lease`.

    Denied is `RateLimitExceeded`. `wait` stands in line for so many seconds first, fairly among entities. `ttl` is how
    long the lease lasts by itself, `on_expiry` what becomes of its tokens then (`keep` or `give_back`). `limits`
    replace the stored ones for this call, which then cannot wait. `on_unavailable` is for when the server's store
    fails: `block` or `allow`.
    """
    wait_ms = None if wait is None else milliseconds(wait)
    words = _acquire_words(charges_of(entity, resource, consume, charges), limits, on_unavailable)
    words += option("WAIT", wait_ms) + option("TTL", None if ttl is None else milliseconds(ttl))
    return Command((*words, *option("EXPIRY", on_expiry)), _granted, (wait_ms or 0) / 1000)


def take(
    entity: str | None = None,
    resource: str = DEFAULT_RESOURCE,
    consume: Cost | None = None,
    *,
    charges: Iterable[Charge] | None = None,
    limits: Iterable[Limit | str] | None = None,
    on_unavailable: OnUnavailable | None = None,
) -> Command[list[Status]]:
    """Takes every charge, or none, for good: no lease, no wait, one round trip. Denied is `RateLimitExceeded`.

    Refused (`lease_required`) where a limit is a cap on what is in flight: nobody would give the slot back.
    """
    words = _acquire_words(charges_of(entity, resource, consume, charges), limits, on_unavailable)
    return Command((*words, "NOLEASE"), lambda found: _granted(found).statuses)


def _acquire_words(
    charges: tuple[Charge, ...],
    limits: Iterable[Limit | str] | None,
    on_unavailable: OnUnavailable | None,
) -> tuple[Word, ...]:
    words: list[Word] = ["ACQUIRE", *charges[0].words()]
    for charge in charges[1:]:
        words += ["AND", *charge.words()]
    for limit in limits or ():
        words += ["LIMIT", str(limit)]
    return (*words, *option("UNAVAILABLE", on_unavailable))


def merged(amounts: Mapping[str, int] | None, named: Mapping[str, int]) -> dict[str, int]:
    """Amounts that were given as a mapping, by name, or both."""
    return dict(amounts or {}) | dict(named)


def adjust(lease: str, delta: Mapping[str, int]) -> Command[None]:
    """Takes more, or gives some back."""
    return Command(("LEASE", "ADJUST", lease, *amounts(delta)), reply.done)


def settle(lease: str, cost: Cost | None = None) -> Command[None]:
    """Ends it at its real cost; a limit that is not named stays as it was taken."""
    return Command(("LEASE", "SETTLE", lease, *amounts(cost)), reply.done)


def release(lease: str) -> Command[None]:
    """Ends it, and gives all of it back."""
    return Command(("LEASE", "RELEASE", lease), reply.done)


def extend(lease: str, ttl: Seconds) -> Command[None]:
    """Lets it last so long from now on."""
    return Command(("LEASE", "EXTEND", lease, milliseconds(ttl)), reply.done)


def get(lease: str) -> Command[LeaseView]:
    """A lease, and what it holds."""
    return Command(("LEASE", "GET", lease), lambda found: _view(reply.json_document(found)))


def page(
    entity: str | None = None, *, count: int | None = None, after: str | None = None
) -> Command[reply.Page[LeaseView]]:
    """Leases, of one entity or of all."""
    named = () if entity is None else (entity,)
    words = ("LEASE", "LIST", *named, *option("COUNT", count), *option("AFTER", after))
    return Command(words, reply.page_of("leases", _view))


def _view(document: dict[str, Any]) -> LeaseView:
    holds = [reply.known(Holding, each) for each in document.get("holds", [])]
    fields = {"id": document.get("lease"), "expires_at": reply.at(document["expires_at_ms"]), "holds": holds}
    return reply.known(LeaseView, document | fields)


def available(entity: str, resource: str = DEFAULT_RESOURCE, consume: Cost | None = None) -> Command[Availability]:
    """Would an acquire pass, and if not, when? Nothing is taken. An amount of 0 asks how a limit stands."""

    def decode(found: Any) -> Availability:
        document = reply.json_document(found)
        statuses = [status_from(each) for each in document.get("statuses", [])]
        return Availability(bool(document.get("allowed")), reply.in_seconds(document.get("retry_after_ms")), statuses)

    return Command(("AVAILABLE", *Charge(entity, resource, consume or {}).words()), decode)


def why(entity: str, resource: str = DEFAULT_RESOURCE, consume: Cost | None = None) -> Command[dict[str, Any]]:
    """What an acquire would wait for, and until when. `queue.why` is for messages."""
    return Command(("WHY", "ACQUIRE", *Charge(entity, resource, consume or {}).words()), reply.json_document)
