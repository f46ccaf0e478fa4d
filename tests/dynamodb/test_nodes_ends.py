"""What a stop and a crash of one server leave to the others on its table."""

import time

import pytest
from budget import Budget
from ledger_figures import left, used
from load import working
from polling import eventually

RESOURCE = "gpt-4"
# How long a node that is gone may be taken for one that is there: see the bounds of the guide.
GIVEN_UP_S = 36


@pytest.fixture
def start(table, start_node):
    return lambda **options: start_node(table, **options)


def test_a_stop_gives_everything_back(start, table, entity):
    """Without waiting for anything to be idle, and with leases that are still open."""
    capacity = 10_000
    one, other = start(idle_return_ms=600_000), start()
    one.ledger.set_limits(f"tpm={capacity}/day", entity=entity, resource=RESOURCE)
    for _ in range(100):
        assert one.ledger.acquire((entity, RESOURCE, {"tpm": 3}), ttl_ms=600_000).granted
    started = time.time()
    assert one.stop() == 0, one.log()
    bucket = table.bucket(entity)
    assert bucket["b_tpm_tc"] == 300_000
    refilled = bucket["b_tpm_tk"] + bucket["b_tpm_tc"] - capacity * 1000
    assert 0 <= refilled <= capacity * (time.time() - started + 60) / 86.4
    assert left(other.ledger, entity, RESOURCE, "tpm") == capacity - 300 + refilled // 1000
    assert other.ledger.acquire((entity, RESOURCE, {"tpm": capacity - 300}), lease=False).granted
    assert used(other.ledger, entity, "tpm")[0] == capacity


def test_usage_is_exact_over_graceful_stops(start, table, entity):
    nodes = [start(), start()]
    nodes[0].ledger.set_limits("tpm=1000000/day")
    amount = events = 0
    for number, node in enumerate(nodes):
        for step in range(50):
            acquired = node.ledger.acquire((entity, RESOURCE, {"tpm": 10}))
            real = 5 + (step + number) % 10
            node.ledger.settle_lease(acquired.lease, {"tpm": real})
            amount, events = amount + real, events + 1
    for node in nodes:
        assert node.stop() == 0, node.log()
    assert table.consumed(entity, "tpm") == amount
    reader = start()
    assert used(reader.ledger, entity, "tpm") == (amount, events)
    for window in ("minute", "hour", "day", "month"):
        found = reader.ledger.usage(entity=entity, limit="tpm", window=window)
        rows = [row for row in found["rows"] if row["limit"] == "tpm"]
        assert sum(row["amount"] for row in rows) == amount, window


def test_a_killed_node_loses_only_its_slices(start, table, entity):
    """Never more than the limit is admitted afterwards, and the whole rate is there again once it has refilled."""
    burst, per_second = 200, 100
    one, other = start(), start()
    one.ledger.set_limits(f"tpm={per_second}/second,burst={burst}", entity=entity, resource=RESOURCE)
    budget = Budget(burst, per_second * 60)

    def ask(node, name):
        def work(stop):
            client = node.client()
            try:
                while not stop.is_set():
                    if client.acquire((entity, RESOURCE, {"tpm": 1}), lease=False).granted:
                        budget.took(name, 1)
                    else:
                        stop.wait(0.005)
            except (OSError, Exception) as error:  # redis-py has errors of its own for a connection that ends
                assert name == "one" and "onnection" in type(error).__name__, error

        return work

    with working(ask(one, "one"), ask(other, "other")):
        eventually(lambda: min(budget.by["one"], budget.by["other"]) > 50, "both are at it", within_s=30)
        one.kill()
        before, started = budget.by["other"], time.monotonic()
        eventually(lambda: budget.by["other"] - before >= 3 * per_second, "the rate is used again", within_s=30)
        took_s = time.monotonic() - started
    assert took_s < 3 + burst / per_second + 3, f"3 s of tokens took {took_s:.1f} s"


def test_slots_of_a_killed_node_come_back(start, entity):
    one, other = start(), start()
    one.ledger.set_limits("inflight=4", entity=entity, resource=RESOURCE)
    for _ in range(3):
        assert one.ledger.acquire((entity, RESOURCE, {}), ttl_ms=600_000).granted
    assert other.ledger.acquire((entity, RESOURCE, {}), ttl_ms=600_000).granted
    assert not other.ledger.acquire((entity, RESOURCE, {})).granted
    one.kill()
    eventually(lambda: other.ledger.acquire((entity, RESOURCE, {})).granted, "a slot of the dead", within_s=GIVEN_UP_S)
    eventually(
        lambda: (
            not other.ledger.acquire((entity, RESOURCE, {})).granted
            and len(other.ledger.leases(entity=entity)["leases"]) == 4
        ),
        "all of them, and no more",
        within_s=GIVEN_UP_S,
    )


def test_a_killed_node_that_starts_again_has_its_leases(start_node, table, entity):
    one = start_node(table)
    one.ledger.set_limits("tpm=100/day", "inflight=2", entity=entity, resource=RESOURCE)
    lease = one.ledger.acquire((entity, RESOURCE, {"tpm": 30}), ttl_ms=600_000).lease
    books = lambda: one.data_dir.glob("queue/book-*.log")  # noqa: E731
    eventually(lambda: any(entity.encode() in book.read_bytes() for book in books()), "the lease is on disk")
    one.kill()
    again = start_node(table, server={"data_dir": one.data_dir})
    assert again.ledger.lease(lease)["lease"] == lease
    again.ledger.settle_lease(lease, {"tpm": 10})
    eventually(lambda: left(again.ledger, entity, RESOURCE, "tpm") >= 89, "settled")
    eventually(
        lambda: left(again.ledger, entity, RESOURCE, "inflight") == 2, "and its slot is back", within_s=GIVEN_UP_S
    )


def test_a_crash_loses_one_interval_of_usage_at_most(start, entity):
    one, other = start(), start()
    one.ledger.set_limits("tpm=1000000/day")
    for _ in range(100):
        one.ledger.acquire((entity, RESOURCE, {"tpm": 2}), lease=False)
    eventually(lambda: used(other.ledger, entity, "tpm") == (200, 100), "it is flushed by itself", within_s=90)
    one.ledger.acquire((entity, RESOURCE, {"tpm": 2}), lease=False)
    one.kill()
    assert used(other.ledger, entity, "tpm") in ((200, 100), (202, 101))


def test_what_was_changed_before_a_namespace_was_deleted_is_told_and_holds_up_no_stop(table, start_node, entity):
    proxy = table.endpoint.proxy
    one, other = start_node(table, through_proxy=True, request_attempts=1), start_node(table)
    client = one.client(entity)
    proxy.fault("throttled", operation="BatchWriteItem")
    # It is done; only who did it cannot be told yet.
    client.set_limits("tpm=10/day", entity=entity, resource=RESOURCE)
    client.close()
    eventually(lambda: "could not be told" in one.log(), "it is tried in vain")
    one.ledger.delete_namespace(entity)
    proxy.clear()

    def actions():
        events = table.items(entity_id=entity)
        return [item["action"] for item in events if "#AUDIT#" in item["SK"]]

    eventually(lambda: "limits_set" in actions(), "it is in the audit")
    started = time.monotonic()
    assert one.stop() == 0, one.log()
    assert time.monotonic() - started < 4, one.log()
    other.ledger.recover_namespace(entity)
    recovered = other.client(entity)
    assert "limits_set" in [event["action"] for event in recovered.audit(subject=entity)["events"]]
    recovered.close()
