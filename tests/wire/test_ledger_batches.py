"""Several acquires or settlements in one gRPC call: each on its own, in order.

Rates are by the day, so that nothing worth a token comes back while a test runs.
"""

import pytest

import protocol
from ledger_figures import left_of
from ledger_grpc import GrpcLedger
from ledger_refusal import refusal
from polling import eventually
from queue_grpc import amounts


@pytest.fixture
def ledger(server, namespace):
    adapter = GrpcLedger(server, namespace)
    yield adapter
    adapter.close()


def acquire(cost, entity="acme", **options):
    charge = protocol.ledger.EntityCharge(entity=entity, resource="gpt-4", cost=amounts(cost))
    return protocol.ledger.AcquireRequest(charges=[charge], **options)


def acquire_batch(*requests):
    return protocol.ledger.AcquireBatchRequest(requests=requests)


def results(ledger, *requests):
    return ledger._call(ledger.ledger.AcquireBatch, acquire_batch(*requests)).results


def settled(ledger, *leases, **cost):
    requests = [protocol.ledger.SettleRequest(lease=lease, cost=amounts(cost)) for lease in leases]
    answer = ledger._call(ledger.ledger.SettleBatch, protocol.ledger.SettleBatchRequest(requests=requests))
    return [result.error.code or result.WhichOneof("outcome") for result in answer.results]


def test_each_acquire_is_decided_by_itself_in_order(ledger):
    ledger.set_limits("tpm=100/day")
    costs = [{"tpm": 60}, {"tpm": 60}, {"tmp": 1}, {"tpm": -1}, {"tpm": 40}, {"tpm": 1}]
    told = results(ledger, *[acquire(cost) for cost in costs])
    granted = [result.acquired.granted if result.HasField("acquired") else result.error.code for result in told]
    assert granted == [True, False, "unknown_limit", "invalid_amount", True, False]
    assert told[1].acquired.statuses[0].exceeded and told[1].acquired.retry_after_ms > 0
    assert told[2].error.message and told[2].error.hint
    leases = [told[0].acquired.lease, told[4].acquired.lease]
    ended = settled(ledger, leases[0], "0" * 16, leases[1], leases[0], tpm=10)
    assert ended == ["done", "lease_not_found", "done", "lease_not_found"]
    assert left_of(ledger) == {"tpm": 80}


def test_who_waits_keeps_nobody_from_being_decided(ledger):
    ledger.set_limits("inflight=1", "tpm=100/day")
    first = ledger.acquire(("acme", "gpt-4", {})).lease
    waits = acquire({"tpm": 1}, wait_ms=60_000)
    call = ledger.ledger.AcquireBatch.future(
        acquire_batch(waits, acquire({"tpm": 5}, entity="other"), acquire({"tmp": 1})), metadata=ledger._metadata()
    )
    eventually(lambda: left_of(ledger, "other") == {"tpm": 95}, "the one that can pass has passed")
    assert not call.done()
    ledger.release_lease(first)
    told = call.result(timeout=30).results
    assert [told[0].acquired.granted, told[1].acquired.granted, told[2].error.code] == [True, True, "unknown_limit"]
    assert settled(ledger, told[0].acquired.lease, told[1].acquired.lease) == ["done", "done"]


def test_a_client_that_leaves_before_the_answer_holds_nothing(ledger):
    ledger.set_limits("inflight=1", "tpm=100/day")
    lease = ledger.acquire(("acme", "gpt-4", {})).lease
    call = ledger.ledger.AcquireBatch.future(
        acquire_batch(acquire({"tpm": 5}, entity="other"), acquire({"tpm": 1}, wait_ms=60_000)),
        metadata=ledger._metadata(),
    )
    eventually(lambda: left_of(ledger, "other") == {"tpm": 95}, "the first has passed")
    call.cancel()
    eventually(lambda: left_of(ledger, "other") == {"tpm": 100}, "what it took is given back")
    assert [open_one["lease"] for open_one in ledger.leases()["leases"]] == [lease]


def test_a_batch_is_bounded_and_may_be_empty(ledger):
    assert list(results(ledger)) == [] and settled(ledger) == []
    one = acquire({"tpm": 1})
    assert refusal(ledger._call, ledger.ledger.AcquireBatch, acquire_batch(*[one] * 1001)) == "batch_too_large"
