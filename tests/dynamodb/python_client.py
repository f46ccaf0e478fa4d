"""zae-limiter 0.17.0 on the same table, its asynchronous and its synchronous side in one form."""

import asyncio
import contextlib
import threading

from store import REGION
from zae_limiter import Limit, RateLimiter, RateLimitExceeded, Repository, SyncRateLimiter, SyncRepository

__all__ = ["Abandoned", "AsyncPython", "Limit", "Python"]

# Its caches would hide for a minute what the other side has set, and for a second what it has given back.
FRESH = {"config_cache_ttl": 0, "rejection_cache_ttl": 0}


def _place(table, namespace):
    return {"namespace": namespace, "stack": table.name, "region": REGION, "endpoint_url": table.endpoint.url}


class Python:
    """The synchronous client. Connecting writes nothing: the table has to be what it expects."""

    def __init__(self, table, namespace="default", **caches):
        self.repository = SyncRepository.connect(**_place(table, namespace), **(FRESH | caches))
        self.limiter = SyncRateLimiter(repository=self.repository)

    def acquire(self, entity, resource, cost, meanwhile=dict):
        """Whether it was admitted. What is done meanwhile tells what to adjust, or fails, and everything is given back."""
        with contextlib.suppress(Abandoned):
            try:
                with self.limiter.acquire(entity, resource, cost) as lease:
                    lease.adjust(**meanwhile())
            except RateLimitExceeded:
                return False
        return True

    def available(self, entity, resource="gpt-4"):
        return self.limiter.available(entity, resource)

    def __getattr__(self, name):
        return getattr(self.limiter, name)

    def close(self):
        self.limiter.close()


class AsyncPython:
    """The asynchronous client on a loop of its own, asked from any thread."""

    def __init__(self, table, namespace="default", **caches):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        connected = Repository.connect(**_place(table, namespace), **(FRESH | caches))
        self.repository = self.run(connected)
        self.limiter = RateLimiter(repository=self.repository)

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout=60)

    def acquire(self, entity, resource, cost, meanwhile=dict):
        return self.run(self._acquire(entity, resource, cost, meanwhile))

    async def _acquire(self, entity, resource, cost, meanwhile):
        with contextlib.suppress(Abandoned):
            try:
                async with self.limiter.acquire(entity, resource, cost) as lease:
                    await lease.adjust(**meanwhile())
            except RateLimitExceeded:
                return False
        return True

    def available(self, entity, resource="gpt-4"):
        return self.run(self.limiter.available(entity, resource))

    def __getattr__(self, name):
        """Any other call of it, to its end."""
        call = getattr(self.limiter, name)
        return lambda *args, **kwargs: self.run(call(*args, **kwargs))

    def close(self):
        with contextlib.suppress(Exception):
            self.run(self.limiter.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Abandoned(Exception):
    """The caller's work failed: nothing was used."""
