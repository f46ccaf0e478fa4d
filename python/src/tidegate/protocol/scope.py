"""Stored limits: what is set for the system, a resource, an entity, or an entity and a resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from . import reply
from .charge import DEFAULT_RESOURCE
from .command import Command, Seconds, Word, document, milliseconds, option
from .entity import UNSAID, Unsaid
from .lease import OnExpiry, OnUnavailable
from .limit import Limit, limit_from

Mode = Literal["disabled", "bypass"]
"""`disabled` refuses; `bypass` admits and takes nothing, but counts usage."""


@dataclass(frozen=True)
class Settings:
    """What is set at one scope. None is unsaid: the next level speaks."""

    limits: list[Limit] = field(default_factory=list)
    cascade: bool | None = None
    mode: str | None = None
    on_unavailable: str | None = None
    on_expiry: str | None = None
    lease_ttl: float | None = None


@dataclass(frozen=True)
class Parent:
    """A parent that is charged too, and its limits."""

    entity: str
    level: str | None
    limits: list[Limit]
    mode: str | None = None


@dataclass(frozen=True)
class Resolved:
    """The limits that apply. `level` is where they were set: entity, entity_default, resource, system, config."""

    entity: str
    resource: str
    level: str | None
    limits: list[Limit]
    mode: str | None
    cascade: bool
    parents: list[Parent]


@dataclass(frozen=True)
class Scope:
    """An entity and a resource that have limits of their own."""

    entity: str
    resource: str


def _scope(entity: str | None, resource: str | None) -> tuple[Word, ...]:
    match entity, resource:
        case None, None:
            return ("SYSTEM",)
        case None, str():
            return ("RESOURCE", resource)
        case str(), None:
            return ("ENTITY", entity)
        case _:
            return ("ENTITY", entity or "", resource or "")


def _limits(found: dict[str, Any]) -> list[Limit]:
    return [limit_from(each) for each in found.get("limits") or []]


def settings_from(found: Any) -> Settings:
    """Settings out of a document."""
    said = reply.json_document(found)
    ttl = reply.in_seconds(said.get("lease_ttl_ms"))
    return reply.known(Settings, said | {"limits": _limits(said), "lease_ttl": ttl})


def put(
    limits: Iterable[Limit | str] | Unsaid = UNSAID,
    *,
    entity: str | None = None,
    resource: str | None = None,
    cascade: bool | Unsaid | None = UNSAID,
    mode: Mode | Unsaid | None = UNSAID,
    on_unavailable: OnUnavailable | Unsaid | None = UNSAID,
    on_expiry: OnExpiry | Unsaid | None = UNSAID,
    lease_ttl: Seconds | Unsaid | None = UNSAID,
) -> Command[Settings]:
    """Sets what is said at a scope, and leaves the rest; None takes a setting away.

    Without `entity` and `resource` the scope is the system's; with one of them, that one's; with both, the entity's for
    that resource. All limits of the scope are replaced by `limits`. Buckets that are in use follow at once.
    """
    said: dict[str, Any] = {
        "limits": UNSAID if isinstance(limits, Unsaid) else [str(limit) for limit in limits],
        "cascade": cascade,
        "mode": mode,
        "on_unavailable": on_unavailable,
        "on_expiry": on_expiry,
        "lease_ttl_ms": lease_ttl if lease_ttl is None or lease_ttl is UNSAID else milliseconds(lease_ttl),
    }
    said = {name: value for name, value in said.items() if value is not UNSAID}
    return Command(("LIMITS", "SET", *_scope(entity, resource), document(said)), settings_from)


def get(*, entity: str | None = None, resource: str | None = None) -> Command[Settings]:
    """What is set at a scope itself."""
    return Command(("LIMITS", "GET", *_scope(entity, resource)), settings_from)


def delete(*, entity: str | None = None, resource: str | None = None) -> Command[None]:
    """Takes all away that is set at a scope."""
    return Command(("LIMITS", "DEL", *_scope(entity, resource)), lambda _: None)


def resolve(entity: str, resource: str = DEFAULT_RESOURCE) -> Command[Resolved]:
    """The limits that apply to an entity and a resource, and the level that they came from."""

    def decode(found: Any) -> Resolved:
        said = reply.json_document(found)
        parents = [reply.known(Parent, each | {"limits": _limits(each)}) for each in said.get("parents", [])]
        return reply.known(Resolved, said | {"limits": _limits(said), "parents": parents})

    return Command(("LIMITS", "RESOLVE", entity, resource), decode)


def custom(
    resource: str | None = None, *, count: int | None = None, after: Scope | None = None
) -> Command[reply.Page[Scope]]:
    """Entities that have limits of their own, for one resource or for any."""
    words: list[Word] = ["LIMITS", "CUSTOM"] if resource is None else ["LIMITS", "CUSTOM", resource]
    words += option("COUNT", count)
    if after is not None:
        words += ["AFTER", after.entity, after.resource]

    def decode(found: Any) -> reply.Page[Scope]:
        page = reply.page_of("custom", lambda each: reply.known(Scope, each))(found)
        return reply.Page(page.items, page.next and reply.known(Scope, page.next))

    return Command(tuple(words), decode)


def export() -> Command[dict[str, Any]]:
    """All limits and entities of the namespace, as a manifest."""
    return Command(("LIMITS", "EXPORT"), reply.json_document)


def plan(manifest: Mapping[str, Any]) -> Command[list[dict[str, Any]]]:
    """What `apply` would change."""
    return Command(("LIMITS", "PLAN", document(manifest)), _changes)


def apply(manifest: Mapping[str, Any]) -> Command[list[dict[str, Any]]]:
    """Makes the limits what a manifest says; what has left it since the last time is removed. Says what changed."""
    return Command(("LIMITS", "APPLY", document(manifest)), _changes)


def _changes(found: Any) -> list[dict[str, Any]]:
    return list(reply.json_document(found).get("changes", []))
