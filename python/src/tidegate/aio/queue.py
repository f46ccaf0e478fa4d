"""A queue, for asyncio."""

from __future__ import annotations

import asyncio
import logging

from ..errors import TidegateError
from ..operations import QueueOperations
from ..protocol import message as commands
from ..protocol.command import Seconds
from ..protocol.message import Delivery
from .consumer import Consumer
from .link import Link
from .message import Message

log = logging.getLogger("tidegate")


class Queue(QueueOperations[Link]):
    """One queue: `limiter.queue("batch")`. It is made with `limiter.queues.create("batch")`."""

    def consume(self, *, credit: int = 100, idle: float | None = None) -> Consumer:
        """Messages as they come, with `async for`; at most `credit` of them are in hand, not answered.

        With `idle`, the loop ends when nothing has come for so many seconds.
        """
        return Consumer(self._link, self.name, credit, idle)

    async def receive(self, *, count: int = 1, wait: Seconds = 0) -> list[Message]:
        """Takes up to `count` messages, waiting up to `wait` seconds for the first.

        They stay with the caller until they are answered or their time runs out. If the task is cancelled
        meanwhile, what still comes is released.
        """
        asked = self._link.start(self._link.call(commands.receive(self.name, count=count, wait=wait)))
        try:
            deliveries = await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._abandon)
            raise
        return [Message(self._link, delivery) for delivery in deliveries]

    def _abandon(self, asked: asyncio.Task[list[Delivery]]) -> None:
        if not asked.cancelled() and asked.exception() is None and asked.result():
            self._link.start(self._give_back([delivery.receipt for delivery in asked.result()]))

    async def _give_back(self, receipts: list[str]) -> None:
        try:
            await self._link.call(commands.release(self.name, *receipts))
        except (TidegateError, OSError) as failure:
            log.warning("messages %s are left until their leases run out: %s", receipts, failure)
