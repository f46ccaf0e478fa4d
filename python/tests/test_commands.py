"""What is sent, as data: an operation and its words."""

from datetime import datetime, timedelta, timezone

import pytest

from tidegate import Charge, Limit, Scope
from tidegate.protocol import bucket, consume, entity, history, key, lease, message, namespace, queue, scope

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)


def shown(word):
    return word.decode() if isinstance(word, bytes) else str(word)


@pytest.mark.parametrize(
    "command, line",
    [
        (lease.acquire("acme", "gpt-4", {"rpm": 1, "tpm": 500}), "ACQUIRE acme gpt-4 rpm 1 tpm 500"),
        (lease.acquire("acme"), "ACQUIRE acme _default_"),
        (
            lease.acquire(charges=[Charge("acme", "gpt-4", {"tpm": 5}), Charge("eu", "gpt-4", {"tpm": 5, "rpm": 1})]),
            "ACQUIRE acme gpt-4 tpm 5 AND eu gpt-4 tpm 5 rpm 1",
        ),
        (
            lease.acquire("a", "r", {"x": 1}, wait=2.0, ttl=timedelta(minutes=1), on_expiry="give_back"),
            "ACQUIRE a r x 1 WAIT 2000 TTL 60000 EXPIRY give_back",
        ),
        (
            lease.acquire("a", "r", {"x": 1}, limits=[Limit.per_second("x", 5), "y=3"], on_unavailable="allow"),
            "ACQUIRE a r x 1 LIMIT x=5/second LIMIT y=3 UNAVAILABLE allow",
        ),
        (lease.take("a", "r", {"x": 1}), "ACQUIRE a r x 1 NOLEASE"),
        (lease.adjust("0f", {"tpm": -5, "rpm": 1}), "LEASE ADJUST 0f tpm -5 rpm 1"),
        (lease.settle("0f"), "LEASE SETTLE 0f"),
        (lease.settle("0f", {"tpm": 812}), "LEASE SETTLE 0f tpm 812"),
        (lease.release("0f"), "LEASE RELEASE 0f"),
        (lease.extend("0f", 60), "LEASE EXTEND 0f 60000"),
        (lease.get("0f"), "LEASE GET 0f"),
        (lease.page("acme", count=2, after="0e"), "LEASE LIST acme COUNT 2 AFTER 0e"),
        (lease.available("a", "r", {"x": 3}), "AVAILABLE a r x 3"),
        (lease.why("a", "r", {"x": 3}), "WHY ACQUIRE a r x 3"),
        (key.throttle("user:42", burst=10, count=60, period=60), "THROTTLE user:42 10 60 60"),
        (key.throttle("k", burst=10, count=60, period=60, quantity=2), "THROTTLE k 10 60 60 2"),
        (key.throttle("k"), "THROTTLE k"),
        (key.peek("k", burst=1, count=1, period=1), "THROTTLE.PEEK k 1 1 1"),
        (key.forget("a", "b"), "THROTTLE.RESET a b"),
        (key.set_key("smtp", burst=10, count=100, period=1), "LIMIT SET smtp 10 100 1"),
        (key.take_key("smtp", 2), "LIMIT TAKE smtp 2"),
        (key.close_key("smtp", 30), "LIMIT CLOSE smtp 30000"),
        (entity.create("a", parent="p", cascade=True), 'ENTITY CREATE a {"parent":"p","cascade":true}'),
        (entity.update("a", name=None, version=3), 'ENTITY UPDATE a {"name":null} VERSION 3'),
        (entity.move("a", None), "ENTITY MOVE a -"),
        (entity.move("a", "b"), "ENTITY MOVE a b"),
        (entity.children("a", after="b"), "ENTITY CHILDREN a AFTER b"),
        (entity.put([{"id": "a"}, {"id": "b"}]), 'ENTITY PUT [{"id":"a"},{"id":"b"}]'),
        (scope.put([Limit.per_minute("tpm", 10)]), 'LIMITS SET SYSTEM {"limits":["tpm=10/minute"]}'),
        (scope.put([], resource="gpt-4", cascade=None), 'LIMITS SET RESOURCE gpt-4 {"limits":[],"cascade":null}'),
        (scope.put(entity="a", mode="disabled"), 'LIMITS SET ENTITY a {"mode":"disabled"}'),
        (scope.put(["x=1"], entity="a", resource="r"), 'LIMITS SET ENTITY a r {"limits":["x=1"]}'),
        (scope.put(lease_ttl=90), 'LIMITS SET SYSTEM {"lease_ttl_ms":90000}'),
        (scope.get(), "LIMITS GET SYSTEM"),
        (scope.delete(entity="a"), "LIMITS DEL ENTITY a"),
        (scope.resolve("a", "r"), "LIMITS RESOLVE a r"),
        (scope.custom(), "LIMITS CUSTOM"),
        (scope.custom("r", count=2, after=Scope("a", "r")), "LIMITS CUSTOM r COUNT 2 AFTER a r"),
        (scope.plan({"system": {}}), 'LIMITS PLAN {"system":{}}'),
        (bucket.reset("a", "r", idempotency_key="k"), "BUCKET RESET a r KEY k"),
        (bucket.top_up("a", "r", {"tpm": 5}), "BUCKET TOPUP a r tpm 5"),
        (bucket.close("a", "r", 0.25), "BUCKET CLOSE a r 250"),
        (bucket.capacity("r"), "CAPACITY r"),
        (
            history.usage(window="hour", entity="a", since=NOON, until=NOON.timestamp() + 1),
            'USAGE {"entity":"a","window":"hour","from_ms":1767355200000,"to_ms":1767355201000}',
        ),
        (history.audit(subject="$SYSTEM", max=5), 'AUDIT {"subject":"$SYSTEM","max":5}'),
        (namespace.recover("n"), "NAMESPACE RECOVER n"),
        (queue.create("q", max_attempts=5), 'QUEUE CREATE q {"max_attempts":5}'),
        (queue.redrive("q.dlq", 3), "QUEUE REDRIVE q.dlq COUNT 3"),
        (
            message.enqueue("q", "body", fairness_key="t", weight=2, cost=3, delay=0.0005, headers={"n": "v"}),
            "ENQUEUE q body KEY t WEIGHT 2 COST 3 DELAY 1 HEADER n v",
        ),
        (
            message.enqueue("q", b"x", at=NOON, throttle_keys=["smtp"], throttle_charges={"k": 2}),
            "ENQUEUE q x AT 1767355200000 THROTTLE smtp CHARGE k 2",
        ),
        (
            message.enqueue("q", b"x", charges=[Charge("acme", "gpt-4", {"rpm": 1, "tpm": 5})]),
            "ENQUEUE q x ENTITY acme gpt-4 rpm 1 ENTITY acme gpt-4 tpm 5",
        ),
        (message.receive("q", count=5, wait=20), "RECEIVE q COUNT 5 WAIT 20000"),
        (message.ack("q", "r-1"), "ACK q r-1"),
        (message.ack("q", "r-1", {"tpm": 812}), "ACK q r-1 COST tpm 812"),
        (
            message.nack("q", "r-1", delay=5, error="no luck", close=("p", 30), cost={"tpm": 0}),
            "NACK q r-1 DELAY 5000 ERROR no luck CLOSE p 30000 COST tpm 0",
        ),
        (message.extend("q", "r-1", 30), "EXTEND q r-1 30000"),
        (message.release("q", "r-1", "s-1"), "RELEASE q r-1 s-1"),
        (message.why("q", "0f"), "WHY MESSAGE q 0f"),
        (message.why_flow("q", "t"), "WHY FLOW q t"),
        (consume.subscribe("q", 100), "CONSUME q CREDIT 100"),
        (consume.more(1, 25), "CREDIT 1 25"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words(command, line):
    assert " ".join(map(shown, command.words)) == line


def test_a_call_that_may_wait_is_waited_for():
    assert lease.acquire("a", wait=2.5).patience == 2.5
    assert message.receive("q", wait=20).patience == 20
    assert lease.acquire("a").patience == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: lease.acquire(),
        lambda: lease.acquire(charges=[]),
        lambda: lease.acquire("a", charges=[Charge("b")]),
        lambda: key.throttle("k", burst=1),
        lambda: key.throttle("k", quantity=1),
        lambda: consume.Credit(0),
    ],
)
def test_what_makes_no_sense_is_told_before_it_is_sent(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_bytes_that_are_no_text_come_back_as_they_were():
    odd = b"\xff tenant"
    assert message.enqueue("q", b"", fairness_key=odd).words[4] == odd
    from tidegate.protocol import reply

    assert message.enqueue("q", b"", fairness_key=reply.text(odd)).words[4] == odd


def test_credit_is_told_in_batches_and_none_is_lost():
    credit = consume.Credit(8)
    assert [credit.give_back() for _ in range(5)] == [0, 2, 0, 2, 0]
    assert [consume.Credit(1).give_back() for _ in range(2)] == [1, 1]
