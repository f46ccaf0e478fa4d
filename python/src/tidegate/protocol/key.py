"""Inline limits: the limit comes with the call. And throttle keys: named limits that queues draw on too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import reply
from .command import Command, Seconds, Text, Word, as_bytes, milliseconds


@dataclass(frozen=True)
class Decision:
    """May it run? `retry_after` is 0 when it may, and None when it never can: it asks for more than the burst."""

    allowed: bool
    limit: int
    remaining: int
    reset_after: float
    retry_after: float | None


def _decision(found: Any) -> Decision:
    allowed, limit, remaining, reset_after, retry_after, *_ = map(reply.number, reply.array(found, 5))
    never = retry_after < 0
    return Decision(allowed == 1, limit, remaining, float(reset_after), None if never else float(retry_after))


def _asked(
    name: str, key: Text, burst: int | None, count: int | None, period: int | None, quantity: int | None
) -> Command[Decision]:
    limit = [number for number in (burst, count, period) if number is not None]
    if len(limit) not in (0, 3) or (not limit and quantity is not None):
        raise ValueError("a limit is burst, count and period, all three; a quantity needs one")
    rest = [] if quantity is None else [quantity]
    return Command((name, as_bytes(key), *limit, *rest), _decision)


def throttle(
    key: Text,
    *,
    burst: int | None = None,
    count: int | None = None,
    period: int | None = None,
    quantity: int | None = None,
) -> Command[Decision]:
    """May `quantity` (1 if unsaid) of `key` run now? If so, it is counted.

    The limit is `burst` at once and `count` back every `period` seconds; without one, the server's default limit.
    """
    return _asked("THROTTLE", key, burst, count, period, quantity)


def peek(
    key: Text,
    *,
    burst: int | None = None,
    count: int | None = None,
    period: int | None = None,
    quantity: int | None = None,
) -> Command[Decision]:
    """Would it pass now? As `throttle`, but nothing is counted."""
    return _asked("THROTTLE.PEEK", key, burst, count, period, quantity)


def forget(*keys: Text) -> Command[int]:
    """Makes keys of `throttle` full again; says how many there were."""
    return Command(("THROTTLE.RESET", *map(as_bytes, keys)), reply.number)


def set_key(key: Text, *, burst: int, count: int, period: int) -> Command[dict[str, Any]]:
    """Gives a throttle key its limit: `burst` at once, `count` back every `period` seconds."""
    return Command(("LIMIT", "SET", as_bytes(key), burst, count, period), reply.json_document)


def get_key(key: Text) -> Command[dict[str, Any]]:
    """The limit of a throttle key, and how it stands."""
    return Command(("LIMIT", "GET", as_bytes(key)), reply.json_document)


def delete_key(key: Text) -> Command[None]:
    """Removes the limit of a throttle key: it passes from now on."""
    return Command(("LIMIT", "DEL", as_bytes(key)), lambda _: None)


def list_keys() -> Command[list[dict[str, Any]]]:
    """Every throttle key that has a limit."""
    return Command(("LIMIT", "LIST"), lambda found: list(reply.json_document(found).get("limits", [])))


def take_key(key: Text, quantity: int = 1) -> Command[Decision]:
    """Takes from a throttle key, beside the queues that draw on it."""
    return Command(("LIMIT", "TAKE", as_bytes(key), quantity), _decision)


def close_key(key: Text, retry_after: Seconds) -> Command[None]:
    """Nobody takes from a throttle key for so long: its provider said 429."""
    words: tuple[Word, ...] = ("LIMIT", "CLOSE", as_bytes(key), milliseconds(retry_after))
    return Command(words, lambda _: None)
