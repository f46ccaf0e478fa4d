"""The limiter, for asyncio."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from ..operations import LimiterOperations
from ..protocol import lease as commands
from ..protocol.charge import DEFAULT_RESOURCE, Charge
from ..protocol.command import Cost, Seconds
from ..protocol.lease import OnExpiry, OnUnavailable
from ..protocol.limit import Limit
from ..target import Target
from .lease import Acquiring, Lease
from .link import Link
from .queue import Queue


class Limiter(LimiterOperations[Link]):
    """A Tidegate server, for asyncio. One per event loop; share it among all tasks.

    `url` is that of the RESP door, `namespace` the world to work in, `token` the server's, if it wants one. `actor` is
    who the audit says it was. `timeout` bounds how long an answer is waited for, in seconds, beyond what the call
    itself wants to wait. Nothing is connected until the first call. `async with` closes it at the end.
    """

    def __init__(
        self,
        url: str = "redis://127.0.0.1:6380",
        *,
        namespace: str = "default",
        token: str | None = None,
        actor: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        super().__init__(Link(Target(url, namespace, token, actor, timeout)))

    def acquire(
        self,
        entity: str | None = None,
        resource: str = DEFAULT_RESOURCE,
        consume: Cost | None = None,
        *,
        charges: Iterable[Charge] | None = None,
        wait: Seconds | None = None,
        ttl: Seconds | None = None,
        on_expiry: OnExpiry | None = None,
        limits: Iterable[Limit | str] | None = None,
        on_unavailable: OnUnavailable | None = None,
    ) -> Acquiring:
        """Takes every charge, or none, and leases it: `async with limiter.acquire(...) as lease`.

        Denied is `RateLimitExceeded`. `wait` stands in line for so many seconds first, fairly among entities. `ttl` is
        how long the lease lasts by itself, `on_expiry` what becomes of its tokens then: `keep` or `give_back`. `limits`
        replace the stored ones for this call, which then cannot wait. `on_unavailable` is for when the server's store
        fails: `block` or `allow`.
        """
        command = commands.acquire(
            entity,
            resource,
            consume,
            charges=charges,
            wait=wait,
            ttl=ttl,
            on_expiry=on_expiry,
            limits=limits,
            on_unavailable=on_unavailable,
        )
        return Acquiring(self._link, command)

    def lease(self, id: str) -> Lease:
        """A lease by its id, to be ended elsewhere than it was acquired. Nothing is asked yet."""
        return Lease(self._link, id, [], None)

    def queue(self, name: str) -> Queue:
        """The queue of this name. Nothing is asked yet."""
        return Queue(self._link, name)

    async def close(self) -> None:
        """Waits for what is still under way, and disconnects."""
        await self._link.close()

    async def __aenter__(self) -> Limiter:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
