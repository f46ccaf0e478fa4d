"""Leases, for threads."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType

from ..errors import NotFound, Refused, TidegateError
from ..protocol import lease as commands
from ..protocol.command import Command, Seconds
from ..protocol.lease import Granted, Manner
from ..protocol.status import Status
from .link import Link

log = logging.getLogger("tidegate")


class SyncLease:
    """As `tidegate.Lease`, without await."""

    def __init__(
        self, link: Link, id: str, statuses: list[Status], expires_at: datetime | None, manner: Manner = "taken"
    ) -> None:
        self.id = id
        self.statuses = statuses
        self.expires_at = expires_at
        self.manner = manner
        self.ended = False
        self._link = link
        self._last_word: Command[None] | None = None

    def adjust(self, delta: Mapping[str, int] | None = None, /, **named: int) -> None:
        """Takes more of its limits, into debt if need be; below 0 gives back: `adjust(tpm=312)`."""
        self._link.call(commands.adjust(self.id, commands.merged(delta, named)))

    def settle(self, cost: Mapping[str, int] | None = None, /, **named: int) -> None:
        """Ends it at its real cost: `settle(tpm=812)`. A limit that is not named stays as taken and adjusted."""
        self._end(commands.settle(self.id, commands.merged(cost, named)))

    def release(self) -> None:
        """Ends it, and gives all of it back."""
        self._end(commands.release(self.id))

    def extend(self, ttl: Seconds) -> None:
        """Lets it last so many seconds from now on."""
        self._link.call(commands.extend(self.id, ttl))

    def _end(self, command: Command[None]) -> None:
        # If the connection breaks now, this is still what the caller has decided: see `_leave`.
        self._last_word = command
        try:
            self._link.call(command)
        except Refused:
            self._last_word = None
            raise
        self.ended = True

    def _leave(self, otherwise: Command[None]) -> None:
        """Ends it on the way out of its block, if nothing else has. Nothing depends on this: a lease ends by itself."""
        try:
            self._end(self._last_word or otherwise)
        except NotFound:
            log.warning("lease %s had expired when its block was left; a longer ttl would have kept it", self.id)
        except TidegateError as error:
            log.warning("lease %s is left to expire: %s", self.id, error)


class SyncAcquiring:
    """An acquire to be entered with `with`, or `start`ed for a lease that is ended by hand.

    Leaving the block normally settles: what was taken and adjusted stays. An exception, KeyboardInterrupt included,
    releases: all of it is given back.
    """

    def __init__(self, link: Link, command: Command[Granted]) -> None:
        self._link = link
        self._command = command
        self._lease: SyncLease | None = None

    def start(self) -> SyncLease:
        """Acquires. The caller ends the lease."""
        granted = self._link.call(self._command)
        return SyncLease(self._link, granted.lease or "", granted.statuses, granted.expires_at, granted.manner)

    def __enter__(self) -> SyncLease:
        self._lease = self.start()
        return self._lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lease = self._lease
        if lease is not None and not lease.ended:
            lease._leave(commands.settle(lease.id) if kind is None else commands.release(lease.id))
