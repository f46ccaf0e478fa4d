"""What happens to connections: kept, broken, refused, shared."""

import asyncio
import multiprocessing

import pytest
from conftest import url_of

import tidegate
from tidegate.aio import link as aio_link
from tidegate.sync import link as sync_link

LIMIT = {"burst": 2, "count": 1, "period": 3600}


async def test_throttle(limiter):
    assert await limiter.throttle("k", **LIMIT) == tidegate.Decision(True, 2, 1, 3600.0, 0.0)
    assert (await limiter.peek("k", **LIMIT)).remaining == 1
    assert (await limiter.throttle("k", **LIMIT)).remaining == 0
    assert (await limiter.throttle("k", **LIMIT)).retry_after == 3600.0
    assert (await limiter.throttle("k", quantity=3, **LIMIT)).retry_after is None
    assert await limiter.forget("k") == 1
    with pytest.raises(tidegate.Refused) as refused:
        await limiter.throttle("k", burst=0, count=1, period=1)
    assert refused.value.code == "invalid_limit"


def test_throttle_in_threads(sync_limiter):
    assert sync_limiter.throttle(b"\xff key", **LIMIT).allowed
    with pytest.raises(tidegate.Refused):
        sync_limiter.throttle("k", burst=0, count=1, period=1)
    assert sync_limiter.throttle(b"\xff key", **LIMIT).remaining == 0


async def test_many_tasks_share_a_few_connections(limiter):
    burst = {"burst": 500, "count": 1, "period": 3600}
    decisions = await asyncio.gather(*[limiter.throttle("k", **burst) for _ in range(500)])
    assert sorted(decision.remaining for decision in decisions) == list(range(500))
    assert len(limiter._link._idle) <= 64


async def test_a_cancelled_call_leaves_no_reply_for_the_next(limiter):
    for attempt in range(20):
        task = asyncio.create_task(limiter.throttle("k", burst=1000, count=1, period=3600))
        for _ in range(attempt):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert (await limiter.throttle(f"other-{attempt}", burst=7, count=1, period=3600)).limit == 7


async def test_namespaces_are_apart(url, name):
    async with tidegate.Limiter(url, namespace=f"{name}-a") as a, tidegate.Limiter(url, namespace=f"{name}-b") as b:
        assert (await a.throttle("k", **LIMIT)).remaining == 1
        assert (await b.throttle("k", **LIMIT)).remaining == 1


async def test_a_namespace_that_cannot_be(url):
    async with tidegate.Limiter(url, namespace="no spaces") as limiter:
        with pytest.raises(tidegate.Refused) as refused:
            await limiter.throttle("k", **LIMIT)
        assert refused.value.code == "invalid_namespace"


async def test_the_token(start_server):
    server = start_server(env={"TIDEGATE_AUTH_TOKEN": "secret"})
    host, port = server.resp
    async with tidegate.Limiter(f"{host}:{port}", token="secret") as limiter:
        assert (await limiter.throttle("k", **LIMIT)).allowed
    for token in [None, "wrong"]:
        async with tidegate.Limiter(f"{host}:{port}", token=token) as limiter:
            with pytest.raises(tidegate.Unauthenticated):
                await limiter.throttle("k", **LIMIT)
        with tidegate.SyncLimiter(f"{host}:{port}", token=token) as limiter, pytest.raises(tidegate.Unauthenticated):
            limiter.throttle("k", **LIMIT)


async def test_nobody_there():
    async with tidegate.Limiter("redis://127.0.0.1:1") as limiter:
        with pytest.raises(ConnectionError):
            await limiter.throttle("k", **LIMIT)
    with pytest.raises(ConnectionError):
        tidegate.SyncLimiter("redis://127.0.0.1:1").throttle("k", **LIMIT)


async def test_a_connection_that_the_server_closed_is_replaced(start_server):
    server = start_server("--resp-idle-timeout-ms=100")
    with tidegate.SyncLimiter(url_of(server)) as sync_limiter:
        async with tidegate.Limiter(url_of(server)) as limiter:
            assert (await limiter.throttle("k", **LIMIT)).allowed
            assert sync_limiter.throttle("k", **LIMIT).allowed
            [connection], [sync_connection] = limiter._link._idle, sync_limiter._link._idle
            while not aio_link._is_stale(connection):
                await asyncio.sleep(0.01)
            while not sync_link._is_stale(sync_connection):
                await asyncio.sleep(0.01)
            assert (await limiter.throttle("other", **LIMIT)).allowed
            assert sync_limiter.throttle("other", **LIMIT).allowed
            assert connection not in limiter._link._idle and sync_connection not in sync_limiter._link._idle


async def silent_door():
    """A door that takes every call and never answers."""

    async def hold(reader, writer):
        while b"CLIENT" in (line := await reader.read(65536)) or b"SELECT" in line:
            writer.write(b"+OK\r\n" * line.count(b"*"))
        await reader.read()
        writer.close()

    return await asyncio.start_server(hold, "127.0.0.1", 0)


async def test_no_answer_in_time():
    door = await silent_door()
    host, port = door.sockets[0].getsockname()
    async with tidegate.Limiter(f"{host}:{port}", timeout=0.05) as limiter:
        with pytest.raises(TimeoutError):
            await limiter.throttle("k", **LIMIT)
        with pytest.raises(TimeoutError):
            await limiter.acquire("a", consume={"x": 1}, wait=0.05)
        # Their answers may still come, for nobody.
        assert limiter._link._idle == []
    with tidegate.SyncLimiter(f"{host}:{port}", timeout=0.05) as sync_limiter:
        for call in [lambda: sync_limiter.throttle("k"), lambda: sync_limiter.acquire("a", wait=0.05).start()]:
            with pytest.raises(TimeoutError):
                await asyncio.to_thread(call)
        assert sync_limiter._link._idle == []
    door.close()


def in_child(limiter, results):
    inherited = list(limiter._link._idle)
    remaining = limiter.throttle("k", **LIMIT).remaining
    results.put((remaining, limiter._link._idle[0] in inherited))


def test_a_forked_process_has_connections_of_its_own(sync_limiter):
    assert sync_limiter.throttle("k", **LIMIT).remaining == 1
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    child = fork.Process(target=in_child, args=(sync_limiter, results))
    child.start()
    child.join(10)
    assert child.exitcode == 0 and results.get() == (0, False)
    assert sync_limiter.throttle("other", **LIMIT).remaining == 1
