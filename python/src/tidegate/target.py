"""Where the server is, and what a connection says when it opens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis
import redis.exceptions

from . import errors

DEFAULT_PORT = 6380


@dataclass(frozen=True)
class Target:
    """A server, and who is asking."""

    url: str
    namespace: str
    token: str | None
    actor: str | None
    timeout: float

    def connection(self, pool_class: Any) -> tuple[Any, dict[str, Any]]:
        """The class of the connection, and what it is made with. `pool_class` is redis-py's, and reads the address.

        RESP2, because replies are all that is needed. A call is sent at most once: redis-py's own retries are off for a
        bare connection, and a second ACQUIRE would take twice.
        """
        url = self.url if "://" in self.url else f"redis://{self.url}"
        pool = pool_class.from_url(url, protocol=2, client_name=self.actor, socket_timeout=self.timeout)
        arguments: dict[str, Any] = dict(pool.connection_kwargs)
        arguments["socket_connect_timeout"] = self.timeout
        # The word after SELECT: a name here, a number in Redis.
        arguments["db"] = self.namespace
        if self.token is not None:
            arguments["password"] = self.token
        if "path" not in arguments:
            arguments.setdefault("port", DEFAULT_PORT)
        return pool.connection_class, arguments


def translated(error: Exception) -> Exception:
    """What redis-py raised, as one of ours."""
    if isinstance(error, redis.exceptions.AuthenticationError):
        return errors.Unauthenticated("unauthenticated", str(error), "present the server's token")
    if isinstance(error, redis.exceptions.ResponseError):
        return errors.refused(str(error))
    if isinstance(error, redis.exceptions.TimeoutError | TimeoutError):
        return errors.TimedOut(str(error) or "no answer in time")
    if isinstance(error, redis.exceptions.ConnectionError | OSError):
        return errors.Unreachable(str(error))
    return error
