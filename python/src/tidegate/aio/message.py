"""Delivered messages, for asyncio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType

from ..errors import Conflict, NotFound, TidegateError
from ..protocol import message as commands
from ..protocol.command import Command, Cost, Seconds, Text
from ..protocol.message import Delivery
from .link import Link

log = logging.getLogger("tidegate")


class Message(Delivery):
    """A delivered message, to be answered once: `ack`, `nack` or `release`.

    `async with message:` does so by itself: with ack, after an exception with nack, and with release when the task is
    cancelled.
    """

    def __init__(self, link: Link, delivery: Delivery, count_back: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__(**vars(delivery))
        self.answered = False
        self._link = link
        self._count_back = count_back

    async def ack(self, *, cost: Cost | None = None) -> None:
        """It is done with. `cost` is what it really cost: `ack(cost={"tpm": 812})` settles its charges."""
        await self._answer(commands.ack(self.queue, self.receipt, cost))

    async def nack(
        self,
        *,
        delay: Seconds | None = None,
        error: str | None = None,
        close: tuple[Text, Seconds] | None = None,
        cost: Cost | None = None,
    ) -> None:
        """The attempt failed: it comes again after the queue's backoff, or `delay` seconds, or becomes a dead letter.

        `close=("provider", 30)` also closes a throttle key for 30 seconds. `cost` is what the attempt really cost.
        """
        options = commands.nack(self.queue, self.receipt, delay=delay, error=error, close=close, cost=cost)
        await self._answer(options)

    async def release(self) -> None:
        """Gives it back: no attempt is counted, and all that it took comes back."""
        await self._answer(commands.release(self.queue, self.receipt))

    async def extend(self, length: Seconds) -> None:
        """It needs so many seconds from now on."""
        await self._link.call(commands.extend(self.queue, self.receipt, length))

    async def _answer(self, command: Command[None]) -> None:
        try:
            await self._link.call(command)
        except (Conflict, NotFound):
            # It is not ours any more.
            await self._forget()
            raise
        await self._forget()

    async def _forget(self) -> None:
        self.answered, first = True, not self.answered
        if first and self._count_back is not None:
            await self._count_back()

    async def __aenter__(self) -> Message:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.answered:
            return
        if kind is None:
            await self.ack()
        else:
            answer = self.nack(error=repr(error)) if issubclass(kind, Exception) else self.release()
            await asyncio.shield(self._link.start(self._leave(answer)))

    async def _leave(self, answer: Awaitable[None]) -> None:
        """Answers after an exception, which is not to be hidden by another."""
        try:
            await answer
        except (TidegateError, OSError) as failure:
            log.warning("message %s is left until its lease runs out: %s", self.id, failure)
