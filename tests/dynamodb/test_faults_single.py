"""Single calls that fail, come late, are lost or half done: tried again, done once, and nothing is minted."""

import time

import pytest
from ledger_figures import left, used
from metrics import samples
from polling import eventually

RESOURCE = "gpt-4"
CAPACITY = 10_000
SETTINGS = {"request_timeout_ms": 300, "request_attempts": 4, "timeout_ms": 5_000, "idle_return_ms": 100}


@pytest.fixture
def proxy(table):
    return table.endpoint.proxy


@pytest.fixture
def node(table, start_node):
    node = start_node(table, through_proxy=True, **SETTINGS)
    node.ledger.set_limits(f"tpm={CAPACITY}/day")
    return node


def told_exactly(table, entity, admitted, started):
    """All that was admitted is in the counter, and what is left is the rest: nothing minted, nothing lost."""
    eventually(lambda: table.consumed(entity, "tpm") >= admitted, "it is told")

    def settled():
        bucket = table.bucket(entity)
        refilled = bucket["b_tpm_tk"] + bucket["b_tpm_tc"] - CAPACITY * 1000
        assert bucket["b_tpm_tc"] <= admitted * 1000, "told twice"
        assert refilled <= CAPACITY * (time.time() - started) / 86.4 + 1, "minted"
        return refilled >= 0

    eventually(settled, "everything is given back")


# Each of them once, on each operation that an acquire may need.
ONCE = ["throttled", "failed", "unavailable", "cut", "lost", "failed_after", {"late": 400}]


@pytest.mark.parametrize("fault", ONCE, ids=str)
def test_one_fault_is_not_noticed(node, table, proxy, entity, fault):
    started, admitted = time.time(), 0
    for operation in ("BatchGetItem", "TransactWriteItems", "UpdateItem", "GetItem", "PutItem", "Query"):
        proxy.fault(fault, operation=operation, times=1)
    for number in range(20):
        acquired = node.ledger.acquire((entity, RESOURCE, {"tpm": 7}), lease=False)
        assert acquired.granted and not acquired.degraded, number
        admitted += 7
    proxy.clear()
    told_exactly(table, entity, admitted, started)


@pytest.mark.parametrize("fault", ["lost", "failed_after", {"late": 400}], ids=str)
def test_answers_that_are_lost_again_and_again(node, table, proxy, entity, fault):
    """Before every step: draws, returns, debts and refunds are all done once."""
    started, admitted = time.time(), 0
    for number in range(15):
        proxy.fault(fault, operation="UpdateItem", times=1)
        acquired = node.ledger.acquire((entity, RESOURCE, {"tpm": 50}))
        assert acquired.granted, number
        proxy.fault(fault, operation="UpdateItem", times=1)
        real = (10, 50, 90)[number % 3]
        node.ledger.settle_lease(acquired.lease, {"tpm": real})
        admitted += real
    proxy.clear()
    told_exactly(table, entity, admitted, started)
    # Time adds a token every nine seconds.
    refilled = left(node.ledger, entity, RESOURCE, "tpm") - (CAPACITY - admitted)
    assert 0 <= refilled <= CAPACITY * (time.time() - started) / 86_400


def test_items_that_others_hold_are_asked_again(node, table, proxy, entity):
    started = time.time()
    node.ledger.create_entity(entity)
    proxy.fault("conflict", operation="TransactWriteItems", times=1)
    proxy.fault("conflict", operation="UpdateItem", times=1)
    node.ledger.create_entity(f"{entity}-child", parent=entity, cascade=True)
    proxy.fault("conflict", operation="TransactWriteItems", times=1)
    assert node.ledger.acquire((f"{entity}-child", RESOURCE, {"tpm": 5}), lease=False).granted
    proxy.clear()
    for one in (entity, f"{entity}-child"):
        told_exactly(table, one, 5, started)


@pytest.fixture
def second(table, start_node):
    """A node that has read nothing yet."""
    return start_node(table, through_proxy=True, **SETTINGS)


def test_half_a_batch_is_read_again_by_who_knows_nothing(node, second, proxy, entity):
    node.ledger.create_entity(entity)
    node.ledger.create_entity(f"{entity}-child", parent=entity, cascade=True)
    node.ledger.set_limits("tpm=20/day", entity=entity, resource=RESOURCE)
    node.ledger.set_limits("tpm=30/day", entity=f"{entity}-child")
    proxy.forget()
    proxy.fault("partial", times=4)
    acquired = second.ledger.acquire((f"{entity}-child", RESOURCE, {"tpm": 5}))
    assert acquired.granted
    assert {(status.entity, status.capacity) for status in acquired.statuses} == {(entity, 20), (f"{entity}-child", 30)}
    assert proxy.count("BatchGetItem") >= 2, "what was not answered was asked again"


def test_an_entity_is_deleted_whole_though_batches_are_halved(node, table, proxy, entity):
    node.ledger.create_entity(entity)
    for number in range(30):
        node.ledger.set_limits("tpm=20/day", entity=entity, resource=f"r{number}")
        node.ledger.acquire((entity, f"r{number}", {"tpm": 1}), lease=False)
    proxy.fault("partial", times=5)
    node.ledger.delete_entity(entity)
    proxy.clear()

    def items():
        return [item for item in table.items() if entity in item["PK"] and "AUDIT" not in item["PK"]]

    kept = [item["SK"] for item in items() if not item["SK"].startswith(("#USAGE", "#MINUTES"))]
    assert not kept, kept


@pytest.mark.parametrize("fault", ["lost", "failed_after", "cut", "throttled"])
def test_usage_is_counted_once_though_its_answers_are_lost(node, second, proxy, entity, fault):
    proxy.fault(fault, naming="#USAGE", times=3)
    proxy.fault(fault, naming="#MINUTES", times=3)
    for _ in range(10):
        node.ledger.acquire((entity, RESOURCE, {"tpm": 3}), lease=False)
    assert node.stop() == 0
    proxy.clear()
    assert used(second.ledger, entity, "tpm") == (30, 10)


def test_calls_to_the_table_are_counted(node, proxy, entity):
    """Those that were throttled again and again with them."""
    node.ledger.acquire((entity, RESOURCE, {"tpm": 3}), lease=False)
    proxy.fault("throttled", operation="UpdateItem")
    node.ledger.acquire((entity, RESOURCE, {"tpm": 3000}), lease=False, on_unavailable="allow")

    def throttled():
        return sum(
            count
            for labels, count in samples(node, "tidegate_dynamodb_calls_total")
            if labels["outcome"] == "throttled"
        )

    eventually(lambda: throttled() >= 1, "the throttled one")
    assert sum(count for _, count in samples(node, "tidegate_dynamodb_calls_total")) >= 3


def test_an_attempt_that_was_tried_again_is_counted(node, proxy, entity):
    """No call fails for it, and whoever runs the table sees that it is throttled."""

    def attempts(outcome):
        seen = samples(node, "tidegate_dynamodb_attempts_total")
        return sum(count for labels, count in seen if labels["outcome"] == outcome)

    before = attempts("throttled")
    proxy.fault("throttled", operation="TransactWriteItems", times=2)
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 3}), lease=False).granted
    assert (attempts("throttled") - before, attempts("done") > 0) == (2, True)
