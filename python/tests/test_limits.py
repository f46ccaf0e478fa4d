"""Limits as text and as documents of the server."""

import pytest

from tidegate import Limit
from tidegate.errors import UnexpectedReply
from tidegate.protocol.limit import limit_from


@pytest.mark.parametrize(
    "limit, text",
    [
        (Limit.per_minute("tpm", 10_000), "tpm=10000/minute"),
        (Limit.per_minute("tpm", 10_000, burst=20_000, soft=True), "tpm=10000/minute,burst=20000,soft"),
        (Limit.per_minute("tpm", 10, burst=10), "tpm=10/minute"),
        (Limit.per("x", 5, 90), "x=5/90s"),
        (Limit.per("x", 5, 0.25), "x=5/250000000ns"),
        (Limit.per_second("x", 5), "x=5/second"),
        (Limit.per_hour("x", 5), "x=5/hour"),
        (Limit.per_day("x", 5), "x=5/day"),
        (Limit.concurrency("inflight", 8), "inflight=8"),
        (Limit.concurrency("inflight", 8, soft=True), "inflight=8,soft"),
    ],
    ids=str,
)
def test_text(limit, text):
    assert str(limit) == text
    assert Limit.parse(text) == limit


@pytest.mark.parametrize(
    "text, same", [("a=1/60s", "a=1/minute"), ("a=2/15m", "a=2/900s"), ("a=1/s,burst=1", "a=1/second")]
)
def test_other_ways_to_say_it(text, same):
    assert str(Limit.parse(text)) == same


@pytest.mark.parametrize("text", ["tpm", "tpm=x/minute", "tpm=5/fortnight", "tpm=5/minute,hard", "=5/minute"])
def test_no_limit(text):
    with pytest.raises(ValueError):
        Limit.parse(text)


@pytest.mark.parametrize(
    "document, limit",
    [
        ({"name": "tpm", "amount": 10, "period": "minute"}, Limit.per_minute("tpm", 10)),
        ({"name": "tpm", "amount": 10, "period": 90, "burst": 20}, Limit.per("tpm", 10, 90, burst=20)),
        ({"name": "tpm", "amount": 10, "period_ns": 250_000_000}, Limit.per("tpm", 10, 0.25)),
        ({"name": "inflight", "concurrency": 8, "soft": True}, Limit.concurrency("inflight", 8, soft=True)),
        ("tpm=10/minute", Limit.per_minute("tpm", 10)),
    ],
)
def test_documents(document, limit):
    assert limit_from(document) == limit


def test_a_document_that_is_none():
    with pytest.raises(UnexpectedReply):
        limit_from({"name": "tpm"})


def test_capacity():
    assert Limit.per_minute("tpm", 10, burst=3).capacity == 3
    assert Limit.concurrency("x", 8).capacity == 8 and Limit.concurrency("x", 8).is_concurrency
