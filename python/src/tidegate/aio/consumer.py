"""Being sent messages as they come, for asyncio. Why this way: see `tidegate.protocol.consume`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import redis.exceptions

from ..errors import Unreachable
from ..protocol import consume
from ..protocol.command import Command
from ..protocol.message import Delivery
from ..target import translated
from .link import Link
from .message import Message


class Consumer:
    """The messages of a queue: `async for message in queue.consume(credit=100)`.

    Leaving the loop, by whatever way, gives back at once what was not answered. To answer after the loop, for
    instance in tasks of their own, enter it: `async with queue.consume() as messages:` gives back when the block is
    left. When the connection breaks, the loop ends with `Unreachable`, and the server has given the messages to others.
    """

    def __init__(self, link: Link, queue: str, credit: int, idle: float | None) -> None:
        self._link = link
        self._queue = queue
        self._credit = consume.Credit(credit)
        self._idle = idle
        self._connection: Any = None
        self._number = 0
        self._is_entered = False

    async def __aenter__(self) -> Consumer:
        self._is_entered = True
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Message]:
        try:
            if self._connection is None:
                await self._open()
            while (delivery := await self._next()) is not None:
                yield Message(self._link, delivery, self._count_back)
        finally:
            if not self._is_entered:
                await self.close()

    async def close(self) -> None:
        """Ends it. The server gives the messages back that were not answered."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _open(self) -> None:
        connection = await self._link.open()
        command = consume.subscribe(self._queue, self._credit.window)
        try:
            await connection.send_command(*command.words)
            self._number = command.decode(await connection.read_response())
        except BaseException as error:
            await connection.disconnect(nowait=True)
            raise (translated(error) if isinstance(error, Exception) else error) from None
        self._connection = connection

    async def _next(self) -> Delivery | None:
        """The next message; None when it was closed, or nothing has come for as long as it may be idle."""
        clock = asyncio.get_running_loop().time
        asked_for_life = False
        quiet_until = None if self._idle is None else clock() + self._idle
        while (connection := self._connection) is not None:
            left = consume.HEARTBEAT if quiet_until is None else quiet_until - clock()
            if left <= 0:
                return None
            try:
                found = await connection.read_response(timeout=min(left, consume.HEARTBEAT), disconnect_on_error=False)
            except Exception as error:
                if self._connection is None:
                    return None
                raise translated(error) from None
            if found is None:
                if asked_for_life:
                    raise Unreachable("the server has not been heard of for a while")
                if left >= consume.HEARTBEAT:
                    asked_for_life = True
                    await self._send(consume.PING)
                continue
            asked_for_life = False
            if (delivery := consume.pushed(self._queue, found)) is not None:
                return delivery
        return None

    async def _count_back(self) -> None:
        if (credit := self._credit.give_back()) and self._connection is not None:
            await self._send(consume.more(self._number, credit))

    async def _send(self, command: Command[None]) -> None:
        """The reply comes in between messages, and says nothing. A broken connection is found out by who reads."""
        with contextlib.suppress(redis.exceptions.RedisError, OSError):
            await self._connection.send_command(*command.words)
