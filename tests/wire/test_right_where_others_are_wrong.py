"""What published limiters get wrong, on every transport on which it can be asked."""

import time

from decision import I32_MAX, I64_MAX, NEVER, Decision, Limit
from polling import eventually, throughout
from transports import on_each


@on_each("throttle")
def test_burst_1_limits(transport, key):
    limit = Limit(1, 1, 3600)
    assert transport.throttle(key, limit) == Decision(True, 1, 0, 3600, 0)
    for _ in range(3):
        assert transport.throttle(key, limit) == Decision(False, 1, 0, 3600, 3600)


@on_each("throttle")
def test_a_key_left_idle_gives_no_more_than_its_burst(transport, key):
    limit = Limit(burst=3, count=20, period=1)
    assert transport.throttle(key, limit, 3).allowed

    def look():
        return transport.throttle(key, limit, 0).remaining

    eventually(lambda: look() == 3, "the bucket is full again", within_s=2)
    throughout(lambda: look() == 3, "a full bucket gets no fuller", for_s=0.2)

    start = time.monotonic()
    passed = sum(transport.throttle(key, limit).allowed for _ in range(10))
    refilled = (time.monotonic() - start) * limit.count / limit.period
    assert 3 <= passed <= 3 + refilled


@on_each("throttle")
def test_the_longest_period_with_a_huge_burst_answers(transport, key):
    largest = min(I64_MAX, transport.largest_number)
    for limit in (Limit(2_000_000_000, 1, largest), Limit(largest, largest, largest), Limit(largest, 1, largest)):
        first = transport.throttle(key + b"%d" % limit.count, limit)
        assert first.limit == min(limit.burst, transport.largest_reply)
        for quantity in (1, I32_MAX, largest):
            decision = transport.throttle(key, limit, min(quantity, largest))
            assert 0 <= decision.remaining <= decision.limit
            assert decision.allowed == (decision.retry_after == 0)
    assert transport.throttle(key + b"after", Limit(1, 1, 60)).allowed


@on_each("throttle")
def test_a_large_burst_with_a_slow_rate_keeps_its_rate(transport, key):
    """A million at once and then one a day: full again after 2,700 years, but a token is a day all the same."""
    limit = Limit(burst=1_000_000, count=1, period=86_400)
    assert transport.throttle(key, limit) == Decision(True, 1_000_000, 999_999, 86_400, 0)
    assert transport.throttle(key, limit) == Decision(True, 1_000_000, 999_998, 2 * 86_400, 0)


@on_each("throttle")
def test_quantity_0_is_a_look_that_tells_the_truth_and_writes_nothing(transport, key):
    limit = Limit(1, 1, 3600)
    for _ in range(3):
        assert transport.throttle(key, limit, 0) == Decision(True, 1, 1, 0, 0)
    assert transport.throttle(key, limit, 1).allowed
    for _ in range(3):
        assert transport.throttle(key, limit, 0) == Decision(True, 1, 0, 3600, 0)
    assert not transport.throttle(key, limit, 1).allowed


@on_each("throttle")
def test_a_quantity_above_the_burst_can_never_pass(transport, key):
    limit = Limit(5, 1, 60)
    assert transport.throttle(key, limit, 6) == Decision(False, 5, 5, 0, NEVER)
    assert transport.throttle(key, limit, 5) == Decision(True, 5, 0, 300, 0)
    assert transport.throttle(key, limit, 6) == Decision(False, 5, 0, 300, NEVER)


@on_each("throttle")
def test_a_refused_call_never_shows_a_wait_of_0(transport, key):
    """100 per second: every wait is under 10 ms, and told as 1 s."""
    limit = Limit(burst=2, count=100, period=1)
    refusals = []

    def refuse():
        decision = transport.throttle(key, limit, 2)
        refusals.extend([] if decision.allowed else [decision])
        return len(refusals) >= 20

    eventually(refuse, "20 refusals")
    assert {decision.retry_after for decision in refusals} == {1}


@on_each("throttle")
def test_an_omitted_quantity_means_1(transport, key):
    limit = Limit(2, 1, 3600)
    assert [transport.throttle(key, limit).remaining for _ in range(2)] == [1, 0]
    assert not transport.throttle(key, limit).allowed


@on_each("throttle", takes_any_bytes=True)
def test_a_key_that_is_not_utf_8_is_fine(transport, key):
    limit = Limit(1, 1, 3600)
    one, other = key + b"\xff\xfe\x00\r\n", key + b"\xff\xfd\x00\r\n"
    assert transport.throttle(one, limit).allowed
    assert transport.throttle(other, limit).allowed
    assert not transport.throttle(one, limit).allowed
