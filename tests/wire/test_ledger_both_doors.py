"""One budget behind both doors: messages that charge entities, on every transport."""

import pytest

import ledger_figures
from deliveries import received
from ledger_clients import LEDGER_TRANSPORTS, HttpLedger
from ledger_refusal import refusal, refused
from polling import eventually

CHARGE = ("acme", "gpt-4", {"tpm": 30})


@pytest.fixture
def queue(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.create("q", backoff={"initial_ms": 0})
    yield "q"


@pytest.fixture(params=[name for name, adapter in LEDGER_TRANSPORTS.items() if hasattr(adapter, "extend")])
def settler(request, server, namespace):
    """A transport that holds leases of messages: a command line has ended by then."""
    adapter = LEDGER_TRANSPORTS[request.param](server, namespace)
    adapter.set_limits("tpm=100/day", "inflight=5")
    adapter.create("q", backoff={"initial_ms": 0}, visibility_timeout_ms=400)
    yield adapter
    adapter.close()


def left(ledger, entity="acme", limit="tpm"):
    return ledger_figures.left(ledger, entity, "gpt-4", limit)


def test_a_delivery_acquires_and_tells_what_it_took(ledger, queue):
    ledger.enqueue(queue, b"x", entity_charges=[CHARGE, ("other", "gpt-4", {"tpm": 5})])
    assert left(ledger) == 100, "nothing is taken before it is delivered"
    (message,) = ledger.receive(queue)
    assert sorted(message.charges) == [("acme", "gpt-4", "tpm", 30), ("other", "gpt-4", "tpm", 5)]
    assert (left(ledger), left(ledger, "other")) == (70, 95)
    assert ledger.ack(queue, message.receipt) == [None]
    assert (left(ledger), left(ledger, "other")) == (70, 95), "without a cost it stays as taken"


@pytest.mark.parametrize("cost, then", [({"tpm": 10}, 90), ({"tpm": 80}, 20), ({"tpm": 150}, -50)])
def test_an_ack_settles_the_real_cost(ledger, queue, cost, then):
    ledger.enqueue(queue, b"x", entity_charges=[CHARGE])
    (message,) = ledger.receive(queue)
    assert ledger.ack(queue, message.receipt, cost=cost) == [None]
    assert left(ledger) == then
    (total,) = ledger.usage(entity="acme", window="hour")["totals"]
    assert (total["amount"], total["events"]) == (cost["tpm"], 1)


def test_a_nack_gives_back_what_it_says(ledger, queue):
    ledger.enqueue(queue, b"x", entity_charges=[CHARGE])
    (message,) = ledger.receive(queue)
    assert ledger.nack(queue, message.receipt, cost={"tpm": 0}) == [None]
    assert left(ledger) == 100
    (again,) = ledger.receive(queue, wait_ms=5_000)
    assert again.attempts == 1 and left(ledger) == 70
    assert ledger.nack(queue, again.receipt) == [None]
    assert left(ledger) == 70, "without a cost it stays as taken"
    (last,) = ledger.receive(queue, wait_ms=5_000)
    assert ledger.nack(queue, last.receipt, cost={"tpm": 20}) == [None]
    assert left(ledger) == 50


def test_a_release_gives_all_back_and_a_timeout_only_slots(settler):
    settler.enqueue("q", b"x", entity_charges=[CHARGE])
    (message,) = settler.receive("q")
    assert (left(settler), left(settler, limit="inflight")) == (70, 4)
    assert settler.release("q", message.receipt) == [None]
    assert (left(settler), left(settler, limit="inflight")) == (100, 5)
    settler.receive("q")
    eventually(lambda: left(settler, limit="inflight") == 5, "the lease of the message ran out")
    assert left(settler) == 70


def test_a_message_waits_until_its_charge_can_be_paid(ledger, queue):
    lease = ledger.acquire(("acme", "gpt-4", {"tpm": 80})).lease
    ledger.enqueue(queue, b"late", entity_charges=[CHARGE])
    ledger.enqueue(queue, b"other", key="b", entity_charges=[("other", "gpt-4", {"tpm": 30})])
    (message,) = ledger.receive(queue)
    assert message.payload == b"other"
    assert ledger.receive(queue) == []
    ledger.settle_lease(lease, {"tpm": 10})
    (message,) = ledger.receive(queue, wait_ms=5_000)
    assert message.payload == b"late" and left(ledger) == 60


def test_what_could_never_be_delivered_is_refused_at_once(ledger, queue):
    above = refused(ledger.enqueue, queue, b"x", entity_charges=[("acme", "gpt-4", {"tpm": 101})])
    assert above.code == "never_passes" and "101" in above.text
    unknown = refused(ledger.enqueue, queue, b"x", entity_charges=[("acme", "gpt-4", {"rpm": 1})])
    assert unknown.code == "unknown_limit" and "tpm" in unknown.text
    ledger.remove_limits()
    assert refusal(ledger.enqueue, queue, b"x", entity_charges=[CHARGE]) == "no_limits"
    assert refusal(ledger.enqueue, queue, b"x", entity_charges=[("a b", "gpt-4", {"tpm": 1})]) == "invalid_name"
    assert ledger.inspect(queue)["stats"]["depth"] == 0


def test_parents_pay_for_messages_too(ledger, queue):
    ledger.create_entity("org")
    ledger.create_entity("key", parent="org", cascade=True)
    for n in range(4):
        ledger.enqueue(queue, b"%d" % n, entity_charges=[("key", "gpt-4", {"tpm": 25})])
    ledger.acquire(("org", "gpt-4", {"tpm": 50}))
    assert len(received(ledger, queue, 2)) == 2, "the parent has paid for two"
    assert (left(ledger, "key"), left(ledger, "org")) == (50, 0)
    ledger.top_up("org", "gpt-4", {"tpm": 25})
    assert len(ledger.receive(queue, wait_ms=5_000)) == 1


def test_caps_hold_over_leases_and_deliveries_together(ledger):
    ledger.set_limits("inflight=3", resource="gpt-4")
    ledger.create("q")
    for n in range(5):
        ledger.enqueue("q", b"%d" % n, entity_charges=[("acme", "gpt-4", {"inflight": 1})])
    lease = ledger.acquire(("acme", "gpt-4", {})).lease
    got = received(ledger, "q", 2)
    assert not ledger.acquire(("acme", "gpt-4", {})).granted
    ledger.release_lease(lease)
    (third,) = ledger.receive("q", wait_ms=5_000)
    assert not ledger.acquire(("acme", "gpt-4", {})).granted
    assert ledger.ack("q", third.receipt, got[0].receipt) == [None, None]
    more = ledger.receive("q", wait_ms=5_000) + ledger.receive("q", wait_ms=5_000)
    assert len(more) == 2 and not ledger.acquire(("acme", "gpt-4", {})).granted


def test_a_disabled_entity_keeps_its_messages_waiting(ledger, queue):
    ledger.set_limits(entity="acme", mode="disabled")
    ledger.enqueue(queue, b"x", entity_charges=[CHARGE])
    assert ledger.receive(queue) == []
    ledger.set_limits(entity="acme", mode=None)
    (message,) = ledger.receive(queue, wait_ms=5_000)
    assert message.payload == b"x"


def test_a_raised_limit_lets_waiting_messages_go(ledger, queue):
    ledger.acquire(("acme", "gpt-4", {"tpm": 100}))
    ledger.enqueue(queue, b"x", entity_charges=[CHARGE])
    assert ledger.receive(queue) == []
    ledger.set_limits("tpm=100000/second,burst=100")
    (message,) = ledger.receive(queue, wait_ms=5_000)
    assert message.payload == b"x"


def test_throttle_keys_and_entities_in_one_message(ledger, queue, namespace):
    ledger.set_limit("provider", 1, 1, 3600)
    for n in range(2):
        ledger.enqueue(queue, b"%d" % n, throttle=["provider"], entity_charges=[CHARGE])
    (message,) = received(ledger, queue)
    assert (message.throttle, message.charges) == (["provider"], [("acme", "gpt-4", "tpm", 30)])
    assert left(ledger) == 70, "all or none"


def test_a_throttle_key_is_an_entity_with_a_rate(ledger):
    """One bucket, whichever name is used."""
    ledger.set_limit("provider", 10, 1, 3600)
    assert ledger.take_limit("provider", 4).remaining == 6
    assert ledger.acquire(("provider", "_default_", {"rate": 5})).available() == {("provider", "rate"): 1}
    assert not ledger.take_limit("provider", 2).allowed


def test_an_entitys_weight_is_its_flows(ledger):
    """The message's own, then the entity's, then 1."""
    ledger.create_entity("big", weight=7)
    ledger.create_entity("said", weight=7)
    ledger.create("q")
    for key, weight in (("big", None), ("small", None), ("said", 2)):
        ledger.enqueue("q", b"x", key=key, weight=weight)
    weights = {flow["fairness_key"]: flow["weight"] for flow in ledger.flows("q")}
    assert weights == {"big": 7, "small": 1, "said": 2}
    ledger.update_entity("big", weight=4)
    ledger.enqueue("q", b"x", key="big")
    weights = {flow["fairness_key"]: flow["weight"] for flow in ledger.flows("q")}
    assert weights == {"big": 4, "small": 1, "said": 2}


def test_a_hook_says_before_the_entity_does(ledger):
    ledger.create_entity("big", weight=7)
    script = 'function on_enqueue(msg) if msg.headers.w then return { weight = tonumber(msg.headers.w) } end end'
    ledger.create("q", fairness_key="{headers.tenant}", on_enqueue=script)
    ledger.enqueue("q", b"x", headers={"tenant": "big", "w": "5"})
    assert [flow["weight"] for flow in ledger.flows("q")] == [5]
    ledger.enqueue("q", b"x", headers={"tenant": "big"})
    assert [flow["weight"] for flow in ledger.flows("q")] == [7]


def test_a_stream_that_ends_gives_back_what_its_messages_took(server, namespace):
    for name, adapter in LEDGER_TRANSPORTS.items():
        if not adapter.streams:
            continue
        ledger = adapter(server, f"{namespace}-{name}")
        ledger.set_limits("tpm=100/day", "inflight=5")
        ledger.create("q")
        ledger.enqueue("q", b"x", entity_charges=[CHARGE])
        stream = ledger.consume("q", 1)
        message = stream.next()
        assert message.charges == [("acme", "gpt-4", "tpm", 30)]
        assert (left(ledger), left(ledger, limit="inflight")) == (70, 4)
        ledger.pause("q")
        stream.close()
        eventually(lambda: left(ledger) == 100 and left(ledger, limit="inflight") == 5, "all came back")
        ledger.close()


# HTTP says where a caller stands


def test_a_denial_over_http_is_429_with_when_and_how_much(server, namespace):
    ledger = HttpLedger(server, namespace)
    ledger.set_limits("tpm=3600/hour,burst=100", "rpm=60/minute")
    body = {"entity": "acme", "resource": "gpt-4", "cost": {"tpm": 100, "rpm": 1}}
    granted = ledger.http.post("/acquire", json=body)
    assert granted.status_code == 200 and "retry-after" not in granted.headers
    assert granted.headers["ratelimit"].startswith('"tpm";r=0;t=')
    policies = granted.headers["ratelimit-policy"].split(", ")
    assert sorted(policies) == ['"rpm";q=60;w=60', '"tpm";q=100;w=100'], policies
    denied = ledger.http.post("/acquire", json=body)
    assert denied.status_code == 429
    assert 90 <= int(denied.headers["retry-after"]) <= 100
    assert denied.headers["ratelimit"].startswith('"tpm";r=')
    document = denied.json()
    assert document["granted"] is False and document["lease"] is None
    assert int(denied.headers["retry-after"]) * 1000 >= document["retry_after_ms"]
    # Nobody knows when a slot is given back.
    ledger.set_limits("inflight=1", resource="capped")
    slot = {"entity": "acme", "resource": "capped"}
    assert ledger.http.post("/acquire", json=slot).status_code == 200
    denied = ledger.http.post("/acquire", json=slot)
    assert denied.status_code == 429 and denied.json()["retry_after_ms"] is None
    assert denied.headers["retry-after"] == "1", "ask again, and not at once"
    assert denied.headers["ratelimit"] == '"inflight";r=0'
    ledger.close()
