"""Leases, against the real server: the case is a gateway to language models, with `rpm` and `tpm` per model.

Rates are so slow that nothing comes back while a test runs.
"""

import asyncio

import pytest

import tidegate
from tidegate import Charge, Limit

PATIENCE_S = 10
MODEL = "gpt-4"


@pytest.fixture
async def gateway(limiter):
    """100 requests and 1000 tokens at once, and a thousandth of that an hour."""
    slow = [Limit.per("rpm", 1, 36_000, burst=100), Limit.per("tpm", 1, 3600, burst=1000)]
    await limiter.limits.set(slow, resource=MODEL)
    return limiter


async def left(limiter, entity="acme", resource=MODEL):
    """What is there of each limit."""
    looked = await limiter.available(entity, resource, {"rpm": 0, "tpm": 0})
    return {status.limit: status.available for status in looked.statuses}


async def test_a_lease_keeps_what_it_took_and_was_adjusted_by(gateway):
    async with gateway.acquire("acme", MODEL, consume={"rpm": 1, "tpm": 500}) as lease:
        assert {(s.limit, s.available, s.exceeded) for s in lease.statuses} == {("rpm", 99, False), ("tpm", 500, False)}
        assert len(lease.id) == 16 and lease.expires_at is not None
        await lease.adjust(tpm=+312)
    assert lease.ended
    assert await left(gateway) == {"rpm": 99, "tpm": 188}
    with pytest.raises(tidegate.NotFound):
        await lease.adjust(tpm=1)


async def test_settled_at_the_real_cost(gateway):
    async with gateway.acquire("acme", MODEL, consume={"rpm": 1, "tpm": 500}) as lease:
        await lease.settle(tpm=120)
    assert await left(gateway) == {"rpm": 99, "tpm": 880}


async def test_an_exception_releases(gateway):
    with pytest.raises(KeyError):
        async with gateway.acquire("acme", MODEL, consume={"rpm": 1, "tpm": 500}) as lease:
            await lease.adjust(tpm=100)
            raise KeyError("the model is gone")
    assert await left(gateway) == {"rpm": 100, "tpm": 1000}


async def test_a_cancelled_task_releases(gateway):
    inside = asyncio.Event()

    async def work():
        async with gateway.acquire("acme", MODEL, consume={"rpm": 1, "tpm": 500}):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    assert await left(gateway) == {"rpm": 99, "tpm": 500}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await left(gateway) == {"rpm": 100, "tpm": 1000}


async def test_a_timeout_releases(gateway):
    with pytest.raises(asyncio.TimeoutError):
        async with gateway.acquire("acme", MODEL, consume={"tpm": 500}):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    assert (await left(gateway))["tpm"] == 1000


async def test_adjusted_into_debt(gateway):
    async with gateway.acquire("acme", MODEL, consume={"tpm": 900}) as lease:
        await lease.adjust(tpm=600)
    assert (await left(gateway))["tpm"] == -500
    with pytest.raises(tidegate.RateLimitExceeded) as denied:
        await gateway.take("acme", MODEL, {"tpm": 1})
    # 501 tokens, one an hour.
    assert denied.value.retry_after == pytest.approx(501 * 3600, abs=60)
    [status] = denied.value.violations
    assert (status.limit, status.available, status.requested) == ("tpm", -500, 1)


async def test_denied_with_the_status_of_every_limit(gateway):
    await gateway.take("acme", MODEL, {"tpm": 800})
    with pytest.raises(tidegate.RateLimitExceeded) as denied:
        async with gateway.acquire("acme", MODEL, consume={"rpm": 1, "tpm": 500}):
            raise AssertionError("it was denied")
    assert {status.limit: status.exceeded for status in denied.value.statuses} == {"rpm": False, "tpm": True}
    assert denied.value.retry_after == pytest.approx(300 * 3600, abs=60)
    # All or none.
    assert await left(gateway) == {"rpm": 100, "tpm": 200}


async def test_several_charges_all_or_none(gateway):
    both = [Charge("acme", MODEL, {"tpm": 600}), Charge("other", MODEL, {"tpm": 600})]
    async with gateway.acquire(charges=both):
        assert (await left(gateway, "other"))["tpm"] == 400
    with pytest.raises(tidegate.RateLimitExceeded):
        await gateway.acquire(charges=[Charge("third", MODEL, {"tpm": 1}), *both])
    assert (await left(gateway, "third"))["tpm"] == 1000


async def test_a_parent_is_charged_too(gateway):
    await gateway.entities.create("org", name="Org")
    await gateway.entities.create("project", parent="org", cascade=True)
    async with gateway.acquire("project", MODEL, consume={"tpm": 100}) as lease:
        assert {status.entity for status in lease.statuses} == {"org", "project"}
    assert (await left(gateway, "org"))["tpm"] == 900


async def test_waiting_for_a_slot(limiter):
    await limiter.limits.set([Limit.concurrency("inflight", 1)], resource=MODEL)
    with pytest.raises(tidegate.Refused) as refused:
        await limiter.take("acme", MODEL)
    assert refused.value.code == "lease_required"
    order = []

    async def second():
        async with limiter.acquire("acme", MODEL, wait=PATIENCE_S):
            order.append("second")

    async with limiter.acquire("acme", MODEL):
        with pytest.raises(tidegate.RateLimitExceeded) as denied:
            await limiter.acquire("acme", MODEL, wait=0.01)
        assert denied.value.retry_after is None
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.05)
        order.append("first")
    await waiting
    assert order == ["first", "second"]


async def test_an_acquire_that_is_cancelled_while_it_waits_takes_nothing_for_long(limiter):
    await limiter.limits.set([Limit.concurrency("inflight", 1)], resource=MODEL)
    async with limiter.acquire("acme", MODEL):
        waiting = asyncio.create_task(limiter.acquire("acme", MODEL, wait=PATIENCE_S).__aenter__())
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with limiter.acquire("acme", MODEL, wait=PATIENCE_S):
        pass


async def test_limits_in_the_call(limiter):
    own = [Limit.per_hour("calls", 1)]
    await limiter.take("acme", "free", {"calls": 1}, limits=own)
    with pytest.raises(tidegate.RateLimitExceeded):
        await limiter.take("acme", "free", {"calls": 1}, limits=own)
    with pytest.raises(tidegate.Refused) as refused:
        await limiter.take("acme", "free", {"calls": 1})
    assert refused.value.code == "no_limits"


@pytest.mark.parametrize("consume, code", [({"tmp": 1}, "unknown_limit"), ({"tpm": 1001}, "never_passes")])
async def test_what_can_never_pass_is_refused(gateway, consume, code):
    with pytest.raises(tidegate.Refused) as refused:
        await gateway.acquire("acme", MODEL, consume)
    assert refused.value.code == code and refused.value.hint
    with pytest.raises(tidegate.Refused):
        await gateway.acquire("acme", MODEL, {"tpm": -1})


async def test_a_lease_is_handed_over_by_its_id(gateway, url, name):
    lease = await gateway.acquire("acme", MODEL, {"tpm": 500}, ttl=300)
    async with tidegate.Limiter(url, namespace=name) as elsewhere:
        view = await elsewhere.leases.get(lease.id)
        assert [(held.entity, held.limit, held.amount) for held in view.holds] == [("acme", "tpm", 500)]
        assert [each.id for each in await elsewhere.leases.list("acme")] == [lease.id]
        await elsewhere.lease(lease.id).extend(600)
        assert (await elsewhere.leases.get(lease.id)).expires_at > lease.expires_at
        await elsewhere.lease(lease.id).settle(tpm=100)
    assert (await left(gateway))["tpm"] == 900


async def test_an_expired_lease(gateway, caplog):
    async with gateway.acquire("acme", MODEL, {"tpm": 500}, ttl=0.02, on_expiry="give_back") as lease:
        while len(await gateway.leases.list("acme")):
            await asyncio.sleep(0.01)
    assert not lease.ended and "expired" in caplog.text
    assert (await left(gateway))["tpm"] == 1000


async def test_would_it_pass(gateway):
    looked = await gateway.available("acme", MODEL, {"tpm": 1000})
    assert looked.allowed and looked.retry_after == 0
    await gateway.take("acme", MODEL, {"tpm": 1000})
    looked = await gateway.available("acme", MODEL, {"tpm": 1})
    assert not looked.allowed and looked.retry_after == pytest.approx(3600, abs=60)
    [status] = [status for status in looked.statuses if status.exceeded]
    assert (status.limit, status.kind, status.level, status.soft) == ("tpm", "rate", "resource", False)
    assert await gateway.why("acme", MODEL, {"tpm": 1})


async def test_interactive_and_queued_traffic_are_on_one_budget(gateway, name):
    await gateway.queues.create(name)
    batch = gateway.queue(name)
    lease = await gateway.acquire("acme", MODEL, {"tpm": 600})
    for _ in range(6):
        await batch.enqueue(b"x", charges=[Charge("acme", MODEL, {"tpm": 100})])
    # The queue uses what is left, and no more.
    first = await batch.receive(count=6, wait=PATIENCE_S)
    while len(first) < 4:
        first += await batch.receive(count=6, wait=PATIENCE_S)
    assert first[0].charges == [Charge("acme", MODEL, {"tpm": 100})]
    assert len(first) == 4 and await batch.receive() == []
    assert (await left(gateway))["tpm"] == 0
    with pytest.raises(tidegate.RateLimitExceeded):
        await gateway.take("acme", MODEL, {"tpm": 1})
    assert await batch.why_flow("default")
    # What a message did not cost is there for others, and so is what an acquire gives back.
    await first[0].ack(cost={"tpm": 0})
    [fifth] = await batch.receive(wait=PATIENCE_S)
    await lease.settle(tpm=500)
    [sixth] = await batch.receive(wait=PATIENCE_S)
    assert (await left(gateway))["tpm"] == 0
    await fifth.release()
    assert (await left(gateway))["tpm"] == 100
    await sixth.ack(cost={"tpm": 350})
    assert (await left(gateway))["tpm"] == -150


async def test_both_doors_together_stay_within_the_limit(limiter, name):
    rate, burst, amount = 400, 40, 10
    await limiter.limits.set([Limit.per_second("tpm", rate, burst=burst)], resource=MODEL)
    await limiter.queues.create(name)
    batch = limiter.queue(name)
    charges = [Charge("acme", MODEL, {"tpm": amount})]
    await asyncio.gather(*[batch.enqueue(b"x", charges=charges) for _ in range(60)])
    loop = asyncio.get_running_loop()
    taken = {"ask": 0, "queue": 0}
    start = loop.time()

    async def ask():
        while taken["queue"] < 60 * amount:
            try:
                await limiter.take("acme", MODEL, {"tpm": amount})
                taken["ask"] += amount
            except tidegate.RateLimitExceeded as denied:
                await asyncio.sleep(min(denied.retry_after, 0.05))

    async def work():
        async for message in batch.consume(credit=5):
            taken["queue"] += amount
            await message.ack()
            if taken["queue"] == 60 * amount:
                break

    await asyncio.wait_for(asyncio.gather(ask(), work()), 60)
    assert taken["ask"] > 0
    # Messages that were on their way when the last was counted are within it too: all of them were delivered.
    assert sum(taken.values()) <= burst + rate * (loop.time() - start)


def test_threads(sync_limiter):
    sync_limiter.limits.set([Limit.per("tpm", 1, 3600, burst=1000)], resource=MODEL)

    def left():
        return sync_limiter.available("acme", MODEL, {"tpm": 0}).statuses[0].available

    with sync_limiter.acquire("acme", MODEL, consume={"tpm": 500}, wait=0.5) as lease:
        lease.adjust(tpm=-100)
        lease.extend(120)
    assert left() == 600
    with pytest.raises(KeyboardInterrupt), sync_limiter.acquire("acme", MODEL, consume={"tpm": 500}):
        raise KeyboardInterrupt
    assert left() == 600
    with (
        pytest.raises(tidegate.RateLimitExceeded),
        sync_limiter.acquire("acme", MODEL, consume={"tpm": 601}, wait=0.01),
    ):
        pass
    lease = sync_limiter.acquire("acme", MODEL, consume={"tpm": 500}).start()
    sync_limiter.lease(lease.id).release()
    assert left() == 600
