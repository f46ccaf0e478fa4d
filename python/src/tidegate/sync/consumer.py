"""Being sent messages as they come, for threads. Why this way: see `tidegate.protocol.consume`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import redis.exceptions

from ..errors import Unreachable
from ..protocol import consume
from ..protocol.command import Command
from ..protocol.message import Delivery
from ..target import translated
from .link import Link
from .message import SyncMessage


class SyncConsumer:
    """The messages of a queue: `for message in queue.consume(credit=100)`.

    Leaving the loop, by whatever way, gives back at once what was not answered. To answer after the loop, for instance
    in threads of a pool, enter it: `with queue.consume() as messages:` gives back when the block is left. `close` from
    another thread ends the loop. When the connection breaks, the loop ends with `Unreachable`, and the server has given
    the messages to others.
    """

    def __init__(self, link: Link, queue: str, credit: int, idle: float | None) -> None:
        self._link = link
        self._queue = queue
        self._credit = consume.Credit(credit)
        self._idle = idle
        self._connection: Any = None
        self._number = 0
        self._is_entered = False
        # Answers come from any thread; one writes at a time.
        self._writing = threading.Lock()

    def __enter__(self) -> SyncConsumer:
        self._is_entered = True
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[SyncMessage]:
        try:
            if self._connection is None:
                self._open()
            while (delivery := self._next()) is not None:
                yield SyncMessage(self._link, delivery, self._count_back)
        finally:
            if not self._is_entered:
                self.close()

    def close(self) -> None:
        """Ends it. The server gives the messages back that were not answered."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()

    def _open(self) -> None:
        connection = self._link.open()
        command = consume.subscribe(self._queue, self._credit.window)
        try:
            connection.send_command(*command.words)
            self._number = command.decode(connection.read_response())
        except BaseException as error:
            connection.disconnect()
            raise (translated(error) if isinstance(error, Exception) else error) from None
        self._connection = connection

    def _next(self) -> Delivery | None:
        """The next message; None when it was closed, or nothing has come for as long as it may be idle."""
        asked_for_life = False
        quiet_until = None if self._idle is None else time.monotonic() + self._idle
        while (connection := self._connection) is not None:
            left = consume.HEARTBEAT if quiet_until is None else quiet_until - time.monotonic()
            if left <= 0:
                return None
            try:
                has_come = connection.can_read(timeout=min(left, consume.HEARTBEAT))
                found = connection.read_response(disconnect_on_error=False) if has_come else None
            except Exception as error:
                if self._connection is None:
                    return None
                raise translated(error) from None
            if found is None:
                if asked_for_life:
                    raise Unreachable("the server has not been heard of for a while")
                if left >= consume.HEARTBEAT:
                    asked_for_life = True
                    self._send(consume.PING)
                continue
            asked_for_life = False
            if (delivery := consume.pushed(self._queue, found)) is not None:
                return delivery
        return None

    def _count_back(self) -> None:
        with self._writing:
            credit = self._credit.give_back()
        if credit:
            self._send(consume.more(self._number, credit))

    def _send(self, command: Command[None]) -> None:
        """The reply comes in between messages, and says nothing. A broken connection is found out by who reads."""
        with self._writing, contextlib.suppress(redis.exceptions.RedisError, OSError):
            if self._connection is not None:
                self._connection.send_command(*command.words)
