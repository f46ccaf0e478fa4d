"""A long random script, the same on every transport and on either store: whatever it is, it comes out the same."""

import random

import pytest

import store
from decision import Refused
from ledger_clients import LEDGER_TRANSPORTS

ENTITIES = ["org", "team", "key", "key/2", "guest"]
RESOURCES = ["gpt-4", "embed"]
FIRST = ["tpm=100/day", "rpm=10/day", "spm=5/day,soft", "inflight=3"]
# A burst that is lowered cuts what a bucket has when somebody next touches it, and in a table that is the next write; so where two stores
# are compared, bursts stay. What a change of one keeps has tests of its own.
BURSTS = ["tpm=40/day", "tpm=50/day,burst=80", "rpm=5/day,soft", "spm=7/day"]
RATES = ["tpm=40/day,burst=100", "tpm=70/day,burst=100", "rpm=5/day,burst=10,soft", "spm=7/day,burst=5"]
LIMITS = [*FIRST, "inflight=5", *(RATES if store.ON_DYNAMODB else BURSTS)]
TIMES = {"created_at_ms", "updated_at_ms", "expires_at_ms", "retry_after_ms", "at_ms", "lease"}
STEPS = 250


class Script:
    """Makes one step after the other. What it chooses depends on its seed, and on answers that are to be the same."""

    def __init__(self, ledger, seed):
        self.ledger, self.chance, self.leases = ledger, random.Random(seed), []
        ledger.set_limits(*FIRST)

    def scope(self):
        entity = self.chance.choice([None, *ENTITIES])
        resource = self.chance.choice([None, *RESOURCES])
        return {"entity": entity, "resource": resource}

    def limits(self):
        chosen = {}
        for limit in self.chance.sample(LIMITS, self.chance.randint(1, 3)):
            chosen.setdefault(limit.split("=")[0], limit)
        return list(chosen.values())

    def cost(self):
        names = self.chance.sample(["tpm", "rpm", "spm", "inflight", "nope"], self.chance.randint(0, 2), counts=[9, 9, 2, 3, 1])
        return {name: self.chance.choice([0, 1, 2, 5, 20, 60, 101]) for name in names}

    def charge(self):
        return (self.chance.choice(ENTITIES), self.chance.choice(RESOURCES), self.cost())

    def lease(self):
        """One that was granted, or one that never was."""
        return self.chance.choice(self.leases) if self.leases else "0192f3c4a1b20001"

    def step(self):
        actions = [name for name in dir(self) if name.startswith("do_")]
        weights = [6 if name == "do_acquire" else 1 for name in actions]
        name = self.chance.choices(actions, weights)[0]
        try:
            return name, plain(getattr(self, name)())
        except Refused as refused:
            return name, refused.code

    def do_acquire(self):
        charges = [self.charge() for _ in range(self.chance.choice([1, 1, 1, 2]))]
        # The command line says what others charge in amounts.
        charges = charges[:1] + [charge for charge in charges[1:] if charge[2]]
        acquired = self.ledger.acquire(*charges, ttl_ms=600_000)
        if acquired.lease:
            self.leases.append(acquired.lease)
        told = [(s.entity, s.resource, s.limit, s.capacity, s.available, s.requested, s.exceeded) for s in acquired.statuses]
        # An object has no order.
        return acquired.granted, sorted(told)

    def do_set_limits(self):
        return self.ledger.set_limits(*self.limits(), **self.scope())

    def do_set_mode(self):
        return self.ledger.set_limits(mode=self.chance.choice(["disabled", "bypass", None, None, None]), **self.scope())

    def do_remove_limits(self):
        return self.ledger.remove_limits(**self.scope())

    def do_get_limits(self):
        return self.ledger.get_limits(**self.scope())

    def do_resolve(self):
        entity, resource, _ = self.charge()
        return self.ledger.resolve(entity, resource)

    def do_create(self):
        parent = self.chance.choice([None, *ENTITIES])
        fields = {"parent": parent} if parent else {"name": "x"}
        return self.ledger.create_entity(self.chance.choice(ENTITIES), cascade=self.chance.random() < 0.6, **fields)

    def do_update(self):
        return self.ledger.update_entity(self.chance.choice(ENTITIES), version=self.chance.choice([None, 1, 2]), weight=3)

    def do_move(self):
        return self.ledger.move_entity(self.chance.choice(ENTITIES), self.chance.choice([None, *ENTITIES]))

    def do_delete(self):
        return self.ledger.delete_entity(self.chance.choice(ENTITIES))

    def do_look(self):
        return self.ledger.entities(), self.ledger.children("org")

    def do_settle(self):
        return self.ledger.settle_lease(self.lease(), self.cost())

    def do_adjust(self):
        return self.ledger.adjust_lease(self.lease(), {"tpm": self.chance.choice([-50, -1, 5, 50])})

    def do_release(self):
        return self.ledger.release_lease(self.lease())

    def do_lease(self):
        lease = self.ledger.lease(self.lease())
        return lease | {"holds": sorted(lease["holds"], key=lambda hold: (hold["entity"], hold["resource"], hold["limit"]))}

    def do_available(self):
        entity, resource, cost = self.charge()
        looked = self.ledger.available(entity, resource, **cost)
        return looked | {"statuses": sorted(looked["statuses"], key=lambda status: (status["entity"], status["limit"]))}

    def do_reset(self):
        entity, resource, cost = self.charge()
        return self.ledger.reset_buckets(entity, resource, *cost, key=self.chance.choice([None, "k1", "k2"]))

    def do_top_up(self):
        entity, resource, _ = self.charge()
        return self.ledger.top_up(entity, resource, {"tpm": 7}, key=self.chance.choice([None, "k1", "k3"]))

    def do_usage(self):
        usage = self.ledger.usage(window="month")
        return [{name: row[name] for name in ("entity", "resource", "limit", "amount", "events")} for row in usage["rows"]]

    def do_custom(self):
        return self.ledger.custom()

    def do_plan(self):
        return self.ledger.plan({"system": {"limits": ["tpm=100/day"]}, "entities": {"key": {"name": "y"}}})


def plain(value):
    """Without times and ids, and without what is said to be nothing."""
    if isinstance(value, dict):
        empty = (None, [], {}, False)
        kept = {name: plain(item) for name, item in value.items() if name not in TIMES}
        return {name: item for name, item in kept.items() if item not in empty}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("seed", range(4))
def test_every_transport_says_the_same(server, start_server, namespace, seed):
    ledgers = {name: adapter(server, f"{namespace}-{name}") for name, adapter in LEDGER_TRANSPORTS.items()}
    if store.ON_DYNAMODB:
        # A server with limits on its own disk beside the one with a table: nothing tells them apart.
        disk = start_server(env={"TIDEGATE_LEDGER_KIND": "embedded"})
        ledgers["resp2, on a disk"] = LEDGER_TRANSPORTS["resp2"](disk, namespace)
    scripts = {name: Script(ledger, seed) for name, ledger in ledgers.items()}
    seen = []
    for number in range(STEPS):
        told = {name: script.step() for name, script in scripts.items()}
        seen.append(told["resp2"])
        for name, answer in told.items():
            assert answer == told["resp2"], f"step {number}: {name} differs from resp2; before it: {seen[-8:]}"
    for ledger in ledgers.values():
        ledger.close()
