"""A command: the words to send, and how to read the reply."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

Word = str | bytes | int
"""What a command is made of."""

Seconds = float | timedelta
"""A length of time: seconds, or a timedelta."""

Time = float | datetime
"""A point in time: seconds since 1970, or a datetime."""

Cost = Mapping[str, int]
"""Amounts per limit: ``{"rpm": 1, "tpm": 500}``."""

Text = str | bytes
"""A name that may be any bytes: a key, or a header's value. Text is sent as UTF-8."""


@dataclass(frozen=True)
class Command(Generic[T_co]):
    """One request. `patience` is how long the server may let it wait on purpose, in seconds."""

    words: tuple[Word, ...]
    decode: Callable[[Any], T_co]
    patience: float = 0.0


def milliseconds(length: Seconds) -> int:
    """A length of time as the wire has it. Rounded up, so that nothing ends early."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    # 0.3 * 1000 is a little more than 300 in binary: what is below a microsecond is noise.
    return math.ceil(round(seconds * 1000, 3))


def unix_ms(time: Time) -> int:
    """A point in time as the wire has it."""
    return round((time.timestamp() if isinstance(time, datetime) else time) * 1000)


def as_bytes(text: Text) -> bytes:
    """A name as bytes. What came from the server as bytes that are no text goes back the same."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def option(name: str, value: Word | None) -> tuple[Word, ...]:
    """`name value`, or nothing."""
    return () if value is None else (name, value)


def amounts(cost: Cost | None) -> tuple[Word, ...]:
    """`limit amount ...`"""
    return tuple(word for pair in (cost or {}).items() for word in pair)


def document(value: Mapping[str, Any]) -> str:
    """A mapping as JSON."""
    return json.dumps(value, separators=(",", ":"))


def only_said(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs that have a value."""
    return {name: value for name, value in pairs if value is not None}
