"""Queues: made, changed and looked at."""

from __future__ import annotations

from typing import Any

from . import reply
from .command import Command, document, option


def create(name: str, **settings: Any) -> Command[dict[str, Any]]:
    """A new queue; `settings` are those of the queue guide, `max_attempts=5` for example."""
    return Command(("QUEUE", "CREATE", name, document(settings)), reply.json_document)


def update(name: str, **settings: Any) -> Command[dict[str, Any]]:
    """Changes settings; None brings a default back."""
    return Command(("QUEUE", "UPDATE", name, document(settings)), reply.json_document)


def delete(name: str) -> Command[None]:
    """Deletes it with its messages."""
    return Command(("QUEUE", "DELETE", name), lambda _: None)


def purge(name: str) -> Command[int]:
    """Drops its messages, and says how many."""
    return Command(("QUEUE", "PURGE", name), lambda found: int(reply.json_document(found).get("purged", 0)))


def pause(name: str) -> Command[None]:
    """Delivers nothing for now."""
    return Command(("QUEUE", "PAUSE", name), lambda _: None)


def resume(name: str) -> Command[None]:
    """Delivers again."""
    return Command(("QUEUE", "RESUME", name), lambda _: None)


def inspect(name: str) -> Command[dict[str, Any]]:
    """Its settings, and how it is doing."""
    return Command(("QUEUE", "INSPECT", name), reply.json_document)


def stats(name: str) -> Command[dict[str, Any]]:
    """How it is doing."""
    return Command(("QUEUE", "STATS", name), reply.json_document)


def flows(name: str, count: int | None = None) -> Command[list[dict[str, Any]]]:
    """Its tenants: their shares, and what they wait for."""
    words = ("QUEUE", "FLOWS", name, *option("COUNT", count))
    return Command(words, lambda found: list(reply.json_document(found).get("flows", [])))


def redrive(name: str, count: int | None = None) -> Command[int]:
    """Brings dead letters back to where they came from, all or so many; `name` is the dead-letter queue."""
    words = ("QUEUE", "REDRIVE", name, *option("COUNT", count))
    return Command(words, lambda found: int(reply.json_document(found).get("redriven", 0)))


def page() -> Command[list[dict[str, Any]]]:
    """Every queue of the namespace."""
    return Command(("QUEUE", "LIST"), lambda found: list(reply.json_document(found).get("queues", [])))
