"""Limits and acquires: one script for every transport, same steps, same outcomes.

Rates are by the day, so that nothing worth a token comes back while a test runs.
"""

import time

import pytest

from ledger_clients import LEDGER_TRANSPORTS
from ledger_figures import left_of
from ledger_refusal import refusal, refused

TPM = {"tpm": 10}


# Limits and where they come from


def test_the_first_level_that_has_limits_wins_whole(ledger):
    levels = {
        "system": {},
        "resource": {"resource": "gpt-4"},
        "entity_default": {"entity": "acme"},
        "entity": {"entity": "acme", "resource": "gpt-4"},
    }
    assert refusal(ledger.acquire, ("acme", "gpt-4", TPM)) == "no_limits"
    assert ledger.resolve("acme", "gpt-4")["level"] is None
    for number, (level, scope) in enumerate(levels.items(), 1):
        ledger.set_limits(f"{level}=5/day", f"tpm={number * 100}/day", **scope)
        resolved = ledger.resolve("acme", "gpt-4")
        assert resolved["level"] == level
        assert [limit["name"] for limit in resolved["limits"]] == [level, "tpm"]
        assert ledger.acquire(("acme", "gpt-4", {level: 1})).granted
    assert ledger.resolve("acme", "other")["level"] == "entity_default"
    assert ledger.resolve("nobody", "gpt-4")["level"] == "resource"
    assert ledger.resolve("nobody", "other")["level"] == "system"
    assert refusal(ledger.acquire, ("acme", "gpt-4", {"system": 1})) == "unknown_limit", "no merging"
    for level, scope in reversed(levels.items()):
        assert ledger.resolve("acme", "gpt-4")["level"] == level
        ledger.remove_limits(**scope)
        assert refusal(ledger.remove_limits, **scope) == "scope_not_found"
    assert refusal(ledger.acquire, ("acme", "gpt-4", TPM)) == "no_limits"


def test_limits_of_the_configuration_are_the_last_level(start_server, tmp_path):
    config = tmp_path / "tidegate.toml"
    config.write_text('[ledger]\ndefault_limits = "rpm=3/day"\n')
    server = start_server("--config", config)
    for name, adapter in LEDGER_TRANSPORTS.items():
        ledger = adapter(server)
        assert ledger.resolve(name, "gpt-4")["level"] == "config"
        assert [ledger.acquire((name, "gpt-4", {"rpm": 2})).granted for _ in range(2)] == [True, False]
        ledger.close()


@pytest.mark.parametrize(
    "text, document",
    {
        "tpm=10000/minute": {"name": "tpm", "amount": 10_000, "period": "minute"},
        "tpm=10000/hour,burst=500": {"name": "tpm", "amount": 10_000, "period": "hour", "burst": 500},
        "x=5/90s": {"name": "x", "amount": 5, "period": 90},
        "tpm=7/second,soft": {"name": "tpm", "amount": 7, "period": "second", "soft": True},
        "inflight=8": {"name": "inflight", "concurrency": 8},
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_limit_is_told_as_it_was_set(ledger, text, document):
    assert ledger.set_limits(text, resource="gpt-4")["limits"] == [document]
    assert ledger.get_limits(resource="gpt-4")["limits"] == [document]
    assert ledger.resolve("acme", "gpt-4")["limits"] == [document]


@pytest.mark.parametrize("scope", [{}, {"resource": "gpt-4"}, {"entity": "acme"}, {"entity": "acme", "resource": "gpt-4"}])
def test_what_is_set_is_what_is_found(ledger, scope):
    told = ledger.set_limits("tpm=100/day", **scope)
    assert ledger.get_limits(**scope) == told
    added = ledger.set_limits(**scope, **({"cascade": True} if scope else {"on_expiry": "give_back"}))
    assert added["limits"] == told["limits"], "what is not said stays"
    assert ledger.get_limits(**scope) == added


@pytest.mark.parametrize("limit", ["tpm=0/day", "inflight=0", "tpm=5/0s", "t m=5/day"])
def test_a_limit_that_cannot_be(ledger, limit):
    if type(ledger).__name__ == "CliLedger":
        with pytest.raises(AssertionError, match="error"):
            ledger.set_limits(limit)
    else:
        assert refusal(ledger.set_limits, limit) == "invalid_limit"
        assert refusal(ledger.acquire, ("acme", "gpt-4", {}), limits=[limit]) == "invalid_limit"


def test_limits_of_a_call_replace_all_and_are_enforced(ledger):
    ledger.set_limits("tpm=100/day", resource="gpt-4")
    asked = [ledger.acquire(("acme", "gpt-4", {"rpm": 1}), limits=["rpm=2/day"]) for _ in range(3)]
    assert [answer.granted for answer in asked] == [True, True, False]
    assert asked[2].status("rpm").capacity == 2
    assert refusal(ledger.acquire, ("acme", "gpt-4", TPM), limits=["rpm=2/day"]) == "unknown_limit"
    assert left_of(ledger) == {"tpm": 100}, "the stored ones are left alone"


def test_what_is_wrong_is_refused_and_says_so(ledger):
    ledger.set_limits("tpm=100/day", "rpm=5/day", resource="gpt-4")
    unknown = refused(ledger.acquire, ("acme", "gpt-4", {"tpn": 1}))
    assert unknown.code == "unknown_limit" and "tpm" in unknown.text and "rpm" in unknown.text
    above = refused(ledger.acquire, ("acme", "gpt-4", {"tpm": 101}))
    assert above.code == "never_passes" and "101" in above.text and "100" in above.text
    assert refused(ledger.acquire, ("acme", "gpt-4", {"tpm": 1, "rpm": 6})).code == "never_passes"
    assert left_of(ledger, tpm=0, rpm=0) == {"tpm": 100, "rpm": 5}
    assert ledger.acquire(("acme", "gpt-4", {"tpm": 100})).granted
    assert ledger.acquire(("acme", "gpt-4", {"tpm": 0})).granted, "0 takes nothing, so it passes"


def test_a_negative_amount_is_refused(server, namespace):
    for name, adapter in LEDGER_TRANSPORTS.items():
        ledger = adapter(server, namespace)
        ledger.set_limits("tpm=100/day", resource="gpt-4")
        if name == "cli":
            # Clap says so before anybody is asked.
            with pytest.raises(AssertionError, match="LIMIT=AMOUNT"):
                ledger.acquire((name, "gpt-4", {"tpm": -1}))
        else:
            wrong = refused(ledger.acquire, (name, "gpt-4", {"tpm": -1}))
            assert wrong.code == "invalid_amount" and "tpm" in wrong.text and "-1" in wrong.text
        assert left_of(ledger, name) == {"tpm": 100}
        ledger.close()


@pytest.mark.parametrize(
    "entity, resource, limit",
    [("a b", "r", "tpm"), ("", "r", "tpm"), ("x" * 257, "r", "tpm"), ("a", "r s", "tpm"), ("a", "r" * 129, "tpm")],
    ids=["space", "empty", "long", "resource", "long resource"],
)
def test_a_name_that_cannot_be(ledger, entity, resource, limit):
    ledger.set_limits("tpm=100/day")
    assert refusal(ledger.acquire, (entity, resource, {limit: 1})) == "invalid_name"


def test_an_entity_may_have_a_slash_and_the_resource_too(ledger):
    entity, resource = "acme/key:1@eu.x-y_z", "openai/gpt-4"
    ledger.set_limits("tpm=100/day", entity=entity, resource=resource)
    granted = ledger.acquire((entity, resource, TPM))
    assert granted.available() == {(entity, "tpm"): 90}
    assert ledger.resolve(entity, resource)["level"] == "entity"
    assert ledger.custom() == {"custom": [{"entity": entity, "resource": resource}], "next": None}
    ledger.release_lease(granted.lease)
    assert left_of(ledger, entity, resource) == {"tpm": 100}


def test_a_change_of_limits_acts_on_active_buckets_and_keeps_what_was_spent(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 60}))
    ledger.set_limits("tpm=50/day")
    assert left_of(ledger) == {"tpm": 40}
    ledger.set_limits("tpm=200/day", resource="gpt-4")
    assert left_of(ledger)["tpm"] <= 200
    assert refusal(ledger.acquire, ("acme", "gpt-4", {"tpm": 201})) == "never_passes"


# Disabled, bypass, soft


@pytest.mark.parametrize("scope", [{"entity": "acme"}, {"resource": "gpt-4"}, {"entity": "acme", "resource": "gpt-4"}])
def test_what_is_disabled_is_refused_until_it_is_not(ledger, scope):
    ledger.set_limits("tpm=100/day")
    ledger.set_limits(mode="disabled", **scope)
    assert ledger.resolve("acme", "gpt-4")["mode"] == "disabled"
    assert refusal(ledger.acquire, ("acme", "gpt-4", TPM)) == "disabled"
    assert refusal(ledger.acquire, ("other", "other", TPM), ("acme", "gpt-4", TPM)) == "disabled"
    assert left_of(ledger, "other", "other") == {"tpm": 100}
    ledger.set_limits(mode=None, **scope)
    assert ledger.acquire(("acme", "gpt-4", TPM)).granted


def test_bypass_admits_debits_nothing_and_counts(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.set_limits(entity="acme", mode="bypass")
    asked = [ledger.acquire(("acme", "gpt-4", {"tpm": 80})) for _ in range(3)]
    assert all(answer.granted and answer.bypassed for answer in asked)
    ledger.set_limits(entity="acme", mode=None)
    assert not ledger.acquire(("acme", "gpt-4", {"tpm": 0})).bypassed
    assert left_of(ledger) == {"tpm": 100}
    (total,) = ledger.usage(entity="acme", window="hour")["totals"]
    assert (total["amount"], total["events"]) == (240, 4)


def test_a_soft_limit_is_charged_and_reported_and_refuses_nobody(ledger):
    ledger.set_limits("tpm=100/day,soft", "rpm=10/day")
    asked = [ledger.acquire(("acme", "gpt-4", {"tpm": 70, "rpm": 1})) for _ in range(2)]
    assert [answer.granted for answer in asked] == [True, True]
    assert [answer.status("tpm").exceeded for answer in asked] == [False, True]
    assert asked[1].status("tpm").available == -40
    assert ledger.acquire(("acme", "gpt-4", {"tpm": 200, "rpm": 1})).granted, "even above its capacity"


# Acquire


def test_all_charges_or_none(ledger):
    ledger.set_limits("tpm=100/day", "rpm=1/day")
    first = ledger.acquire(("a", "gpt-4", {"tpm": 10, "rpm": 1}), ("b", "gpt-4", {"tpm": 20}))
    assert first.granted and first.lease and first.retry_after_ms == 0
    assert first.available() == {("a", "tpm"): 90, ("a", "rpm"): 0, ("b", "tpm"): 80}
    second = ledger.acquire(("b", "gpt-4", {"tpm": 20}), ("a", "gpt-4", {"tpm": 10, "rpm": 1}))
    assert not second.granted and second.lease is None
    assert second.exceeded() == {("a", "rpm")}
    assert left_of(ledger, "b") == {"tpm": 80} and left_of(ledger, "a") == {"tpm": 90}


def test_denied_says_which_limits_by_how_much_and_when(ledger):
    ledger.set_limits("tpm=86400/day,burst=100", "rpm=86400/day,burst=10", "other=5/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 100, "rpm": 10}))
    denied = ledger.acquire(("acme", "gpt-4", {"tpm": 50, "rpm": 5, "other": 1}))
    assert not denied.granted
    tpm, rpm, other = (denied.status(limit) for limit in ("tpm", "rpm", "other"))
    assert (tpm.exceeded, rpm.exceeded, other.exceeded) == (True, True, False)
    assert (tpm.capacity, tpm.requested, rpm.requested) == (100, 50, 5)
    assert 0 <= tpm.available < 50
    # One comes back each second.
    assert 30_000 < tpm.retry_after_ms <= 50_000 and rpm.retry_after_ms <= 5_000
    assert other.retry_after_ms == 0 and other.available == 5
    assert denied.retry_after_ms == pytest.approx(tpm.retry_after_ms, abs=20)


def test_parents_are_charged_by_cascade(ledger):
    ledger.create_entity("org")
    ledger.create_entity("team", parent="org", cascade=True)
    ledger.create_entity("key", parent="team", cascade=True)
    ledger.set_limits("tpm=100/day", entity="org")
    ledger.set_limits("tpm=50/day", "rpm=5/day", entity="team")
    ledger.set_limits("tpm=30/day", "rpm=3/day", entity="key", resource="gpt-4")
    granted = ledger.acquire(("key", "gpt-4", {"tpm": 30, "rpm": 1}))
    assert granted.available() == {
        ("key", "tpm"): 0,
        ("key", "rpm"): 2,
        ("team", "tpm"): 20,
        ("team", "rpm"): 4,
        ("org", "tpm"): 70,
    }
    resolved = ledger.resolve("key", "gpt-4")
    assert resolved["cascade"] is True
    assert [(parent["entity"], parent["level"]) for parent in resolved["parents"]] == [
        ("team", "entity_default"),
        ("org", "entity_default"),
    ]
    ledger.reset_buckets("key", "gpt-4")
    denied = ledger.acquire(("key", "gpt-4", {"tpm": 30}))
    assert not denied.granted and denied.exceeded() == {("team", "tpm")}
    assert ledger.acquire(("team", "gpt-4", {"tpm": 20})).granted
    ledger.release_lease(granted.lease)
    assert left_of(ledger, "org") == {"tpm": 80} and left_of(ledger, "team") == {"tpm": 30}


def test_cascade_may_be_said_for_a_resource(ledger):
    ledger.create_entity("org")
    ledger.create_entity("key", parent="org")
    ledger.set_limits("tpm=100/day")
    assert ledger.acquire(("key", "gpt-4", TPM)).available() == {("key", "tpm"): 90}
    ledger.set_limits(resource="gpt-4", cascade=True)
    assert ledger.acquire(("key", "gpt-4", TPM)).available() == {("key", "tpm"): 80, ("org", "tpm"): 90}
    ledger.set_limits(entity="key", resource="gpt-4", cascade=False)
    assert ledger.acquire(("key", "gpt-4", TPM)).available() == {("key", "tpm"): 70}


def test_an_acquire_waits_for_its_turn(ledger):
    ledger.set_limits("tpm=100/second,burst=50", "other=1/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 50}))
    started = time.monotonic()
    waited = ledger.acquire(("acme", "gpt-4", {"tpm": 50}), wait_ms=10_000)
    assert waited.granted and waited.lease
    assert 0.3 < time.monotonic() - started < 5
    ledger.acquire(("acme", "gpt-4", {"other": 1}))
    denied = ledger.acquire(("acme", "gpt-4", {"other": 1, "tpm": 1}), wait_ms=100)
    assert not denied.granted and denied.exceeded() == {("acme", "other")}
    assert sorted(status.limit for status in denied.statuses) == ["other", "tpm"]
    assert denied.retry_after_ms > 1000


def test_without_a_lease_it_is_spent(ledger):
    ledger.set_limits("tpm=100/day", resource="gpt-4")
    ledger.set_limits("tpm=100/day", "inflight=2", resource="capped")
    spent = ledger.acquire(("acme", "gpt-4", TPM), lease=False)
    assert spent.granted and spent.lease is None
    assert ledger.leases() == {"leases": [], "next": None}
    assert refusal(ledger.acquire, ("acme", "capped", TPM), lease=False) == "lease_required"
    assert left_of(ledger) == {"tpm": 90}
