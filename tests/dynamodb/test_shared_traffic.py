"""Tidegate and zae-limiter 0.17.0 on one table at once: together they never admit more than a limit, and every token is told."""

import random
import time

from budget import Budget
from ledger_figures import left
from load import Gauge, working
from polling import eventually, throughout
from python_client import Abandoned, Limit

RESOURCE = "gpt-4"
SECONDS = 6
# Two limits that bind at the same time.
TPM = {"burst": 100, "per_minute": 3000}
RPM = {"burst": 20, "per_minute": 600}
# One that never binds.
ROOMY = {"burst": 100_000, "per_minute": 100_000}
ESTIMATE = 10


def limits():
    return [
        Limit.per_minute("tpm", TPM["per_minute"], burst=TPM["burst"]),
        Limit.per_minute("rpm", RPM["per_minute"], burst=RPM["burst"]),
    ]


class Meter:
    """What was admitted of both limits."""

    def __init__(self, tpm=TPM, rpm=RPM):
        self.tpm, self.rpm = Budget(**tpm), Budget(**rpm)

    def took(self, who):
        self.tpm.took(who, ESTIMATE)
        self.rpm.took(who, 1)

    def gives_back(self, who, amount):
        self.tpm.gives_back(who, amount)

    def abandons(self, who):
        self.tpm.gives_back(who, ESTIMATE)
        self.rpm.gives_back(who, 1)

    def totals(self):
        return {"tpm": self.tpm.total, "rpm": self.rpm.total}


COST = {"tpm": ESTIMATE, "rpm": 1}


def python_work(python, entity, *meters, seed):
    """Acquires, most of them adjusted to less, some of them given up."""

    def work(stop):
        who, chance = type(python).__name__, random.Random(seed)

        def meanwhile():
            for meter in meters:
                meter.took(who)
            end = chance.randrange(5)
            if end == 0:
                for meter in meters:
                    meter.abandons(who)
                raise Abandoned
            unused = chance.randint(0, ESTIMATE)
            for meter in meters:
                meter.gives_back(who, unused)
            return {"tpm": -unused}

        while not stop.is_set():
            if not python.acquire(entity, RESOURCE, COST, meanwhile):
                stop.wait(0.02)

    return work


def tidegate_work(node, entity, *meters, seed):
    """The same by leases; every second one waits."""

    def work(stop):
        client, chance = node.client(), random.Random(seed)
        while not stop.is_set():
            acquired = client.acquire((entity, RESOURCE, COST), **({"wait_ms": 200} if chance.random() < 0.5 else {}))
            if not acquired.granted:
                stop.wait(0.02)
                continue
            for meter in meters:
                meter.took("tidegate")
            end = chance.randrange(5)
            if end == 0:
                for meter in meters:
                    meter.abandons("tidegate")
                client.release_lease(acquired.lease)
            else:
                unused = chance.randint(0, ESTIMATE)
                for meter in meters:
                    meter.gives_back("tidegate", unused)
                client.settle_lease(acquired.lease, {"tpm": ESTIMATE - unused})
        client.close()

    return work


def run(meter, *works):
    with working(*works):
        eventually(lambda: time.monotonic() - meter.tpm.started >= SECONDS, "the time is over", within_s=SECONDS + 30)
    for budget in (meter.tpm, meter.rpm):
        assert all(budget.by[who] > 0 for who in ("tidegate", "Python", "AsyncPython")), budget.by


def told(shared, entity):
    """What the table says was consumed, in tokens."""
    return {limit: shared.consumed(entity, limit) for limit in ("tpm", "rpm")}


def test_mixed_traffic_on_one_entity(shared, start_node, pythons, entity):
    pythons[0].set_limits(entity, limits(), RESOURCE)
    node, meter = start_node(shared), Meter()
    run(
        meter,
        *[tidegate_work(node, entity, meter, seed=seed) for seed in range(2)],
        *[python_work(python, entity, meter, seed=seed) for seed, python in enumerate(pythons)],
    )
    eventually(lambda: told(shared, entity) == meter.totals(), "all that was admitted is told")
    full = {"tpm": TPM["burst"], "rpm": RPM["burst"]}
    eventually(lambda: pythons[0].available(entity, RESOURCE) == full, "full again")
    assert pythons[1].available(entity, RESOURCE) == full
    assert {limit: left(node.ledger, entity, RESOURCE, limit) for limit in full} == full


def test_mixed_traffic_on_a_parent_with_children(shared, start_node, pythons, entity):
    org, children = entity, [f"{entity}-{name}" for name in "abc"]
    node = start_node(shared)
    node.ledger.create_entity(org)
    node.ledger.create_entity(children[0], parent=org, cascade=True)
    for child in children[1:]:
        pythons[0].create_entity(child, parent_id=org, cascade=True)
    roomy = [Limit.per_minute("tpm", 100_000), Limit.per_minute("rpm", 100_000)]
    pythons[0].set_resource_defaults(RESOURCE, roomy)
    pythons[0].set_limits(org, limits(), RESOURCE)
    parent = Meter()
    own = {child: Meter(ROOMY, ROOMY) for child in children}
    works = [
        tidegate_work(node, children[0], parent, own[children[0]], seed=1),
        tidegate_work(node, children[1], parent, own[children[1]], seed=2),
        python_work(pythons[0], children[1], parent, own[children[1]], seed=3),
        python_work(pythons[1], children[2], parent, own[children[2]], seed=4),
    ]
    run(parent, *works)
    eventually(lambda: told(shared, org) == parent.totals(), "the parent's part is told")
    for child, meter in own.items():
        # Each bucket is told by a write of its own.
        child_told = lambda child=child, meter=meter: told(shared, child) == meter.totals()  # noqa: E731
        eventually(child_told, f"so is that of {child}")
    full = {"tpm": TPM["burst"], "rpm": RPM["burst"]}
    eventually(lambda: pythons[0].available(org, RESOURCE) == full, "full again")
    assert {limit: left(node.ledger, org, RESOURCE, limit) for limit in full} == full


def test_both_say_the_same_is_left_once_slices_are_returned(shared, start_node, pythons, entity):
    """A limit that refills too slowly to matter here: what is left is exact."""
    capacity = 1000
    node = start_node(shared, idle_return_ms=200)
    node.ledger.set_limits(f"tpm={capacity}/day", entity=entity, resource=RESOURCE)
    started, used = time.time(), 0
    for amount in (1, 7, 30):
        assert pythons[0].acquire(entity, RESOURCE, {"tpm": amount})
        lease = node.ledger.acquire((entity, RESOURCE, {"tpm": amount})).lease
        assert pythons[1].acquire(entity, RESOURCE, {"tpm": amount}, lambda amount=amount: {"tpm": amount})
        node.ledger.adjust_lease(lease, {"tpm": 2})
        used += 4 * amount + 2
    # What a lease took more after it was granted is told by a write of its own, a moment later.
    eventually(lambda: shared.consumed(entity, "tpm") == used, "all of it is told")
    for python in pythons:
        assert not python.acquire(entity, RESOURCE, {"tpm": capacity - used + 1})
    assert not node.ledger.acquire((entity, RESOURCE, {"tpm": capacity - used + 1})).granted
    eventually(lambda: pythons[0].available(entity, RESOURCE) == {"tpm": capacity - used}, "slices are returned")
    assert pythons[1].available(entity, RESOURCE) == {"tpm": capacity - used}
    assert left(node.ledger, entity, RESOURCE, "tpm") == capacity - used
    bucket = shared.bucket(entity, RESOURCE)
    assert bucket["b_tpm_tc"] == used * 1000
    refilled = bucket["b_tpm_tk"] + bucket["b_tpm_tc"] - capacity * 1000
    assert 0 <= refilled <= capacity * (time.time() - started) / 86.4, "nothing is lost, and only time adds"
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": capacity - used})).granted, "all of it can be had"
    assert not any(python.acquire(entity, RESOURCE, {"tpm": 1}) for python in pythons)


def test_debts_of_either_side_bind_the_other(shared, start_node, pythons, entity):
    node = start_node(shared, idle_return_ms=200)
    node.ledger.set_limits("tpm=100/day", entity=entity, resource=RESOURCE)
    lease = node.ledger.acquire((entity, RESOURCE, {"tpm": 60})).lease
    node.ledger.settle_lease(lease, {"tpm": 130})
    eventually(lambda: pythons[0].available(entity, RESOURCE) == {"tpm": -30}, "the debt is in the table")
    assert not pythons[0].acquire(entity, RESOURCE, {"tpm": 1})
    node.ledger.top_up(entity, RESOURCE, {"tpm": 40})
    eventually(lambda: pythons[0].available(entity, RESOURCE) == {"tpm": 10}, "topped up")
    assert pythons[1].acquire(entity, RESOURCE, {"tpm": 5}, lambda: {"tpm": 25})

    def told():
        denied = node.ledger.acquire((entity, RESOURCE, {"tpm": 1}))
        assert not denied.granted
        # 20 are owed, and less than a second has passed.
        return denied.status("tpm").available == -20 and denied.retry_after_ms > 20 * 864_000

    eventually(told, "the whole debt is known here, and when it is repaid", within_s=5)


def test_a_bucket_that_was_split_into_shards_is_drawn_by_its_share(shared, start_node, pythons, entity):
    """What their client does to a hot bucket. A shard that nobody has drawn from is full, whatever was used before: so much more
    is admitted once. Their client does not take away what a shard holds above its share; this server does."""
    pythons[0].set_limits(entity, [Limit.per_day("tpm", 1000)], RESOURCE)
    node = start_node(shared, idle_return_ms=200)
    admitted = Gauge()

    def take():
        if node.ledger.acquire((entity, RESOURCE, {"tpm": 20}), lease=False).granted:
            admitted.add(20)
        # A slice of a full bucket decays at once: for a part of a token the last 20 may be short.
        return admitted.value >= 1000

    take()
    pythons[0].repository.bump_shard_count(entity, RESOURCE, 1)
    eventually(take, "each of two shards has half, and all of both can be had")
    throughout(lambda: take() and admitted.value <= 20 + 1000, "no more than that", for_s=1)
