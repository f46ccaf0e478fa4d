"""Connections to the server, for threads: one for each call that is under way, kept for the next."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import redis
import redis.exceptions

from ..protocol.command import Command
from ..target import Target, translated

T = TypeVar("T")


class Link:
    """The connections of one limiter, shared by all threads. As many are open as threads were in a call at once."""

    def __init__(self, target: Target) -> None:
        self._timeout = target.timeout
        self._connection_class, self._arguments = target.connection(redis.ConnectionPool)
        # `append` and `pop` of a list are atomic.
        self._idle: list[Any] = []
        self._pid = os.getpid()

    def call(self, command: Command[T]) -> T:
        """Sends a command and reads its reply."""
        connection = self._take()
        try:
            connection.send_command(*command.words)
            # The socket's own time-out is for a reply that the server does not let wait.
            if command.patience and not connection.can_read(timeout=self._timeout + command.patience):
                raise redis.exceptions.TimeoutError("no answer in time")
            found = connection.read_response()
        except redis.exceptions.ResponseError as error:
            self._idle.append(connection)
            raise translated(error) from None
        except BaseException as error:
            # A reply may still come, which is not to be taken for the next one's.
            connection.disconnect()
            raise (translated(error) if isinstance(error, Exception) else error) from None
        self._idle.append(connection)
        return command.decode(found)

    def _take(self) -> Any:
        if self._pid != os.getpid():
            # A forked process does not share the connections of its parent.
            self._idle, self._pid = [], os.getpid()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if not _is_stale(connection):
                return connection
            connection.disconnect()
        return self.open()

    def open(self) -> Any:
        """A connection that nobody else uses. Whoever opens it ends it."""
        connection = self._connection_class(**self._arguments)
        try:
            connection.connect()
        except BaseException as error:
            connection.disconnect()
            raise (translated(error) if isinstance(error, Exception) else error) from None
        return connection

    def close(self) -> None:
        """Ends the connections that are idle."""
        while self._idle:
            self._idle.pop().disconnect()


def _is_stale(connection: Any) -> bool:
    """Whether the server has closed it meanwhile."""
    try:
        return bool(connection.can_read(timeout=0))
    except (redis.exceptions.RedisError, OSError):
        return True
