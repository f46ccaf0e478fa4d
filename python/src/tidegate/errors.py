"""Everything that can go wrong with a call."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol.status import Status

__all__ = [
    "Conflict",
    "Disabled",
    "NotFound",
    "RateLimitExceeded",
    "Refused",
    "TidegateError",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedReply",
    "Unreachable",
]


class TidegateError(Exception):
    """The root of them all."""


class RateLimitExceeded(TidegateError):
    """An acquire was denied: nothing was taken.

    `statuses` has every limit that was asked, `violations` those that were short. `retry_after` is when the same call
    could pass, in seconds, or None where nobody knows: a slot comes back when its holder is done.
    """

    def __init__(self, statuses: Sequence[Status], retry_after: float | None) -> None:
        self.statuses = list(statuses)
        self.retry_after = retry_after
        self.violations = [status for status in self.statuses if status.exceeded and not status.soft]
        super().__init__(self._told())

    def _told(self) -> str:
        short = [
            f"{s.entity}/{s.resource} {s.limit}: {s.requested} asked, {s.available} there" for s in self.violations
        ]
        when = "when one comes back" if self.retry_after is None else f"in {self.retry_after:g} s"
        return f"{'; '.join(short) or 'denied'} (retry {when})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.statuses, self.retry_after)


class Refused(TidegateError):
    """The server refused the call, and counted nothing. `code` is stable; `hint` is the next step, in words."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.hint = hint
        super().__init__(f"{code}: {message}" + (f"; {hint}" if hint else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.hint)


class NotFound(Refused):
    """There is no such entity, scope, lease, queue, message, limit or namespace."""


class Conflict(Refused):
    """It clashes with what is there: it exists already, has changed since, has children, would be a cycle."""


class Disabled(Refused):
    """The entity or the resource is disabled."""


class Unauthenticated(Refused):
    """The token is missing or wrong."""


class Unavailable(Refused):
    """The server cannot do it now: its disk, its bounds, or it is about to stop. Try again later."""


class Unreachable(TidegateError, builtins.ConnectionError):
    """No connection, or it broke before the answer came. In that case the server may have counted the call."""


class TimedOut(TidegateError, builtins.TimeoutError):
    """No answer in time. The server may have counted the call."""


class UnexpectedReply(TidegateError):
    """The other end does not answer as a Tidegate server does."""

    def __init__(self, expected: str, reply: Any) -> None:
        self.expected = expected
        self.reply = reply
        super().__init__(f"{expected} was expected, not {reply!r:.200}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.expected, self.reply)


_KINDS: dict[str, type[Refused]] = {
    "queue_exists": Conflict,
    "entity_exists": Conflict,
    "has_children": Conflict,
    "cycle": Conflict,
    "too_deep": Conflict,
    "version_mismatch": Conflict,
    "stale_receipt": Conflict,
    "not_a_dead_letter_queue": Conflict,
    "origin_gone": Conflict,
    "namespace_deleted": Conflict,
    "disabled": Disabled,
    "unauthenticated": Unauthenticated,
    "NOAUTH": Unauthenticated,
    "WRONGPASS": Unauthenticated,
    "store_unavailable": Unavailable,
    "storage_fault": Unavailable,
    "storage_full": Unavailable,
    "table_full": Unavailable,
    "queue_full": Unavailable,
    "too_many_names": Unavailable,
    "too_many_connections": Unavailable,
    "shutting_down": Unavailable,
}

_REFUSAL = re.compile(r"(?:ERR )?([a-z][a-z_]*): (.*)", re.DOTALL)


def refused(told: str, prefix: str = "ERR") -> Refused:
    """A refusal out of the text of a RESP error: `code: message; hint`, or a text of Redis's own."""
    found = _REFUSAL.fullmatch(told)
    if found is None:
        return _KINDS.get(prefix, Refused)(prefix, told)
    code, rest = found.groups()
    message, _, hint = rest.partition("; ")
    kind = NotFound if code.endswith("not_found") else _KINDS.get(code, Refused)
    return kind(code, message, hint)
