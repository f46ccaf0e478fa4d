"""Entities, stored limits, buckets, usage and audit, against the real server."""

import asyncio

import pytest

import tidegate
from tidegate import Limit

TPM = Limit.per("tpm", 1, 3600, burst=1000)


async def test_entities(limiter):
    made = await limiter.entities.create("acme", name="Acme", weight=3, metadata={"plan": "pro"})
    assert (made.id, made.name, made.weight, made.metadata) == ("acme", "Acme", 3, {"plan": "pro"})
    assert made.created_at is not None
    await limiter.entities.create("acme/key-1", parent="acme", cascade=True)
    with pytest.raises(tidegate.Conflict):
        await limiter.entities.create("acme")
    with pytest.raises(tidegate.NotFound):
        await limiter.entities.create("x", parent="nobody")
    changed = await limiter.entities.update("acme", name=None, weight=5, version=made.version)
    assert (changed.name, changed.weight, changed.metadata) == (None, 5, {"plan": "pro"})
    with pytest.raises(tidegate.Conflict) as refused:
        await limiter.entities.update("acme", weight=6, version=made.version)
    assert refused.value.code == "version_mismatch"
    assert [child.id for child in await limiter.entities.children("acme")] == ["acme/key-1"]
    assert (await limiter.entities.move("acme/key-1", None)).parent is None
    await limiter.entities.delete("acme")
    with pytest.raises(tidegate.NotFound):
        await limiter.entities.get("acme")


async def test_many_entities_in_pages(limiter):
    assert await limiter.entities.put([{"id": f"e{number}", "weight": 2} for number in range(5)]) == 5
    first = await limiter.entities.list(count=3)
    rest = await limiter.entities.list(count=3, after=first.next)
    assert [entity.id for entity in [*first, *rest]] == [f"e{number}" for number in range(5)]
    assert len(first) == 3 and rest.next is None


async def test_levels_of_limits(limiter):
    inflight = Limit.concurrency("inflight", 8, soft=True)
    await limiter.limits.set([Limit.per_minute("rpm", 60)])
    await limiter.limits.set([TPM], resource="gpt-4")
    await limiter.limits.set([inflight], entity="acme", resource="gpt-4", cascade=True)

    async def resolved(entity, resource):
        found = await limiter.limits.resolve(entity, resource)
        return found.level, found.limits

    assert await resolved("acme", "gpt-4") == ("entity", [inflight])
    assert await resolved("other", "gpt-4") == ("resource", [TPM])
    assert await resolved("other", "mail") == ("system", [Limit.per_minute("rpm", 60)])
    settings = await limiter.limits.get(entity="acme", resource="gpt-4")
    assert (settings.limits, settings.cascade) == ([inflight], True)
    assert [(each.entity, each.resource) for each in await limiter.limits.custom()] == [("acme", "gpt-4")]
    await limiter.limits.set([TPM], entity="beta")
    page = await limiter.limits.custom(count=1)
    assert [each.entity for each in await limiter.limits.custom(after=page.next)] == ["beta"]
    await limiter.limits.delete(entity="acme", resource="gpt-4")
    assert await resolved("acme", "gpt-4") == ("resource", [TPM])
    with pytest.raises(tidegate.NotFound):
        await limiter.limits.get(entity="acme", resource="gpt-4")
    with pytest.raises(tidegate.Refused):
        await limiter.limits.set(["tpm=0/minute"])


async def test_disabled_and_bypassed(limiter):
    await limiter.limits.set([TPM], resource="gpt-4")
    await limiter.limits.set(entity="acme", mode="disabled")
    with pytest.raises(tidegate.Disabled):
        await limiter.take("acme", "gpt-4", {"tpm": 1})
    await limiter.limits.set(entity="acme", mode="bypass")
    await limiter.take("acme", "gpt-4", {"tpm": 1000})
    async with limiter.acquire("acme", "gpt-4", {"tpm": 1000}) as lease:
        assert lease.manner == "bypassed"
    await limiter.limits.set(entity="acme", mode=None)
    async with limiter.acquire("acme", "gpt-4", {"tpm": 0}) as lease:
        assert lease.manner == "taken"
    [status] = (await limiter.available("acme", "gpt-4", {"tpm": 0})).statuses
    assert status.available == 1000


async def test_buckets_by_hand(limiter):
    await limiter.limits.set([TPM], resource="gpt-4")
    await limiter.take("acme", "gpt-4", {"tpm": 1000})
    for _ in range(2):
        [status] = await limiter.bucket.top_up("acme", "gpt-4", {"tpm": 100}, idempotency_key="invoice-7")
    assert status.available == 100
    assert [c.available for c in await limiter.capacity("gpt-4")] == [100]
    [status] = await limiter.bucket.reset("acme", "gpt-4")
    assert status.available == 1000
    await limiter.bucket.close("acme", "gpt-4", 60)
    with pytest.raises(tidegate.RateLimitExceeded) as denied:
        await limiter.take("acme", "gpt-4", {"tpm": 1})
    assert denied.value.retry_after == pytest.approx(60, abs=5)


async def test_usage_and_audit(limiter):
    await limiter.limits.set([TPM], resource="gpt-4")
    async with limiter.acquire("acme", "gpt-4", {"tpm": 500}) as lease:
        await lease.settle(tpm=120)
    usage = await limiter.usage(window="hour", entity="acme")
    assert [(total.resource, total.limit, total.amount) for total in usage.totals] == [("gpt-4", "tpm", 120)]
    assert usage.rows[0].start.minute == 0
    while not (events := list(await limiter.audit(subject="$RESOURCE:gpt-4"))):
        await asyncio.sleep(0.01)
    [event] = events
    assert event.actor == "tester" and event.before is None and event.after["limits"]


async def test_a_manifest(limiter):
    manifest = {"resources": {"gpt-4": {"limits": ["tpm=1000/minute"]}}}
    assert [change["action"] for change in await limiter.limits.plan(manifest)] == ["create"]
    assert len(await limiter.limits.apply(manifest)) == 1
    assert await limiter.limits.plan(manifest) == []
    assert "gpt-4" in (await limiter.limits.export())["resources"]
    assert [change["action"] for change in await limiter.limits.apply({})] == ["delete"]


async def test_namespaces_can_be_deleted_and_recovered(limiter, url, name):
    await limiter.limits.set([TPM], resource="gpt-4")
    async with tidegate.Limiter(url) as other:
        assert name in [namespace.name for namespace in await other.namespaces.list()]
        assert (await other.namespaces.delete(name)).deleted_at is not None
        with pytest.raises(tidegate.Refused) as refused:
            await limiter.take("acme", "gpt-4", {"tpm": 1})
        assert refused.value.code == "namespace_deleted"
        await other.namespaces.recover(name)
        await limiter.take("acme", "gpt-4", {"tpm": 1})


def test_threads(sync_limiter):
    sync_limiter.entities.create("acme")
    sync_limiter.limits.set([TPM], entity="acme")
    assert sync_limiter.limits.resolve("acme", "gpt-4").level == "entity_default"
    assert sync_limiter.entities.list().items == [sync_limiter.entities.get("acme")]
