"""One script for every transport: same steps, same decisions."""

import pytest

from clients import TRANSPORTS
from decision import NEVER, Decision, Limit, Refused
from server import Server
from transports import names, on_each
from vectors import GCRA

NS_PER_S = 1_000_000_000


def binding_scenarios():
    """Those that need no passing of time, with a textbook answer to every step."""
    for scenario in GCRA["throttlecrab"]:
        if all(step["t_ns"] == 0 and step.get("expect_textbook") for step in scenario["steps"]):
            yield pytest.param(scenario["steps"], id=scenario["id"])


def expected_decision(textbook):
    """The textbook's waits in nanoseconds as waits on the wire: rounded up to seconds."""
    retry_ns = textbook["retry_after_ns"]
    return Decision(
        textbook["allowed"],
        textbook["limit"],
        textbook["remaining"],
        -(-textbook["reset_after_ns"] // NS_PER_S),
        NEVER if retry_ns == NEVER else -(-retry_ns // NS_PER_S),
    )


@pytest.mark.parametrize("steps", list(binding_scenarios()))
@on_each("throttle")
def test_the_published_vectors_hold(transport, key, steps):
    for step in steps:
        limit = Limit(step["max_burst"], step["count_per_period"], step["period"])
        quantity = min(step["quantity"], transport.largest_number)
        got = transport.throttle(key + step["key"].encode(), limit, quantity)
        assert got == expected_decision(step["expect_textbook"])


def test_every_transport_asks_the_same_bucket(server, key):
    limit = Limit(len(TRANSPORTS) + 1, 1, 3600)
    left = len(TRANSPORTS)
    for adapter in TRANSPORTS.values():
        transport = adapter(server)
        decision = transport.throttle(key, limit)
        transport.close()
        assert (decision.allowed, decision.remaining) == (True, left)
        left -= 1


@on_each("peek")
def test_a_peek_tells_what_a_throttle_would_answer_and_takes_nothing(transport, key):
    limit = Limit(3, 3, 3600)
    assert transport.peek(key, limit, 2) == transport.peek(key, limit, 2)
    assert transport.throttle(key, limit, 2).allowed
    assert transport.peek(key, limit).allowed
    refused = transport.peek(key, limit, 2)
    assert refused == transport.throttle(key, limit, 2)
    assert (refused.allowed, refused.remaining, refused.retry_after) == (False, 1, 1200)


@on_each("reset")
def test_a_reset_key_has_its_full_burst_again(transport, key):
    limit = Limit(2, 1, 3600)
    one, other = key + b"1", key + b"2"
    for taken in (one, other):
        assert transport.throttle(taken, limit, 2).remaining == 0
    assert transport.reset(one) in (1, None)
    assert transport.peek(one, limit).remaining == 2
    assert transport.peek(other, limit).remaining == 0
    assert transport.reset(one) in (0, None)


@pytest.mark.parametrize("name", names("clear"))
def test_clear_forgets_every_key_of_its_namespace_only(server, key, name):
    limit = Limit(2, 1, 3600)
    here, there = (TRANSPORTS[name](server, f"{name}-{place}") for place in ("here", "there"))
    for transport in (here, there):
        assert transport.throttle(key, limit, 2).allowed
    assert here.throttle(key + b"2", limit).allowed
    assert here.clear() in (2, None)
    assert here.peek(key, limit).remaining == 2
    assert there.peek(key, limit).remaining == 0
    here.close()
    there.close()


@pytest.mark.parametrize("name", TRANSPORTS)
def test_the_same_key_in_two_namespaces_is_two_keys(server, key, name):
    limit = Limit(1, 1, 3600)
    for namespace in (None, f"{name}-other"):
        transport = TRANSPORTS[name](server, namespace)
        assert transport.throttle(key, limit).allowed
        assert not transport.throttle(key, limit).allowed
        transport.close()


BAD_LIMITS = [Limit(0, 1, 1), Limit(1, 0, 1), Limit(1, 1, 0), Limit(-5, 1, 1), Limit(1, -1, 1), Limit(1, 1, -60)]


@pytest.mark.parametrize("limit", BAD_LIMITS, ids=lambda limit: str(limit.parts()))
@on_each("throttle")
def test_a_limit_that_makes_no_sense_is_refused(transport, key, limit):
    with pytest.raises(Refused) as refused:
        transport.throttle(key, limit)
    assert refused.value.code == "invalid_limit"


@on_each("throttle")
def test_a_negative_quantity_is_refused(transport, key):
    limit = Limit(5, 10, 3600)
    with pytest.raises(Refused) as refused:
        transport.throttle(key, limit, -1)
    assert refused.value.code == "invalid_quantity"
    assert transport.throttle(key, limit, 0).remaining == 5


@on_each("throttle")
def test_a_call_without_a_limit_is_refused_where_there_is_no_default(transport, key):
    with pytest.raises(Refused) as refused:
        transport.throttle(key)
    assert refused.value.code == "limit_required"


@pytest.fixture(scope="module")
def server_with_default_limit(tmp_path_factory):
    flags = ("--limits-default-burst=4", "--limits-default-rate=1", "--limits-default-period=3600")
    server = Server(tmp_path_factory.mktemp("defaults"), *flags)
    yield server
    assert server.stop() == 0, server.log()


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_call_without_a_limit_has_the_default_one(server_with_default_limit, key, name):
    transport = TRANSPORTS[name](server_with_default_limit)
    assert transport.throttle(key) == Decision(True, 4, 3, 3600, 0)
    assert transport.throttle(key, Limit(10, 1, 3600)).limit == 10
    transport.close()


@on_each("throttle")
def test_an_empty_key_is_a_key(transport):
    assert transport.throttle(b"", Limit(100, 100, 1)).limit == 100


@on_each("throttle")
def test_a_key_may_have_1024_bytes_and_no_more(transport, key):
    limit = Limit(2, 1, 3600)
    longest = key.ljust(1024, b"x")
    assert transport.throttle(longest, limit).remaining == 1
    with pytest.raises(Refused) as refused:
        transport.throttle(longest + b"x", limit)
    assert refused.value.code == "key_too_long"
    assert transport.throttle(longest, limit).remaining == 0
