"""A queue, for threads."""

from __future__ import annotations

from ..operations import QueueOperations
from ..protocol import message as commands
from ..protocol.command import Seconds
from .consumer import SyncConsumer
from .link import Link
from .message import SyncMessage


class SyncQueue(QueueOperations[Link]):
    """One queue: `limiter.queue("batch")`. It is made with `limiter.queues.create("batch")`."""

    def consume(self, *, credit: int = 100, idle: float | None = None) -> SyncConsumer:
        """Messages as they come, with `for`; at most `credit` of them are in hand, not answered.

        With `idle`, the loop ends when nothing has come for so many seconds.
        """
        return SyncConsumer(self._link, self.name, credit, idle)

    def receive(self, *, count: int = 1, wait: Seconds = 0) -> list[SyncMessage]:
        """Takes up to `count` messages, waiting up to `wait` seconds for the first.

        They stay with the caller until they are answered or their time runs out.
        """
        deliveries = self._link.call(commands.receive(self.name, count=count, wait=wait))
        return [SyncMessage(self._link, delivery) for delivery in deliveries]
