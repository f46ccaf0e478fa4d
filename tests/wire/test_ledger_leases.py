"""Leases, and what is left: one script for every transport, same steps, same outcomes.

Rates are by the day, so that nothing worth a token comes back while a test runs.
"""

import time

import pytest

from ledger_figures import left_of
from ledger_refusal import refusal
from polling import eventually

TPM = {"tpm": 10}


# Leases


def test_a_lease_is_adjusted_into_debt_and_settled(ledger):
    ledger.set_limits("tpm=100/day", "rpm=10/day")
    lease = ledger.acquire(("acme", "gpt-4", {"tpm": 50, "rpm": 1})).lease
    ledger.adjust_lease(lease, {"tpm": 80})
    assert left_of(ledger) == {"tpm": -30}
    assert not ledger.acquire(("acme", "gpt-4", {"tpm": 1})).granted
    ledger.adjust_lease(lease, {"tpm": -50})
    assert left_of(ledger) == {"tpm": 20}
    ledger.settle_lease(lease, {"tpm": 35})
    assert left_of(ledger, tpm=0, rpm=0) == {"tpm": 65, "rpm": 9}, "what is not said stays as taken"
    assert refusal(ledger.settle_lease, lease) == "lease_not_found"


def test_no_more_is_given_back_than_is_held(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 40}))
    lease = ledger.acquire(("acme", "gpt-4", {"tpm": 10})).lease
    ledger.adjust_lease(lease, {"tpm": -1000})
    assert left_of(ledger) == {"tpm": 60}
    assert refusal(ledger.adjust_lease, lease, {"rpm": 1}) == "unknown_limit"
    ledger.release_lease(lease)
    assert left_of(ledger) == {"tpm": 60}


def test_settled_without_a_cost_it_stays_as_taken(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.settle_lease(ledger.acquire(("acme", "gpt-4", TPM)).lease)
    assert left_of(ledger) == {"tpm": 90}


def test_a_lease_is_looked_at_listed_and_ends_once(ledger):
    ledger.set_limits("tpm=100/day", "inflight=5")
    before = time.time() * 1000
    granted = ledger.acquire(("acme", "gpt-4", TPM), ttl_ms=30_000, on_expiry="give_back")
    other = ledger.acquire(("other", "gpt-4", TPM))
    assert before + 29_000 < granted.expires_at_ms < before + 40_000
    lease = ledger.lease(granted.lease)
    assert (lease["lease"], lease["on_expiry"]) == (granted.lease, "give_back")
    assert abs(lease["expires_at_ms"] - granted.expires_at_ms) <= 1
    held = {(hold["entity"], hold["limit"], hold["kind"]): hold["amount"] for hold in lease["holds"]}
    assert held == {("acme", "tpm", "rate"): 10, ("acme", "inflight", "concurrency"): 1}
    assert [lease["lease"] for lease in ledger.leases(entity="acme")["leases"]] == [granted.lease]
    page = ledger.leases(count=1)
    rest = ledger.leases(count=10, after=page["next"])
    both = [lease["lease"] for lease in page["leases"] + rest["leases"]]
    assert sorted(both) == sorted([granted.lease, other.lease])
    ledger.release_lease(granted.lease)
    for call in (ledger.release_lease, ledger.settle_lease, ledger.lease):
        assert refusal(call, granted.lease) == "lease_not_found"
    assert refusal(ledger.adjust_lease, granted.lease, TPM) == "lease_not_found"
    assert refusal(ledger.extend_lease, granted.lease, 1000) == "lease_not_found"


@pytest.mark.parametrize("on_expiry, then", [("keep", 90), ("give_back", 100), (None, 90)])
def test_a_lease_expires_by_itself(ledger, on_expiry, then):
    ledger.set_limits("tpm=100/day", "inflight=1")
    granted = ledger.acquire(("acme", "gpt-4", TPM), ttl_ms=1_000, on_expiry=on_expiry)
    assert not ledger.acquire(("acme", "gpt-4", {"tpm": 1})).granted
    eventually(lambda: left_of(ledger, tpm=0, inflight=0)["inflight"] == 1, "its slot came back")
    assert left_of(ledger) == {"tpm": then}
    assert refusal(ledger.settle_lease, granted.lease, TPM) == "lease_not_found"


def test_what_becomes_of_leases_is_a_setting_of_the_system(ledger):
    ledger.set_limits("tpm=100/day", "inflight=1", on_expiry="give_back", lease_ttl_ms=300)
    ledger.acquire(("acme", "gpt-4", TPM))
    eventually(lambda: left_of(ledger, tpm=0, inflight=0) == {"tpm": 100, "inflight": 1}, "it expired")


def test_a_lease_is_extended(ledger):
    ledger.set_limits("tpm=100/day")
    short = ledger.acquire(("acme", "gpt-4", TPM), ttl_ms=2_000)
    ledger.extend_lease(short.lease, 60_000)
    assert ledger.lease(short.lease)["expires_at_ms"] > short.expires_at_ms + 30_000
    ledger.settle_lease(short.lease)


def test_a_cap_counts_every_lease_and_gets_it_back_however_it_ends(ledger):
    ledger.set_limits("tpm=100/day", "inflight=3", resource="gpt-4")
    ends = (lambda id: ledger.settle_lease(id, {"tpm": 0}), ledger.release_lease)
    for end in ends:
        held = [ledger.acquire(("acme", "gpt-4", {"tpm": 1})) for _ in range(3)]
        assert [one.status("inflight").available for one in held] == [2, 1, 0]
        denied = ledger.acquire(("acme", "gpt-4", {"tpm": 1}))
        assert not denied.granted and denied.exceeded() == {("acme", "inflight")}
        assert denied.retry_after_ms is None, "nobody knows when one is given back"
        for one in held:
            end(one.lease)
    three = ledger.acquire(("acme", "gpt-4", {"inflight": 3}))
    assert three.granted and not ledger.acquire(("acme", "gpt-4", {})).granted
    assert refusal(ledger.acquire, ("acme", "gpt-4", {"inflight": 4})) == "never_passes"


def test_a_slot_that_comes_back_lets_a_waiter_in(ledger, server, namespace):
    ledger.set_limits("inflight=1")
    held = ledger.acquire(("acme", "gpt-4", {}), ttl_ms=700)
    waited = ledger.acquire(("acme", "gpt-4", {}), wait_ms=10_000)
    assert waited.granted and waited.lease != held.lease


def test_a_lease_that_never_was(ledger):
    assert refusal(ledger.settle_lease, "0192f3c4a1b20001") == "lease_not_found"
    ledger.set_limits("tpm=100/day")


def test_leases_of_another_namespace_are_not_there(ledger, server, namespace):
    ledger.set_limits("tpm=100/day")
    lease = ledger.acquire(("acme", "gpt-4", TPM)).lease
    other = type(ledger)(server, f"{namespace}-other")
    assert refusal(other.settle_lease, lease) == "lease_not_found"
    other.close()
    ledger.settle_lease(lease)


# Looking, and making full


def test_available_and_when(ledger):
    ledger.set_limits("tpm=86400/day,burst=100")
    ledger.acquire(("acme", "gpt-4", {"tpm": 100}))
    before = ledger.available("acme", "gpt-4", tpm=50)
    assert before["allowed"] is False and 30_000 < before["retry_after_ms"] <= 50_000
    assert ledger.available("acme", "gpt-4", tpm=0)["allowed"] is True
    assert ledger.available("other", "gpt-4", tpm=100) == {
        "allowed": True,
        "retry_after_ms": 0,
        "statuses": [
            {
                "entity": "other",
                "resource": "gpt-4",
                "limit": "tpm",
                "kind": "rate",
                "level": "system",
                "capacity": 100,
                "available": 100,
                "requested": 100,
                "exceeded": False,
                "soft": False,
                "retry_after_ms": 0,
            }
        ],
    }
    assert refusal(ledger.available, "acme", "gpt-4", tpm=101) == "never_passes"
    assert refusal(ledger.available, "acme", "gpt-4", rpm=1) == "unknown_limit"


def test_available_without_a_cost_shows_every_limit(ledger):
    ledger.set_limits("tpm=100/day", "rpm=5/day", "inflight=2")
    ledger.acquire(("acme", "gpt-4", {"tpm": 40}))
    looked = ledger.available("acme", "gpt-4")
    assert {status["limit"]: status["available"] for status in looked["statuses"]} == {
        "tpm": 60,
        "rpm": 5,
        "inflight": 1,
    }


def test_capacity_over_all_entities(ledger):
    ledger.set_limits("tpm=100/day", "inflight=4", resource="gpt-4")
    ledger.set_limits("tpm=1000/day", entity="big", resource="gpt-4")
    for entity in ("a", "b", "big"):
        ledger.acquire((entity, "gpt-4", TPM))
    found = {limit["limit"]: limit for limit in ledger.capacity("gpt-4")["limits"]}
    assert found["tpm"] == {"limit": "tpm", "kind": "rate", "capacity": 1200, "available": 1170, "entities": 3}
    assert found["inflight"] == {"limit": "inflight", "kind": "concurrency", "capacity": 8, "available": 6, "entities": 2}
    # Who has a record counts before anything is taken; a limit that is taken away does not, and has what it had when it is set again.
    ledger.create_entity("idle")
    ledger.set_limits("inflight=4", "rpm=7/day", resource="gpt-4")
    found = {limit["limit"]: (limit["capacity"], limit["available"], limit["entities"]) for limit in ledger.capacity("gpt-4")["limits"]}
    assert found == {"tpm": (1000, 990, 1), "inflight": (12, 10, 3), "rpm": (21, 21, 3)}
    ledger.set_limits("tpm=100/day", resource="gpt-4")
    found = {limit["limit"]: (limit["capacity"], limit["available"], limit["entities"]) for limit in ledger.capacity("gpt-4")["limits"]}
    assert found == {"tpm": (1300, 1270, 4)}


def test_entities_with_limits_of_their_own_are_listed(ledger):
    ledger.set_limits("tpm=100/day", resource="gpt-4")
    for entity in ("c", "a", "b"):
        ledger.set_limits("tpm=5/day", entity=entity, resource="gpt-4")
    ledger.set_limits("tpm=5/day", entity="a")
    gpt4 = [{"entity": entity, "resource": "gpt-4"} for entity in "abc"]
    assert ledger.custom(resource="gpt-4") == {"custom": gpt4, "next": None}
    first = ledger.custom(count=2)
    rest = ledger.custom(count=10, after=first["next"])
    found = [(one["entity"], one["resource"]) for one in first["custom"] + rest["custom"]]
    assert found == [("a", "_default_"), ("a", "gpt-4"), ("b", "gpt-4"), ("c", "gpt-4")]


def test_a_reset_makes_full_and_happens_once_for_a_key(ledger):
    ledger.set_limits("tpm=100/day", "rpm=10/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 100, "rpm": 10}))
    ledger.reset_buckets("acme", "gpt-4", "tpm", key="ticket-1")
    assert left_of(ledger, tpm=0, rpm=0) == {"tpm": 100, "rpm": 0}
    ledger.acquire(("acme", "gpt-4", {"tpm": 30}))
    again = ledger.reset_buckets("acme", "gpt-4", "tpm", key="ticket-1")
    assert left_of(ledger) == {"tpm": 70} and again["statuses"][0]["limit"] == "tpm"
    ledger.reset_buckets("acme", "gpt-4")
    assert left_of(ledger, tpm=0, rpm=0) == {"tpm": 100, "rpm": 10}
    assert refusal(ledger.reset_buckets, "acme", "gpt-4", "tpn") == "unknown_limit"
    assert refusal(ledger.reset_buckets, "acme", "gpt-4", key="no spaces") == "invalid_request"


def test_a_top_up_repays_and_refills_and_happens_once_for_a_key(ledger):
    ledger.set_limits("tpm=100/day")
    lease = ledger.acquire(("acme", "gpt-4", {"tpm": 100})).lease
    ledger.adjust_lease(lease, {"tpm": 50})
    first = ledger.top_up("acme", "gpt-4", {"tpm": 60}, key="invoice-17")
    assert first["statuses"][0]["available"] == 10
    second = ledger.top_up("acme", "gpt-4", {"tpm": 60}, key="invoice-17")
    assert second["statuses"][0]["limit"] == "tpm" and left_of(ledger) == {"tpm": 10}
    ledger.top_up("acme", "gpt-4", {"tpm": 1000})
    assert left_of(ledger) == {"tpm": 100}, "at most the burst"


def test_closed_buckets_are_left_alone_for_a_while(ledger):
    ledger.set_limits("tpm=100/day")
    until = ledger.close_buckets("acme", "gpt-4", 600)["closed_until_ms"]
    assert abs(until - time.time() * 1000 - 600) < 5_000
    denied = ledger.acquire(("acme", "gpt-4", {"tpm": 1}))
    assert not denied.granted and 0 < denied.retry_after_ms <= 600
    assert ledger.acquire(("acme", "gpt-4", {"tpm": 1}), wait_ms=10_000).granted
