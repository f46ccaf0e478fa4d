"""Buckets: the state of limits, changed by hand or looked at as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import reply
from .command import Command, Cost, Seconds, amounts, milliseconds, option
from .status import Status, statuses_from


@dataclass(frozen=True)
class Capacity:
    """One limit of a resource, over all entities that use it."""

    limit: str
    capacity: int
    available: int
    entities: int


def reset(entity: str, resource: str, *limits: str, idempotency_key: str | None = None) -> Command[list[Status]]:
    """Makes limits full again, all of them if none is named. The same key a second time changes nothing."""
    words = ("BUCKET", "RESET", entity, resource, *limits, *option("KEY", idempotency_key))
    return Command(words, statuses_from)


def top_up(entity: str, resource: str, tokens: Cost, *, idempotency_key: str | None = None) -> Command[list[Status]]:
    """Repays debt and adds tokens, up to the burst. The same key a second time changes nothing."""
    words = ("BUCKET", "TOPUP", entity, resource, *amounts(tokens), *option("KEY", idempotency_key))
    return Command(words, statuses_from)


def close(entity: str, resource: str, retry_after: Seconds) -> Command[datetime]:
    """Nobody takes from it for so long: its provider said 429. Says until when."""
    words = ("BUCKET", "CLOSE", entity, resource, milliseconds(retry_after))
    return Command(words, lambda found: reply.at(reply.json_document(found)["closed_until_ms"]))


def capacity(resource: str) -> Command[list[Capacity]]:
    """What a resource has, limit by limit, over all entities that use it."""

    def decode(found: Any) -> list[Capacity]:
        return [reply.known(Capacity, each) for each in reply.json_document(found).get("limits", [])]

    return Command(("CAPACITY", resource), decode)
