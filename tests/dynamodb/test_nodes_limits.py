"""Two and three servers on one table: together they keep a limit and use it, and a change at one of them acts on all."""

import itertools
import socket
import time

import pytest
from budget import Budget
from ledger_figures import left, used
from ledger_refusal import refusal
from load import Gauge, working
from polling import eventually

RESOURCE = "gpt-4"
REFRESH_MS = 500
# What a loaded machine may be late by.
LATE_S = 1.0


@pytest.fixture
def start_nodes(table, start_node):
    def start(count, **options):
        options = {"config_refresh_ms": REFRESH_MS, "idle_return_ms": 300} | options
        return [start_node(table, **options) for _ in range(count)]

    return start


def asking(node, entity, budget, name, pause_s=0.0):
    """Asks for one token after the other; who is denied waits a moment."""

    def work(stop):
        client = node.client()
        while not stop.is_set():
            if client.acquire((entity, RESOURCE, {"tpm": 1}), lease=False).granted:
                budget.took(name, 1)
                if pause_s:
                    stop.wait(pause_s)
            else:
                stop.wait(0.002)
        client.close()

    return work


# Which node gets how many callers.
LOADS = {"even": (1, 1, 1), "uneven": (3, 1, 0), "one only": (2, 0, 0)}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("load", LOADS)
def test_a_limit_is_kept_and_used_by_all_nodes_together(start_nodes, entity, count, load):
    burst, per_second, seconds = 100, 200, 6
    nodes = start_nodes(count)
    nodes[0].ledger.set_limits(f"tpm={per_second}/second,burst={burst}", entity=entity, resource=RESOURCE)
    budget = Budget(burst, per_second * 60)
    callers = zip(nodes, LOADS[load], strict=False)
    works = [
        asking(node, entity, budget, number) for number, (node, callers) in enumerate(callers) for _ in range(callers)
    ]
    with working(*works):
        eventually(lambda: time.monotonic() - budget.started >= seconds, "the time is over", within_s=seconds + 10)
        total, allowed = budget.total, budget.allowed()
    assert total >= 0.9 * allowed, f"{total} of {allowed:.0f}: {dict(budget.by)}"
    if load == "even":
        assert min(budget.by.values()) > 0, budget.by
    eventually(lambda: nodes[0].table.consumed(entity, "tpm") == budget.total, "all of it is told")


def test_a_slow_limit_is_shared_out_to_the_last_token(start_nodes, entity):
    """Nothing refills: each token is had by exactly one of them, and none is stuck with who does not need it."""
    capacity = 500
    nodes = start_nodes(3)
    nodes[0].ledger.set_limits(f"tpm={capacity}/day", entity=entity, resource=RESOURCE)
    granted = Gauge()

    def taking(node):
        def work(stop):
            client = node.client()
            while not stop.is_set() and granted.value < capacity:
                if client.acquire((entity, RESOURCE, {"tpm": 1}), lease=False).granted:
                    granted.add(1)
                else:
                    stop.wait(0.01)
            client.close()

        return work

    with working(*map(taking, nodes)):
        eventually(lambda: granted.value >= capacity, "all of it is had", within_s=30)
    assert granted.value == capacity
    assert not any(node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted for node in nodes)


def test_a_parent_is_shared_by_the_children_of_all_nodes(start_nodes, entity):
    burst, per_second, seconds = 50, 100, 4
    nodes = start_nodes(2)
    nodes[0].ledger.create_entity(entity)
    for number in range(2):
        nodes[0].ledger.create_entity(f"{entity}-{number}", parent=entity, cascade=True)
    nodes[0].ledger.set_limits("tpm=100000/second", resource=RESOURCE)
    nodes[0].ledger.set_limits(f"tpm={per_second}/second,burst={burst}", entity=entity, resource=RESOURCE)
    budget = Budget(burst, per_second * 60)
    works = [asking(node, f"{entity}-{number}", budget, number) for number, node in enumerate(nodes)]
    with working(*works):
        eventually(lambda: time.monotonic() - budget.started >= seconds, "the time is over", within_s=seconds + 10)
    table = nodes[0].table
    eventually(lambda: table.consumed(entity, "tpm") == budget.total, "the parent's part is told")
    for number in range(2):
        # Each bucket is told by a write of its own.
        told = lambda number=number: table.consumed(f"{entity}-{number}", "tpm") == budget.by[number]  # noqa: E731
        eventually(told, f"so is that of child {number}")


def test_a_changed_limit_acts_on_the_other_nodes_in_time(start_nodes, entity):
    """On a bucket that is in use, at the level of the entity, the resource and the system."""
    one, other = start_nodes(2)
    one.ledger.set_limits("tpm=5/day")
    assert other.ledger.acquire((entity, RESOURCE, {"tpm": 5})).granted
    assert not other.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    most_s = REFRESH_MS / 1000 + LATE_S
    scopes = [{}, {"resource": RESOURCE}, {"entity": entity}, {"entity": entity, "resource": RESOURCE}]
    for number, scope in enumerate(scopes, start=1):
        one.ledger.set_limits(f"tpm=1000000/second,burst={10 * number}", **scope)
        eventually(
            lambda number=number: (
                other.ledger.acquire((entity, RESOURCE, {"tpm": 0})).status("tpm").capacity == 10 * number
                and other.ledger.acquire((entity, RESOURCE, {"tpm": 10 * number})).granted
            ),
            f"raised at {scope}",
            within_s=most_s,
        )
    one.ledger.set_limits("tpm=3/day", entity=entity, resource=RESOURCE)

    def lowered():
        acquired = other.ledger.acquire((entity, RESOURCE, {"tpm": 0}), lease=False)
        return acquired.status("tpm").capacity == 3

    eventually(lowered, "lowered", within_s=most_s)
    assert sum(other.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted for _ in range(10)) <= 3


def test_who_waits_at_another_node_hears_of_a_raised_limit(start_nodes, entity):
    one, other = start_nodes(2)
    one.ledger.set_limits("tpm=1/day")
    assert other.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    other.ledger.create("q")
    other.ledger.enqueue("q", b"x", entity_charges=[(entity, RESOURCE, {"tpm": 1})])
    assert other.ledger.receive("q") == []
    granted = []

    def wait(_):
        client = other.client()
        granted.append(client.acquire((entity, RESOURCE, {"tpm": 1}), wait_ms=30_000).granted)
        client.close()

    with working(wait):
        one.ledger.set_limits("tpm=1000/second")
        eventually(lambda: granted == [True], "it is served", within_s=REFRESH_MS / 1000 + 2 * LATE_S)
        assert len(other.ledger.receive("q", wait_ms=5_000)) == 1, "and so is the message"


def test_entities_and_settings_of_one_node_are_those_of_all(start_nodes, entity):
    one, other = start_nodes(2)
    one.ledger.create_entity(entity, name="Acme", weight=3, metadata={"plan": "pro"})
    assert other.ledger.entity(entity) == one.ledger.entity(entity)
    changed = other.ledger.update_entity(entity, version=1, name="Acme Ltd")
    assert (
        changed["version"] == 2 and refusal(one.ledger.update_entity, entity, version=1, name="x") == "version_mismatch"
    )
    one.ledger.set_limits("tpm=5/day", "inflight=2", entity=entity, resource=RESOURCE)
    assert (
        other.ledger.get_limits(entity=entity, resource=RESOURCE)["limits"]
        == one.ledger.get_limits(entity=entity, resource=RESOURCE)["limits"]
    )
    assert other.ledger.export() == one.ledger.export()
    other.ledger.delete_entity(entity)
    assert refusal(one.ledger.entity, entity) == "entity_not_found"
    actions = [event["action"] for event in one.ledger.audit(subject=entity)["events"]]
    assert actions == [event["action"] for event in other.ledger.audit(subject=entity)["events"]] and len(actions) >= 4


def test_two_nodes_that_change_the_same_lose_no_change(start_nodes, entity):
    """Each of many updates by two nodes at once counts a version."""
    one, other = start_nodes(2)
    one.ledger.create_entity(entity)
    done = Gauge()

    def changing(node, name):
        def work(_):
            client = node.client()
            for number in range(10):
                client.update_entity(entity, metadata={name: number})
                done.add(1)
            client.close()

        return work

    with working(changing(one, "one"), changing(other, "other")):
        eventually(lambda: done.value == 20, "all are done", within_s=30)
    assert one.ledger.entity(entity)["version"] == 21


def test_a_cap_is_kept_over_all_nodes_and_used(start_nodes, entity):
    cap = 5
    nodes = start_nodes(3)
    nodes[0].ledger.set_limits(f"inflight={cap}", entity=entity, resource=RESOURCE)
    flying, ended = Gauge(), Gauge()

    def holding(node):
        def work(stop):
            client = node.client()
            for number in itertools.count():
                if stop.is_set():
                    break
                acquired = client.acquire((entity, RESOURCE, {}), **({"wait_ms": 200} if number % 2 else {}))
                if acquired.granted:
                    flying.add(1)
                    stop.wait(0.005)
                    flying.add(-1)
                    client.settle_lease(acquired.lease)
                    ended.add(1)
            client.close()

        return work

    with working(*[holding(node) for node in nodes for _ in range(3)]):
        eventually(lambda: ended.value >= 300, "some load", within_s=60)
        assert flying.most <= cap, flying.most
    assert flying.most == cap, "and all of it is used"
    for node in nodes:
        eventually(
            lambda node=node: left(node.ledger, entity, RESOURCE, "inflight") == cap, "no slot is lost", within_s=20
        )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_lease_is_settled_at_another_node(table, start_node, entity):
    address = f"127.0.0.1:{free_port()}"
    one = start_node(table, server={"resp": address}, advertise=address, idle_return_ms=100)
    other = start_node(table, idle_return_ms=100)
    one.ledger.set_limits("tpm=100/day", "inflight=3", entity=entity, resource=RESOURCE)
    leases = [one.ledger.acquire((entity, RESOURCE, {"tpm": 20})).lease for _ in range(3)]
    assert other.ledger.lease(leases[0])["lease"] == leases[0]
    other.ledger.settle_lease(leases[0], {"tpm": 5})
    other.ledger.adjust_lease(leases[1], {"tpm": 3})
    other.ledger.extend_lease(leases[1], 60_000)
    other.ledger.release_lease(leases[2])
    assert refusal(other.ledger.settle_lease, leases[0]) == "lease_not_found"
    assert refusal(one.ledger.settle_lease, leases[0]) == "lease_not_found"
    eventually(lambda: left(other.ledger, entity, RESOURCE, "tpm") == 100 - 5 - 23, "settled, adjusted and released")
    assert left(other.ledger, entity, RESOURCE, "inflight") == 2
    assert one.stop() == 0
    assert refusal(other.ledger.settle_lease, leases[1]) in ("lease_elsewhere", "lease_not_found")


def test_a_lease_of_a_node_that_nobody_can_reach_is_refused_clearly(start_nodes, entity):
    one, other = start_nodes(2)
    one.ledger.set_limits("tpm=100/day", entity=entity, resource=RESOURCE)
    lease = one.ledger.acquire((entity, RESOURCE, {"tpm": 20})).lease
    assert refusal(other.ledger.settle_lease, lease) == "lease_elsewhere"
    one.ledger.settle_lease(lease, {"tpm": 1})
    assert used(one.ledger, entity, "tpm") == (1, 1)


def test_messages_at_one_node_and_asks_at_another_share_one_budget(start_nodes, entity):
    burst, per_second, seconds = 50, 100, 5
    queues, asks = start_nodes(2)
    asks.ledger.set_limits(f"tpm={per_second}/second,burst={burst}", entity=entity, resource=RESOURCE)
    queues.ledger.create("q")
    charge = [(entity, RESOURCE, {"tpm": 1})]
    for _ in range(2):
        queues.ledger.enqueue_batch([("q", b"x", {"entity_charges": charge})] * 500)
    budget = Budget(burst, per_second * 60)

    def consuming(stop):
        client = queues.client()
        while not stop.is_set():
            messages = client.receive("q", count=10, wait_ms=100)
            for _ in messages:
                budget.took("messages", 1)
            client.ack("q", *[message.receipt for message in messages])
        client.close()

    with working(consuming, asking(asks, entity, budget, "asks", pause_s=0.05)):
        eventually(lambda: time.monotonic() - budget.started >= seconds, "the time is over", within_s=seconds + 10)
        total, allowed = budget.total, budget.allowed()
    assert min(budget.by["messages"], budget.by["asks"]) > 0.05 * total, budget.by
    assert total >= 0.85 * allowed, f"{total} of {allowed:.0f}: {dict(budget.by)}"
