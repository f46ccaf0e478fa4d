"""A limit: a rate with a burst, or a cap on what is in flight at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any

from ..errors import UnexpectedReply
from .command import Seconds

_PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9}
_NS_PER_S = 10**9


@dataclass(frozen=True)
class Limit:
    """A named limit. Make one with `per_second`, `per_minute`, `per_hour`, `per_day`, `per` or `concurrency`.

    A soft one is charged and reported, and never refuses. `str(limit)` is its text form, `tpm=10000/minute`, which is
    taken wherever a limit is.
    """

    name: str
    amount: int
    period_ns: int | None = None
    burst: int | None = None
    soft: bool = False

    @classmethod
    def per(cls, name: str, amount: int, period: Seconds, *, burst: int | None = None, soft: bool = False) -> Limit:
        """`amount` every `period` seconds, and `burst` at once (`amount`, if unsaid)."""
        seconds = Fraction(period.total_seconds() if isinstance(period, timedelta) else period)
        return cls(name, amount, round(seconds * _NS_PER_S), None if burst == amount else burst, soft)

    @classmethod
    def per_second(cls, name: str, amount: int, *, burst: int | None = None, soft: bool = False) -> Limit:
        """`amount` a second."""
        return cls.per(name, amount, 1, burst=burst, soft=soft)

    @classmethod
    def per_minute(cls, name: str, amount: int, *, burst: int | None = None, soft: bool = False) -> Limit:
        """`amount` a minute."""
        return cls.per(name, amount, 60, burst=burst, soft=soft)

    @classmethod
    def per_hour(cls, name: str, amount: int, *, burst: int | None = None, soft: bool = False) -> Limit:
        """`amount` an hour."""
        return cls.per(name, amount, 3600, burst=burst, soft=soft)

    @classmethod
    def per_day(cls, name: str, amount: int, *, burst: int | None = None, soft: bool = False) -> Limit:
        """`amount` a day."""
        return cls.per(name, amount, 86_400, burst=burst, soft=soft)

    @classmethod
    def concurrency(cls, name: str, cap: int, *, soft: bool = False) -> Limit:
        """At most `cap` in flight at once."""
        return cls(name, cap, soft=soft)

    @classmethod
    def parse(cls, text: str) -> Limit:
        """A limit out of its text form. What the server would not understand is a ValueError."""
        name, _, rest = text.partition("=")
        bound, *words = rest.split(",")
        amount, slash, period = bound.partition("/")
        burst = [int(word.removeprefix("burst=")) for word in words if word.startswith("burst=")]
        if not name or any(word != "soft" and not word.startswith("burst=") for word in words):
            raise ValueError(f"{text!r} is no limit: it reads like tpm=10000/minute or inflight=8")
        if not slash:
            return cls.concurrency(name, int(amount), soft="soft" in words)
        period_s = Fraction(_period_ns(period), _NS_PER_S)
        limit = cls.per(name, int(amount), 1, burst=burst[0] if burst else None, soft="soft" in words)
        return cls(limit.name, limit.amount, int(period_s * _NS_PER_S), limit.burst, limit.soft)

    @property
    def is_concurrency(self) -> bool:
        """Whether it is a cap on what is in flight."""
        return self.period_ns is None

    @property
    def capacity(self) -> int:
        """The most that can be taken at once."""
        return self.amount if self.burst is None else self.burst

    def __str__(self) -> str:
        text = f"{self.name}={self.amount}"
        if self.period_ns is not None:
            text += f"/{_period_text(self.period_ns)}"
        if self.burst is not None:
            text += f",burst={self.burst}"
        return text + (",soft" if self.soft else "")


def _period_text(ns: int) -> str:
    seconds, rest = divmod(ns, _NS_PER_S)
    if rest:
        return f"{ns}ns"
    return next((name for name, length in _PERIODS.items() if length == seconds), f"{seconds}s")


def _period_ns(text: str) -> int:
    if text in _PERIODS:
        return _PERIODS[text] * _NS_PER_S
    count = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(count) :]
    if unit not in _UNITS_NS:
        raise ValueError(f"{text!r} is no period: second, minute, hour, day, or a length such as 90s")
    return int(count or 1) * _UNITS_NS[unit]


def limit_from(document: Any) -> Limit:
    """A limit out of a document of the server."""
    try:
        if isinstance(document, str):
            return Limit.parse(document)
        name, soft = document["name"], document.get("soft", False)
        if "concurrency" in document:
            return Limit.concurrency(name, document["concurrency"], soft=soft)
        amount, burst = document["amount"], document.get("burst")
        return Limit(name, amount, _document_period_ns(document), None if burst == amount else burst, soft)
    except (KeyError, TypeError, ValueError):
        raise UnexpectedReply("a limit", document) from None


def _document_period_ns(document: dict[str, Any]) -> int:
    if "period_ns" in document:
        return int(document["period_ns"])
    period = document["period"]
    return _period_ns(period) if isinstance(period, str) else round(Fraction(period) * _NS_PER_S)
