"""DynamoDB slow, throttling or gone: waits are bounded, block and allow are kept, slices serve on, and it comes back by itself."""

import threading
import time

import pytest
from ledger_figures import left
from ledger_refusal import refusal
from load import working
from metrics import samples, value
from polling import eventually

RESOURCE = "gpt-4"
TIMEOUT_MS = 600
# An emulator shares its machine with the tests: what it answers within half a second is no fault.
QUICK = {"timeout_ms": TIMEOUT_MS, "request_timeout_ms": 500, "request_attempts": 2, "config_refresh_ms": 300}
# What a loaded machine may be late by.
LATE_S = 1.0

OUTAGES = {
    "down": lambda proxy: proxy.down(),
    "silent": lambda proxy: proxy.silent(),
    "throttled": lambda proxy: proxy.fault("throttled"),
    "failed": lambda proxy: proxy.fault("failed"),
    "unavailable": lambda proxy: proxy.fault("unavailable"),
    "slow": lambda proxy: proxy.latency_ms(5_000),
    "denied": lambda proxy: proxy.fault("denied"),
}


@pytest.fixture
def proxy(table):
    return table.endpoint.proxy


@pytest.fixture
def node(table, start_node):
    return start_node(table, through_proxy=True, **QUICK)


@pytest.fixture(params=OUTAGES)
def outage(request, proxy):
    """Begins it."""
    return lambda: OUTAGES[request.param](proxy)


def timed(call, *args, **kwargs):
    started = time.monotonic()
    result = call(*args, **kwargs)
    return result, time.monotonic() - started


def outcomes(node):
    seen = samples(node, "tidegate_ledger_store_unavailable_total")
    return {labels["outcome"]: count for labels, count in seen}


def test_an_outage_blocks_or_allows_within_the_timeout_and_ends_by_itself(node, proxy, outage, entity):
    node.ledger.set_limits("tpm=100/day")
    outage()
    most_s = TIMEOUT_MS / 1000 + LATE_S
    code, elapsed = timed(refusal, node.ledger.acquire, (entity, RESOURCE, {"tpm": 1}))
    assert code == "store_unavailable" and elapsed < most_s, (code, elapsed)
    allowed, elapsed = timed(node.ledger.acquire, (entity, RESOURCE, {"tpm": 1}), on_unavailable="allow")
    assert allowed.granted and allowed.degraded and elapsed < most_s, (allowed, elapsed)

    def visible():
        node.ledger.acquire((entity, RESOURCE, {"tpm": 1}), on_unavailable="allow", lease=False)
        return value(node, "tidegate_ledger_store_available") == 0

    eventually(visible, "some calls in vain, and it is visible")
    assert min(outcomes(node).values()) >= 1, outcomes(node)
    _, elapsed = timed(refusal, node.ledger.acquire, (entity, RESOURCE, {"tpm": 1}))
    assert elapsed < most_s
    proxy.clear()

    def granted():
        try:
            acquired = node.ledger.acquire((entity, RESOURCE, {"tpm": 1}))
        except Exception as error:  # the adapter's refusal
            assert getattr(error, "code", None) == "store_unavailable", error
            return False
        return acquired.granted and not acquired.degraded

    eventually(granted, "it serves again")
    eventually(lambda: value(node, "tidegate_ledger_store_available") == 1, "and says so")


def test_edits_are_refused_during_an_outage_and_change_nothing(node, proxy, outage, entity):
    node.ledger.create_entity(entity)
    outage()
    code, elapsed = timed(refusal, node.ledger.set_limits, "tpm=1/day", entity=entity)
    # A permission that is missing does not come back by waiting.
    assert code in ("store_unavailable", "storage_fault") and elapsed < 5, (code, elapsed)
    assert refusal(node.ledger.create_entity, f"{entity}-new") == code
    proxy.clear()

    def told(call, *args, **kwargs):
        try:
            return call(*args, **kwargs)
        except Exception as error:  # the adapter's refusal
            return error.code

    eventually(lambda: told(node.ledger.entity, entity) not in ("store_unavailable",), "it answers again")
    assert refusal(node.ledger.get_limits, entity=entity) == "scope_not_found"
    assert refusal(node.ledger.entity, f"{entity}-new") == "entity_not_found"


def test_slices_serve_on_without_the_table(node, table, proxy, entity):
    capacity = 100_000
    node.ledger.set_limits(f"tpm={capacity}/day", entity=entity, resource=RESOURCE)
    charge = (entity, RESOURCE, {"tpm": 1})
    for _ in range(300):
        assert node.ledger.acquire(charge, lease=False).granted
    proxy.down()
    served, slowest = 0, 0.0
    while served < capacity:
        try:
            acquired, elapsed = timed(node.ledger.acquire, charge, lease=False)
        except Exception as error:  # the adapter's refusal
            assert getattr(error, "code", None) == "store_unavailable", error
            break
        assert acquired.granted and not acquired.degraded
        served, slowest = served + 1, max(slowest, elapsed)
        if served >= 50:
            break
    assert served >= 10, "at this rate more than that was drawn ahead"
    assert slowest < 0.3, "nobody waited for the table"
    proxy.clear()
    eventually(lambda: table.consumed(entity, "tpm") >= 300 + served, "what was served meanwhile is told")
    assert table.consumed(entity, "tpm") == 300 + served


def test_nobody_else_waits_while_the_table_is_slow(table, start_node, proxy, entity):
    """One thread asks for entities that have to be loaded; inline keys, queues and other connections do not notice."""
    node = start_node(table, through_proxy=True)
    node.ledger.set_limits("tpm=100/day")
    node.ledger.create("q")
    proxy.latency_ms(100)
    waits, slow = [], []

    def newcomers(stop):
        client = node.client()
        for number in range(1_000):
            if stop.is_set():
                break
            slow.append(timed(client.acquire, (f"{entity}-{number}", RESOURCE, {"tpm": 1}), lease=False)[1])
        client.close()

    with working(newcomers, newcomers):
        eventually(lambda: len(slow) >= 2, "some have waited")
        for number in range(200):
            waits.append(timed(node.ledger.redis.ping)[1])
            waits.append(timed(node.ledger.redis.execute_command, "THROTTLE", f"k{number}", 10, 10, 60)[1])
            waits.append(timed(node.ledger.enqueue, "q", b"x")[1])
    assert min(slow) >= 0.1, "they did wait for the table"
    assert sorted(waits)[-10] < 0.05, f"{sorted(waits)[-10:]}"


def test_messages_wait_for_the_table_and_come_after_it(node, proxy, entity):
    node.ledger.set_limits("tpm=100/day")
    node.ledger.create("q")
    for number in range(3):
        node.ledger.enqueue("q", b"x", entity_charges=[(f"{entity}-{number}", RESOURCE, {"tpm": 1})])
    proxy.down()
    for number in range(3, 6):
        # A message is taken whether or not the limits that it names can be seen now, or is refused clearly.
        try:
            node.ledger.enqueue("q", b"x", entity_charges=[(f"{entity}-{number}", RESOURCE, {"tpm": 1})])
        except Exception as error:  # the adapter's refusal
            assert getattr(error, "code", None) == "store_unavailable", error
    node.ledger.enqueue("q", b"free")
    free = eventually(
        lambda: [m for m in node.ledger.receive("q", count=10) if m.payload == b"free"], "it is not held up"
    )
    assert free
    proxy.clear()
    seen = set()

    def all_came():
        seen.update(message.id for message in node.ledger.receive("q", count=10, wait_ms=100))
        return len(seen) >= 3

    eventually(all_came, "those that waited")


def test_a_waiting_acquire_is_served_after_the_outage(node, proxy, entity):
    node.ledger.set_limits("tpm=100/day")
    proxy.fault("held", operation="BatchGetItem")
    got = []

    def wait():
        client = node.client()
        got.append(client.acquire((entity, RESOURCE, {"tpm": 1}), wait_ms=20_000))
        client.close()

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: proxy.count("BatchGetItem") > 0, "it is being loaded")
    proxy.release()
    thread.join(timeout=20)
    assert got and got[0].granted
    assert left(node.ledger, entity, RESOURCE, "tpm") == 99


def test_a_table_that_is_made_anew_is_used_again(table, start_node, entity):
    """As an empty one, by servers that nobody restarts."""
    nodes = [start_node(table, **QUICK) for _ in range(2)]

    def told(call, *args, **kwargs):
        try:
            return call(*args, **kwargs)
        except Exception as error:  # the adapter's refusal
            assert error.code == "store_unavailable", error
            return None

    nodes[0].ledger.set_limits("tpm=10/day")
    for node in nodes:
        assert node.ledger.acquire((entity, RESOURCE, {"tpm": 5}), lease=False).granted
    assert table.command("delete-table", "--yes").returncode == 0
    for node in nodes:
        gone = lambda node=node: told(node.ledger.acquire, (f"{entity}-other", RESOURCE, {"tpm": 1})) is None  # noqa: E731
        eventually(gone, "it is noticed")
    assert table.command("create-table").returncode == 0
    eventually(lambda: told(nodes[0].ledger.set_limits, "tpm=10/day"), "limits can be set again")
    for node in nodes:

        def serves(node=node):
            acquired = told(node.ledger.acquire, (entity, RESOURCE, {"tpm": 5}), lease=False)
            return acquired and acquired.granted

        eventually(serves, "it serves again")
    eventually(lambda: table.consumed(entity, "tpm") == 10, "and all of it is told")
    eventually(lambda: len({item["SK"] for item in table.items() if "#NODE#" in item["SK"]}) == 2, "both are known")


def test_a_clock_that_is_off_is_measured_and_told(node, proxy, entity):
    node.ledger.set_limits("tpm=100/day")
    assert abs(value(node, "tidegate_clock_skew_ms")) <= 1_500, "the header has seconds only"
    proxy.date_offset_ms(30_000)

    def noticed():
        node.ledger.acquire((entity, RESOURCE, {"tpm": 0}), lease=False)
        return 28_000 < abs(value(node, "tidegate_clock_skew_ms")) < 32_000

    eventually(noticed, "the skew is seen", within_s=30)
    eventually(lambda: value(node, "tidegate_clock_skew_alarms_total") == 1, "and alarmed", within_s=60)
    assert "clock" in node.log()
