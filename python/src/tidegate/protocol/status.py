"""How a limit stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import reply


@dataclass(frozen=True)
class Status:
    """One limit of one entity and resource.

    `available` is below 0 in debt. `exceeded` says that this limit did not have what was asked. `retry_after` is when
    it will, in seconds; None where nobody knows. `kind` (rate or concurrency) and `level` (where the limit was set)
    are None in the answer to an acquire, which is kept short; so is `soft`, unless a soft limit was exceeded.
    """

    entity: str
    resource: str
    limit: str
    capacity: int
    available: int
    requested: int
    exceeded: bool
    retry_after: float | None
    kind: str | None = None
    level: str | None = None
    soft: bool | None = None


SOFTLY = 2
"""How a row says that a soft limit was exceeded."""


def status_from_row(row: Any) -> Status:
    """A status of an acquire: eight values in a row."""
    entity, resource, limit, capacity, available, requested, exceeded, retry_after_ms, *_ = reply.array(row, 8)
    return Status(
        reply.text(entity),
        reply.text(resource),
        reply.text(limit),
        reply.number(capacity),
        reply.number(available),
        reply.number(requested),
        bool(exceeded),
        reply.in_seconds(retry_after_ms),
        soft=True if exceeded == SOFTLY else None,
    )


def status_from(document: dict[str, Any]) -> Status:
    """A status out of a JSON document."""
    return reply.known(Status, document | {"retry_after": reply.in_seconds(document.get("retry_after_ms"))})


def statuses_from(found: Any) -> list[Status]:
    """The statuses of `{"statuses": [..]}`."""
    return [status_from(each) for each in reply.json_document(found).get("statuses", [])]
