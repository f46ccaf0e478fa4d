"""Entities: who is limited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from . import reply
from .command import Command, document, only_said, option


class Unsaid(Enum):
    """What is not to be changed. None is something else: it takes a value away."""

    UNSAID = "unsaid"


UNSAID = Unsaid.UNSAID


@dataclass(frozen=True)
class Entity:
    """A tenant, a project, an API key. `version` counts its changes."""

    id: str
    name: str | None = None
    parent: str | None = None
    cascade: bool = False
    weight: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


def entity_from(found: dict[str, Any]) -> Entity:
    """An entity out of a document."""
    said = only_said(found.items())
    times = {f"{name}_at": reply.at_or_none(found.get(f"{name}_at_ms")) for name in ("created", "updated")}
    return reply.known(Entity, said | times)


def _decode(found: Any) -> Entity:
    return entity_from(reply.json_document(found))


def create(
    id: str,
    *,
    name: str | None = None,
    parent: str | None = None,
    cascade: bool | None = None,
    weight: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Command[Entity]:
    """A new entity. `cascade` charges its parent too; `weight` is its share in queues."""
    said = {"name": name, "parent": parent, "cascade": cascade, "weight": weight, "metadata": metadata}
    return Command(("ENTITY", "CREATE", id, document(only_said(said.items()))), _decode)


def update(
    id: str,
    *,
    name: str | Unsaid | None = UNSAID,
    cascade: bool | Unsaid | None = UNSAID,
    weight: int | Unsaid | None = UNSAID,
    metadata: Mapping[str, Any] | Unsaid | None = UNSAID,
    version: int | None = None,
) -> Command[Entity]:
    """Changes what is said; None takes it away. With `version`, only if that is its version still: else `Conflict`."""
    patch = {"name": name, "cascade": cascade, "weight": weight, "metadata": metadata}
    said = {key: value for key, value in patch.items() if value is not UNSAID}
    return Command(("ENTITY", "UPDATE", id, document(said), *option("VERSION", version)), _decode)


def move(id: str, parent: str | None) -> Command[Entity]:
    """Gives it another parent, or none."""
    return Command(("ENTITY", "MOVE", id, "-" if parent is None else parent), _decode)


def delete(id: str) -> Command[None]:
    """Deletes it with its limits and buckets. Refused while it has children."""
    return Command(("ENTITY", "DELETE", id), lambda _: None)


def get(id: str) -> Command[Entity]:
    """One entity."""
    return Command(("ENTITY", "GET", id), _decode)


def put(entities: Iterable[Mapping[str, Any]]) -> Command[int]:
    """Makes or changes many at once, all or none: documents with `id` and what `create` takes. Says how many."""
    array = "[" + ",".join(document(entity) for entity in entities) + "]"
    return Command(("ENTITY", "PUT", array), lambda found: int(reply.json_document(found).get("count", 0)))


def page(*, count: int | None = None, after: str | None = None) -> Command[reply.Page[Entity]]:
    """Entities in the order of their ids."""
    words = ("ENTITY", "LIST", *option("COUNT", count), *option("AFTER", after))
    return Command(words, reply.page_of("entities", entity_from))


def children(id: str, *, count: int | None = None, after: str | None = None) -> Command[reply.Page[Entity]]:
    """Those whose parent it is."""
    words = ("ENTITY", "CHILDREN", id, *option("COUNT", count), *option("AFTER", after))
    return Command(words, reply.page_of("entities", entity_from))
