"""Namespaces: isolated worlds of entities, limits, keys and queues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import reply
from .command import Command


@dataclass(frozen=True)
class Namespace:
    """A namespace. One that is deleted can be recovered until it is purged."""

    name: str
    deleted_at: datetime | None = None
    purged: bool = False


def _from(found: dict[str, Any]) -> Namespace:
    return reply.known(Namespace, found | {"deleted_at": reply.at_or_none(found.get("deleted_at_ms"))})


def _decode(found: Any) -> Namespace:
    return _from(reply.json_document(found))


def page() -> Command[list[Namespace]]:
    """Every namespace, deleted ones too."""
    return Command(("NAMESPACE", "LIST"), lambda found: reply.page_of("namespaces", _from)(found).items)


def delete(name: str) -> Command[Namespace]:
    """Refuses everything in it from now on; `recover` brings it back."""
    return Command(("NAMESPACE", "DELETE", name), _decode)


def recover(name: str) -> Command[Namespace]:
    """Brings a deleted one back."""
    return Command(("NAMESPACE", "RECOVER", name), _decode)


def purge(name: str) -> Command[Namespace]:
    """Ends a deleted one for good."""
    return Command(("NAMESPACE", "PURGE", name), _decode)
