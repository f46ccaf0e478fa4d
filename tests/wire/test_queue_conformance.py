"""The Queue door: one script for every transport, same steps, same outcomes."""

import time

import pytest

from decision import Refused
from polling import eventually
from queue_clients import QUEUE_TRANSPORTS

AT_ONCE = {"backoff": {"initial_ms": 0}}


@pytest.fixture(params=list(QUEUE_TRANSPORTS))
def client(request, server):
    adapter = QUEUE_TRANSPORTS[request.param](server)
    yield adapter
    adapter.close()


@pytest.fixture(params=[name for name, adapter in QUEUE_TRANSPORTS.items() if hasattr(adapter, "extend")])
def settler(request, server):
    """A transport that holds leases: a command line has ended by then."""
    adapter = QUEUE_TRANSPORTS[request.param](server)
    yield adapter
    adapter.close()


@pytest.fixture
def name(request):
    """A queue name that no other test uses."""
    words = "".join(letter if letter.isalnum() else "-" for letter in request.node.name[5:])
    return f"{words[-80:]}-{time.monotonic_ns()}"


@pytest.fixture
def queue(client, name):
    client.create(name, **AT_ONCE)
    yield name
    client.delete(name)


def refusal(call, *args, **kwargs):
    with pytest.raises(Refused) as caught:
        call(*args, **kwargs)
    return caught.value.code


# Lifecycle


def test_a_message_arrives_as_it_was_sent(client, queue):
    headers = {"tenant": "acme", "region": "eu"}
    before = int(time.time() * 1000)
    id = client.enqueue(queue, b"\x00\xff any bytes", headers=headers, key="acme", weight=3, cost=7, throttle=["x"])
    (message,) = client.receive(queue)
    assert (message.id, message.payload, message.headers) == (id, b"\x00\xff any bytes", headers)
    assert (message.key, message.weight, message.cost, message.throttle) == ("acme", 3, 7, ["x"])
    assert (message.attempts, message.dead) == (0, None)
    assert before - 1000 <= message.enqueued_at <= int(time.time() * 1000) + 1000
    assert message.receipt.startswith(f"{id}-")


def test_an_ack_ends_it_and_a_second_one_is_refused(client, queue):
    client.enqueue(queue, b"x")
    (message,) = client.receive(queue)
    assert client.ack(queue, message.receipt) == [None]
    (again,) = client.ack(queue, message.receipt)
    assert again.code == "message_not_found"
    assert client.nack(queue, message.receipt)[0].code == "message_not_found"
    assert client.receive(queue) == []


def test_what_was_never_delivered_cannot_be_settled(client, queue):
    id = client.enqueue(queue, b"x")
    assert client.ack(queue, f"{id}-1")[0].code in ("message_not_found", "stale_receipt")
    assert client.nack(queue, "0192f3c4a1b20001-1")[0].code == "message_not_found"


def test_attempts_count_nacks_and_stale_receipts_are_refused(client, queue):
    client.enqueue(queue, b"x")
    receipts = []
    for attempts in range(3):
        (message,) = client.receive(queue)
        assert message.attempts == attempts
        receipts.append(message.receipt)
        assert client.nack(queue, message.receipt, error="no") == [None]
    for receipt in receipts:
        assert client.ack(queue, receipt)[0].code == "stale_receipt"


def test_a_release_is_no_attempt(settler, name):
    settler.create(name)
    settler.enqueue(name, b"x")
    (message,) = settler.receive(name)
    assert settler.release(name, message.receipt) == [None]
    (again,) = settler.receive(name)
    assert (again.id, again.attempts) == (message.id, 0)
    assert again.receipt != message.receipt
    settler.delete(name)


def test_a_batch_has_one_result_each_in_order(client, queue):
    missing = f"{queue}-missing"
    messages = [(queue, b"%d" % n, {}) for n in range(100)]
    messages.insert(50, (missing, b"lost", {}))
    results = client.enqueue_batch(messages)
    assert len(results) == 101
    assert results[50].code == "queue_not_found"
    ids = results[:50] + results[51:]
    assert len(set(ids)) == 100 and ids == sorted(ids)
    got = client.receive(queue, count=100)
    assert [message.payload for message in got] == [b"%d" % n for n in range(100)]
    assert [message.id for message in got] == ids
    settled = client.ack(queue, *[message.receipt for message in got], "0192f3c4a1b20001-1")
    assert settled[:100] == [None] * 100 and settled[100].code == "message_not_found"


def test_rubbish_is_no_receipt(settler, name):
    settler.create(name)
    assert settler.ack(name, "rubbish")[0].code == "invalid_receipt"
    settler.delete(name)


def test_a_queue_that_is_not_there(client, name):
    assert refusal(client.enqueue, name, b"x") == "queue_not_found"
    assert refusal(client.receive, name) == "queue_not_found"
    assert refusal(client.inspect, name) == "queue_not_found"
    assert refusal(client.delete, name) == "queue_not_found"
    assert refusal(client.purge, name) == "queue_not_found"


def test_a_receive_waits_for_what_comes(client, queue, server):
    other = QUEUE_TRANSPORTS["resp2"](server)
    started = time.monotonic()
    assert client.receive(queue, wait_ms=200) == []
    assert time.monotonic() - started >= 0.2
    other.enqueue(queue, b"late", delay_ms=200)
    (message,) = client.receive(queue, count=10, wait_ms=10_000)
    assert message.payload == b"late"
    other.close()


def test_a_lease_runs_out_and_can_be_extended(settler, name):
    settler.create(name, visibility_timeout_ms=300)
    for payload in (b"kept", b"dropped"):
        settler.enqueue(name, payload)
    kept, dropped = settler.receive(name, count=2)
    assert settler.extend(name, kept.receipt, 60_000) == [None]
    (again,) = eventually(lambda: settler.receive(name, wait_ms=500), "the lease ran out")
    assert (again.id, again.attempts) == (dropped.id, 1)
    assert settler.ack(name, dropped.receipt)[0].code == "stale_receipt"
    assert settler.ack(name, kept.receipt, again.receipt) == [None, None]
    settler.delete(name)


def test_delays(client, queue):
    client.enqueue(queue, b"later", delay_ms=300)
    client.enqueue(queue, b"at", at_ms=int(time.time() * 1000) + 600)
    assert client.receive(queue) == []
    assert client.inspect(queue)["stats"]["delayed"] == 2
    (first,) = client.receive(queue, wait_ms=5_000)
    (second,) = client.receive(queue, wait_ms=5_000)
    assert (first.payload, second.payload) == (b"later", b"at")


# Queues


def test_queues_are_made_listed_changed_and_deleted(client, name):
    report = client.create(name, visibility_timeout_ms=1234, max_depth=5)
    assert report["settings"]["visibility_timeout_ms"] == 1234
    assert report["settings"]["dead_letter_queue"] == f"{name}.dlq"
    names = [queue["name"] for queue in client.list()]
    assert name in names and f"{name}.dlq" in names and names == sorted(names)
    assert refusal(client.create, name) == "queue_exists"
    client.enqueue(name, b"x")
    changed = client.update(name, max_depth=None, weight=4)
    assert changed["settings"]["visibility_timeout_ms"] == 1234 and changed["settings"]["weight"] == 4
    assert changed["settings"].get("max_depth") is None
    assert changed["stats"]["depth"] == 1
    client.delete(name)
    assert name not in [queue["name"] for queue in client.list()]
    assert f"{name}.dlq" not in [queue["name"] for queue in client.list()]


@pytest.mark.parametrize(
    "settings",
    [{"weight": 0}, {"visiblity_timeout_ms": 5}, {"fairness_key": "{oops}"}, {"on_enqueue": "function on_enqueue( end"}],
    ids=["out of range", "unknown", "template", "script"],
)
def test_settings_that_cannot_be_are_refused_and_nothing_is_made(client, name, settings):
    assert refusal(client.create, name, **settings) in ("invalid_settings", "invalid_script")
    assert refusal(client.inspect, name) == "queue_not_found"


def test_a_name_that_cannot_be(client):
    for name in ["", "a b", "ä", "x" * 129]:
        assert refusal(client.create, name) == "invalid_name", name


def test_a_full_queue_refuses_and_loses_nothing(client, name):
    client.create(name, max_depth=2)
    results = client.enqueue_batch([(name, b"%d" % n, {}) for n in range(3)])
    assert results[2].code == "queue_full"
    (message,) = client.receive(name)
    client.ack(name, message.receipt)
    client.enqueue(name, b"room again")
    client.delete(name)


def test_pause_purge_resume(client, queue):
    client.enqueue_batch([(queue, b"x", {})] * 3)
    (flying,) = client.receive(queue)
    assert client.pause(queue)["stats"]["paused"]
    assert client.receive(queue) == []
    assert client.purge(queue) == 2
    assert not client.resume(queue)["stats"]["paused"]
    assert client.receive(queue) == []
    assert client.ack(queue, flying.receipt) == [None]


def test_stats_count_as_things_happen(client, queue):
    client.enqueue_batch([(queue, b"x", {})] * 3)
    (message,) = client.receive(queue)
    stats = client.inspect(queue)["stats"]
    assert (stats["depth"], stats["ready"], stats["in_flight"]) == (3, 2, 1)
    client.ack(queue, message.receipt)
    stats = client.inspect(queue)["stats"]
    assert (stats["depth"], stats["in_flight"], stats["enqueued"], stats["acked"]) == (2, 0, 3, 1)
    assert stats["oldest_age_ms"] >= 0 and stats["bytes"] > 0


# Dead letters


def test_dead_letters_keep_why_and_redrive_brings_them_back(client, name):
    client.create(name, max_attempts=2, **AT_ONCE)
    ids = client.enqueue_batch([(name, b"%d" % n, {}) for n in range(3)])
    for _ in range(2):
        got = client.receive(name, count=3)
        client.nack(name, *[message.receipt for message in got], error="boom")
    assert client.receive(name) == []
    dead_letters = f"{name}.dlq"
    (dead,) = client.receive(dead_letters)
    assert (dead.id, dead.attempts, dead.payload) == (ids[0], 2, b"0")
    assert (dead.dead["reason"], dead.dead["queue"], dead.dead["attempts"]) == ("boom", name, 2)
    assert client.redrive(dead_letters, 1) == 1
    assert client.redrive(dead_letters) == 1
    assert client.redrive(dead_letters) == 0, "what is in flight stays"
    back = client.receive(name, count=5)
    assert [(message.id, message.attempts, message.dead) for message in back] == [(id, 0, None) for id in ids[1:]]
    assert refusal(client.redrive, name) == "not_a_dead_letter_queue"
    assert refusal(client.redrive, f"{name}-missing") == "queue_not_found"
    client.delete(name)


# Limits


def test_a_throttled_message_waits_for_its_limit(client, queue, name):
    client.set_limit(name, 1, 1, 3600)
    client.enqueue(queue, b"1", throttle=[name], key="a")
    client.enqueue(queue, b"2", throttle=[name], key="a")
    client.enqueue(queue, b"3", key="b")
    got = client.receive(queue, count=10, wait_ms=100)
    got += client.receive(queue, count=10)
    assert sorted(message.payload for message in got) == [b"1", b"3"]
    assert client.inspect(queue)["stats"]["ready"] + client.inspect(queue)["stats"]["parked"] == 1
    assert not client.take_limit(name).allowed, "both doors draw on one limit"
    client.set_limit(name, 1, 1000, 1)
    (message,) = client.receive(queue, wait_ms=5_000)
    assert message.payload == b"2"
    client.del_limit(name)


def test_all_limits_or_none(client, queue, name):
    client.set_limit(f"{name}-wide", 10, 1, 3600)
    client.set_limit(f"{name}-narrow", 1, 1, 3600)
    for _ in range(3):
        client.enqueue(queue, b"x", charges={f"{name}-wide": 2, f"{name}-narrow": 1})
    assert len(client.receive(queue, count=10)) == 1
    assert client.get_limit(f"{name}-wide")["tokens"] == 8
    assert client.get_limit(f"{name}-narrow")["tokens"] == 0
    assert refusal(client.enqueue, queue, b"x", charges={f"{name}-wide": 11}) == "never_passes"


def test_limits_are_set_looked_at_and_removed(client, name):
    assert refusal(client.get_limit, name) == "limit_not_found"
    client.set_limit(name, 5, 10, 1)
    limit = client.get_limit(name)
    assert (limit["burst"], limit["count"], limit["tokens"]) == (5, 10, 5)
    assert name in [limit["key"] for limit in client.list_limits()]
    decision = client.take_limit(name, 3)
    assert (decision.allowed, decision.limit, decision.remaining) == (True, 5, 2)
    client.set_limit(name, 1, 1, 3600)
    assert client.get_limit(name)["tokens"] == 1, "tokens are kept, and cut to the new burst"
    client.del_limit(name)
    assert refusal(client.del_limit, name) == "limit_not_found"


def test_a_429_closes_the_key_for_both_doors(client, queue, name):
    client.set_limit(name, 100, 100, 1)
    for _ in range(2):
        client.enqueue(queue, b"x", throttle=[name])
    (message,) = client.receive(queue)
    assert client.nack(queue, message.receipt, delay_ms=0, close=(name, 400)) == [None]
    assert client.receive(queue) == []
    assert not client.take_limit(name).allowed
    (again,) = client.receive(queue, wait_ms=5_000)
    assert again.payload == b"x"
    client.del_limit(name)


# Settings, templates, hooks


def test_settings_that_hooks_read(client, name):
    client.set_setting(f"{name}.a", "1")
    client.set_setting(f"{name}.b", "2")
    assert client.get_setting(f"{name}.a") == "1"
    assert client.list_settings(f"{name}.") == {f"{name}.a": "1", f"{name}.b": "2"}
    client.del_setting(f"{name}.a")
    assert list(client.list_settings(f"{name}.")) == [f"{name}.b"]
    assert refusal(client.get_setting, f"{name}.a") == "setting_not_found"


def test_templates_fill_from_headers(client, name):
    client.create(name, fairness_key="t:{headers.tenant}", throttle_keys=["p:{headers.provider}"])
    client.enqueue(name, b"1", headers={"tenant": "acme", "provider": "aws"})
    client.enqueue(name, b"2", headers={"tenant": "acme"})
    client.enqueue(name, b"3")
    client.enqueue(name, b"4", headers={"tenant": "acme"}, key="mine")
    got = {message.payload: message for message in client.receive(name, count=10)}
    assert [got[b"%d" % n].key for n in (1, 2, 3, 4)] == ["t:acme", "t:acme", "default", "mine"]
    assert [got[b"%d" % n].throttle for n in (1, 2)] == [["p:aws"], []]
    client.delete(name)


def test_a_hook_chooses_and_reads_settings(client, name):
    client.set_setting(f"{name}.weight", "7")
    script = f"""
    function on_enqueue(msg)
      return {{ fairness_key = "t:" .. msg.headers.tenant, weight = tonumber(tidegate.get("{name}.weight")),
               throttle_keys = {{ "size:" .. msg.payload_size }}, cost = 2 }}
    end"""
    client.create(name, on_enqueue=script)
    client.enqueue(name, b"12345", headers={"tenant": "acme"})
    (message,) = client.receive(name)
    assert (message.key, message.weight, message.cost, message.throttle) == ("t:acme", 7, 2, ["size:5"])
    client.delete(name)


def test_a_hook_that_fails_never_fails_an_enqueue(client, name):
    client.create(name, on_enqueue="function on_enqueue(msg) while true do end end")
    for n in range(5):
        client.enqueue(name, b"%d" % n)
    got = client.receive(name, count=10)
    assert [(message.key, message.weight) for message in got] == [("default", 1)] * 5
    client.delete(name)


def test_a_failure_hook_decides(client, name):
    script = """
    function on_failure(msg)
      if msg.attempts >= 3 or msg.error == "fatal" then return { action = "dlq" } end
      return { action = "retry", delay_ms = 0 }
    end"""
    client.create(name, on_failure=script)
    client.enqueue(name, b"x")
    for attempts in range(3):
        (message,) = client.receive(name, wait_ms=2_000)
        assert message.attempts == attempts
        assert client.nack(name, message.receipt) == [None]
    (dead,) = client.receive(f"{name}.dlq", wait_ms=2_000)
    assert (dead.id, dead.attempts) == (message.id, 3)
    client.enqueue(name, b"y")
    (message,) = client.receive(name)
    client.nack(name, message.receipt, error="fatal")
    (dead,) = client.receive(f"{name}.dlq", wait_ms=2_000)
    assert (dead.payload, dead.attempts) == (b"y", 1)
    client.delete(name)


def test_namespaces_are_worlds_of_their_own(server, client, name):
    other = type(client)(server, f"ns-{abs(hash(name)) % 10**9}")
    client.create(name)
    assert refusal(other.enqueue, name, b"x") == "queue_not_found"
    other.create(name)
    other.enqueue(name, b"theirs")
    assert client.receive(name) == []
    other.set_limit(name, 1, 1, 1)
    assert refusal(client.get_limit, name) == "limit_not_found"
    other.delete(name)
    client.delete(name)
    other.close()


# Streams


@pytest.fixture(params=[name for name, adapter in QUEUE_TRANSPORTS.items() if adapter.streams])
def streamer(request, server):
    adapter = QUEUE_TRANSPORTS[request.param](server)
    yield adapter
    adapter.close()


@pytest.fixture
def stream_queue(streamer, name):
    streamer.create(name, **AT_ONCE)
    yield name
    streamer.delete(name)


def test_a_stream_is_served_by_credit(streamer, stream_queue):
    streamer.enqueue_batch([(stream_queue, b"%d" % n, {}) for n in range(5)])
    stream = streamer.consume(stream_queue, 2)
    assert [stream.next().payload for _ in range(2)] == [b"0", b"1"]
    assert stream.next(0.2) is None, "no credit, no message"
    stream.credit(2)
    assert [stream.next().payload for _ in range(2)] == [b"2", b"3"]
    stream.close()


def test_a_stream_that_ends_gives_its_leases_back_at_once(streamer, stream_queue):
    streamer.enqueue(stream_queue, b"x")
    stream = streamer.consume(stream_queue, 10)
    message = stream.next()
    stream.close()
    (again,) = streamer.receive(stream_queue, wait_ms=5_000)
    assert (again.id, again.attempts) == (message.id, 0)
    eventually(lambda: streamer.inspect(stream_queue)["stats"]["consumers"] == 0, "the consumer is gone")


def test_a_nacked_message_comes_again_on_the_stream(streamer, stream_queue):
    stream = streamer.consume(stream_queue, 10)
    id = streamer.enqueue(stream_queue, b"x")
    for attempts in range(3):
        message = stream.next()
        assert (message.id, message.attempts) == (id, attempts)
        assert streamer.nack(stream_queue, message.receipt, delay_ms=0) == [None]
    stream.ack(stream_queue, stream.next().receipt)
    assert stream.next(0.2) is None
    stream.close()


def test_two_streams_share(streamer, stream_queue):
    streams = [streamer.consume(stream_queue, 10) for _ in range(2)]
    streamer.enqueue_batch([(stream_queue, b"x", {})] * 10)
    counts = []
    for stream in streams:
        got = [stream.next() for _ in range(5)]
        counts.append(len({message.id for message in got}))
    assert counts == [5, 5]
    for stream in streams:
        stream.close()


def test_a_stream_of_a_queue_that_is_not_there_is_refused(streamer, name):
    assert refusal(streamer.consume, name, 1) == "queue_not_found"


def test_a_stream_whose_queue_is_deleted_is_told(streamer, name):
    streamer.create(name, **AT_ONCE)
    stream = streamer.consume(name, 1)
    streamer.delete(name)
    assert refusal(stream.next) == "queue_not_found"
    stream.close()


def test_messages_of_one_key_come_in_order(streamer, stream_queue):
    streamer.enqueue_batch([(stream_queue, b"%d" % n, {}) for n in range(200)])
    stream = streamer.consume(stream_queue, 200)
    assert [stream.next().payload for _ in range(200)] == [b"%d" % n for n in range(200)]
    stream.close()
