"""Reading replies. What a later server adds to a reply is passed over."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar

from ..errors import UnexpectedReply

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of many. `next` is what to say as `after` for those that follow; None at the end."""

    items: list[T]
    next: Any = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def text(reply: Any) -> str:
    """A bulk or a simple string. Bytes that are no text are kept as they are."""
    if isinstance(reply, bytes):
        return reply.decode("utf-8", "surrogateescape")
    if isinstance(reply, str):
        return reply
    raise UnexpectedReply("text", reply)


def done(reply: Any) -> None:
    """`OK`."""
    if text(reply) != "OK":
        raise UnexpectedReply("OK", reply)


def number(reply: Any) -> int:
    """An integer."""
    if not isinstance(reply, int):
        raise UnexpectedReply("a number", reply)
    return reply


def json_document(reply: Any) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(reply)
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise UnexpectedReply("a JSON object", reply)
    return value


def pairs(reply: Any) -> dict[str, Any]:
    """A map, or what RESP2 has for one: names and values in turn."""
    if isinstance(reply, dict):
        return {text(name): value for name, value in reply.items()}
    if not isinstance(reply, list) or len(reply) % 2:
        raise UnexpectedReply("names and values", reply)
    return {text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def array(reply: Any, least: int = 0) -> list[Any]:
    """An array of at least so many."""
    if not isinstance(reply, list) or len(reply) < least:
        raise UnexpectedReply(f"an array of {least}", reply)
    return reply


def known(kind: type[D], found: dict[str, Any]) -> D:
    """A dataclass out of those of its fields that are there."""
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in found.items() if name in names})
    except TypeError as error:
        raise UnexpectedReply(str(error), found) from None


def in_seconds(ms: int | None) -> float | None:
    """A length of time. The wire's -1 and null are None: nobody knows."""
    return None if ms is None or ms < 0 else ms / 1000


def at(ms: int) -> datetime:
    """A point in time."""
    return datetime.fromtimestamp(ms / 1000, timezone.utc)


def at_or_none(ms: int | None) -> datetime | None:
    """A point in time, if any."""
    return None if ms is None else at(ms)


def page_of(name: str, item: Callable[[dict[str, Any]], T]) -> Callable[[Any], Page[T]]:
    """Reads `{name: [..], "next": ..}`."""

    def decode(reply: Any) -> Page[T]:
        found = json_document(reply)
        return Page([item(each) for each in found.get(name, [])], found.get("next"))

    return decode
