"""What was used, and who changed what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from . import reply
from .command import Command, Time, document, only_said, unix_ms

Window = Literal["minute", "hour", "day", "month"]
"""How usage is added up. Windows are those of UTC."""


@dataclass(frozen=True)
class UsageRow:
    """What one limit of an entity and a resource was charged in one window: `amount` net, in `events` grants."""

    entity: str
    resource: str
    limit: str
    start: datetime
    amount: int
    events: int


@dataclass(frozen=True)
class UsageTotal:
    """The sum over the rows of a resource and limit."""

    resource: str
    limit: str
    amount: int
    events: int


@dataclass(frozen=True)
class Usage:
    """Rows and their totals. `truncated` says that there are more rows than asked for."""

    rows: list[UsageRow]
    totals: list[UsageTotal]
    truncated: bool


@dataclass(frozen=True)
class AuditEvent:
    """One change. `subject` is an entity's id, `$SYSTEM` or `$RESOURCE:name`."""

    seq: int
    at: datetime
    actor: str
    action: str
    subject: str
    before: Any
    after: Any


def usage(
    *,
    window: Window,
    entity: str | None = None,
    resource: str | None = None,
    limit: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    max: int | None = None,
) -> Command[Usage]:
    """What was used, by entity, resource and limit, in windows of a minute, hour, day or month."""

    def row(each: dict[str, Any]) -> UsageRow:
        return reply.known(UsageRow, each | {"start": reply.at(each["window_start_ms"])})

    def decode(found: Any) -> Usage:
        told = reply.json_document(found)
        totals = [reply.known(UsageTotal, each) for each in told.get("totals", [])]
        return Usage([row(each) for each in told.get("rows", [])], totals, bool(told.get("truncated")))

    said = {"entity": entity, "resource": resource, "limit": limit, "window": window, "max": max}
    return Command(("USAGE", document(only_said((said | _between(since, until)).items()))), decode)


def audit(
    *,
    subject: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    before: int | None = None,
    max: int | None = None,
) -> Command[reply.Page[AuditEvent]]:
    """Who changed what, newest first. `before` takes the `next` of the last page."""

    def event(each: dict[str, Any]) -> AuditEvent:
        return reply.known(AuditEvent, {"before": None, "after": None} | each | {"at": reply.at(each["at_ms"])})

    said = {"subject": subject, "before": before, "max": max} | _between(since, until)
    return Command(("AUDIT", document(only_said(said.items()))), reply.page_of("events", event))


def _between(since: Time | None, until: Time | None) -> dict[str, int | None]:
    return {
        "from_ms": None if since is None else unix_ms(since),
        "to_ms": None if until is None else unix_ms(until),
    }
