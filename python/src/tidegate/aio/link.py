"""Connections to the server, for asyncio: one for each call that is under way, kept for the next."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import redis.asyncio
import redis.exceptions

from ..protocol.command import Command
from ..target import Target, translated

T = TypeVar("T")

MAX_CONNECTIONS = 64
"""Calls of one kind that are under way at once; more wait in here for their turn."""


class Link:
    """The connections of one limiter. A call that the server may let wait has a line of its own: see `call`."""

    def __init__(self, target: Target, max_connections: int = MAX_CONNECTIONS) -> None:
        self._timeout = target.timeout
        self._connection_class, self._arguments = target.connection(redis.asyncio.ConnectionPool)
        self._idle: list[Any] = []
        # Those that wait are often waiting for what the others give back, so they must not take their places.
        self._prompt = asyncio.Semaphore(max_connections)
        self._patient = asyncio.Semaphore(max_connections)
        self._background: set[asyncio.Task[Any]] = set()

    async def call(self, command: Command[T]) -> T:
        """Sends a command and reads its reply."""
        async with self._patient if command.patience else self._prompt:
            found = await self._exchange(command)
        return command.decode(found)

    async def _exchange(self, command: Command[Any]) -> Any:
        connection = await self._take()
        try:
            await connection.send_command(*command.words)
            found = await connection.read_response(timeout=self._timeout + command.patience)
            if found is None:
                # With a time-out of its own, redis-py says so like this; no reply of the server's is null.
                raise redis.exceptions.TimeoutError("no answer in time")
        except redis.exceptions.ResponseError as error:
            self._idle.append(connection)
            raise translated(error) from None
        except BaseException as error:
            # A reply may still come, which is not to be taken for the next one's.
            await connection.disconnect(nowait=True)
            raise (translated(error) if isinstance(error, Exception) else error) from None
        self._idle.append(connection)
        return found

    async def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not _is_stale(connection):
                return connection
            await connection.disconnect(nowait=True)
        return await self.open()

    async def open(self) -> Any:
        """A connection that nobody else uses. Whoever opens it ends it."""
        connection = self._connection_class(**self._arguments)
        try:
            await connection.connect()
        except BaseException as error:
            await connection.disconnect(nowait=True)
            raise (translated(error) if isinstance(error, Exception) else error) from None
        return connection

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Work that goes on although its caller is cancelled: wait for it with `asyncio.shield`."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def close(self) -> None:
        """Waits for what goes on in the background, for the time-out at most, then ends the connections."""
        deadline = asyncio.get_running_loop().time() + self._timeout
        while self._background and (left := deadline - asyncio.get_running_loop().time()) > 0:
            # What ends may start something more: a lease that came too late is released.
            await asyncio.wait(self._background, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for task in self._background:
            task.cancel()
        while self._idle:
            await self._idle.pop().disconnect(nowait=True)


def _is_stale(connection: Any) -> bool:
    """Whether the server has closed it meanwhile. redis-py's own look differs from version to version, and waits."""
    reader: asyncio.StreamReader | None = connection._reader
    return reader is None or reader.at_eof()
