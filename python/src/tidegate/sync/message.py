"""Delivered messages, for threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType

from ..errors import Conflict, NotFound, TidegateError
from ..protocol import message as commands
from ..protocol.command import Command, Cost, Seconds, Text
from ..protocol.message import Delivery
from .link import Link

log = logging.getLogger("tidegate")


class SyncMessage(Delivery):
    """As `tidegate.Message`, without await. `with message:` answers by itself."""

    def __init__(self, link: Link, delivery: Delivery, count_back: Callable[[], None] | None = None) -> None:
        super().__init__(**vars(delivery))
        self.answered = False
        self._link = link
        self._count_back = count_back

    def ack(self, *, cost: Cost | None = None) -> None:
        """It is done with. `cost` is what it really cost: `ack(cost={"tpm": 812})` settles its charges."""
        self._answer(commands.ack(self.queue, self.receipt, cost))

    def nack(
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
        self._answer(commands.nack(self.queue, self.receipt, delay=delay, error=error, close=close, cost=cost))

    def release(self) -> None:
        """Gives it back: no attempt is counted, and all that it took comes back."""
        self._answer(commands.release(self.queue, self.receipt))

    def extend(self, length: Seconds) -> None:
        """It needs so many seconds from now on."""
        self._link.call(commands.extend(self.queue, self.receipt, length))

    def _answer(self, command: Command[None]) -> None:
        try:
            self._link.call(command)
        except (Conflict, NotFound):
            # It is not ours any more.
            self._forget()
            raise
        self._forget()

    def _forget(self) -> None:
        self.answered, first = True, not self.answered
        if first and self._count_back is not None:
            self._count_back()

    def __enter__(self) -> SyncMessage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.answered:
            return
        if kind is None:
            self.ack()
            return
        try:
            if issubclass(kind, Exception):
                self.nack(error=repr(error))
            else:
                self.release()
        except TidegateError as failure:
            # The exception is not to be hidden by another.
            log.warning("message %s is left until its lease runs out: %s", self.id, failure)
