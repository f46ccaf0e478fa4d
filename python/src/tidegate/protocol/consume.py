"""Being sent messages as they come.

A consumer has a connection of its own, on which nothing but messages and the replies to `CREDIT` and `PING` come. So
plain RESP2 is enough, where a pushed message is an array like any other, and nothing depends on how redis-py treats
pushes. Beside asking again and again with `RECEIVE` this has two merits: a consumer that dies, or is cancelled at
any point, gives its messages back at once by closing its connection; and that is not counted as an attempt.
"""

from __future__ import annotations

from typing import Any

from .. import errors
from . import reply
from .command import Command
from .message import Delivery, delivery

HEARTBEAT = 10.0
"""Seconds of silence after which the server is asked for a sign of life: it closes connections that say nothing."""


def subscribe(queue: str, credit: int) -> Command[int]:
    """`credit` messages may come. Says the number of the consumer."""
    return Command(("CONSUME", queue, "CREDIT", credit), reply.number)


def more(consumer: int, credit: int) -> Command[None]:
    """So many more may come."""
    return Command(("CREDIT", consumer, credit), reply.done)


PING: Command[None] = Command(("PING",), lambda _: None)


def pushed(queue: str, found: Any) -> Delivery | None:
    """A message that was pushed; None for anything else. Raises what ended the consumer: its queue was deleted."""
    match found:
        case [b"message" | "message", _, message]:
            return delivery(queue, message)
        case [b"ended" | "ended", _, told]:
            raise errors.refused(reply.text(told))
        case _:
            return None


class Credit:
    """How many messages may be in hand, and how many were answered since the server was told.

    Told in batches: nobody is kept waiting by that, since as long as less than the window is in hand or untold, the
    server has credit left.
    """

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError("the credit must be at least 1")
        self.window = window
        self._batch = max(1, window // 4)
        self._untold = 0

    def give_back(self) -> int:
        """One was answered. Says how much credit to send now."""
        self._untold += 1
        if self._untold < self._batch:
            return 0
        untold, self._untold = self._untold, 0
        return untold
