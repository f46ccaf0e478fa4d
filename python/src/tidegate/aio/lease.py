"""Leases, for asyncio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any

from ..errors import NotFound, Refused, TidegateError
from ..protocol import lease as commands
from ..protocol.command import Command, Seconds
from ..protocol.lease import Granted, Manner
from ..protocol.status import Status
from .link import Link

log = logging.getLogger("tidegate")


class Lease:
    """What a granted acquire holds until it is settled, released or expires.

    `statuses` has every limit that was asked, as it stood after the acquire; `expires_at` is when the lease ends by
    itself, unless it is extended. `manner` is how it was granted: `taken`, `bypassed` or `degraded`.
    """

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

    async def adjust(self, delta: Mapping[str, int] | None = None, /, **named: int) -> None:
        """Takes more of its limits, into debt if need be; below 0 gives back: `adjust(tpm=312)`."""
        await self._link.call(commands.adjust(self.id, commands.merged(delta, named)))

    async def settle(self, cost: Mapping[str, int] | None = None, /, **named: int) -> None:
        """Ends it at its real cost: `settle(tpm=812)`. A limit that is not named stays as taken and adjusted."""
        await self._end(commands.settle(self.id, commands.merged(cost, named)))

    async def release(self) -> None:
        """Ends it, and gives all of it back."""
        await self._end(commands.release(self.id))

    async def extend(self, ttl: Seconds) -> None:
        """Lets it last so many seconds from now on."""
        await self._link.call(commands.extend(self.id, ttl))

    async def _end(self, command: Command[None]) -> None:
        # If the connection breaks now, this is still what the caller has decided: see `_leave`.
        self._last_word = command
        try:
            await self._link.call(command)
        except Refused:
            self._last_word = None
            raise
        self.ended = True

    async def _leave(self, otherwise: Command[None]) -> None:
        """Ends it on the way out of its block, if nothing else has. Nothing depends on this: a lease ends by itself."""
        try:
            await self._end(self._last_word or otherwise)
        except NotFound:
            log.warning("lease %s had expired when its block was left; a longer ttl would have kept it", self.id)
        except (TidegateError, OSError) as error:
            log.warning("lease %s is left to expire: %s", self.id, error)


class Acquiring:
    """An acquire to be entered with `async with`, or awaited for a lease that is ended by hand.

    Leaving the block normally settles: what was taken and adjusted stays. An exception or a cancelled task releases:
    all of it is given back. Either is sent even if the task is cancelled once more. An acquire that is cancelled
    while it is under way is released as soon as it is granted.
    """

    def __init__(self, link: Link, command: Command[Granted]) -> None:
        self._link = link
        self._command = command
        self._lease: Lease | None = None

    def __await__(self) -> Generator[Any, None, Lease]:
        return self._acquire().__await__()

    async def _acquire(self) -> Lease:
        asked = self._link.start(self._link.call(self._command))
        try:
            granted = await asyncio.shield(asked)
        except asyncio.CancelledError:
            # Its answer is on its way. If it is a lease, nobody else knows of it.
            asked.add_done_callback(self._abandon)
            raise
        return self._entered(granted)

    def _entered(self, granted: Granted) -> Lease:
        return Lease(self._link, granted.lease or "", granted.statuses, granted.expires_at, granted.manner)

    def _abandon(self, asked: asyncio.Task[Granted]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            lease = self._entered(asked.result())
            self._link.start(lease._leave(commands.release(lease.id)))

    async def __aenter__(self) -> Lease:
        self._lease = await self._acquire()
        return self._lease

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lease = self._lease
        if lease is None or lease.ended:
            return
        last = commands.settle(lease.id) if kind is None else commands.release(lease.id)
        await asyncio.shield(self._link.start(lease._leave(last)))
