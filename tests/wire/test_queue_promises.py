"""What the Queue door promises, measured from outside: shares, rates, waits, and what a crash leaves."""

import collections
import queue
import threading
import time

import pytest

from decision import Refused
from polling import eventually
from queue_clients import RespQueues

WEIGHTS = {f"w{n}": n for n in range(1, 7)}


@pytest.fixture
def client(server):
    adapter = RespQueues(server)
    yield adapter
    adapter.close()


@pytest.fixture
def name(request):
    return f"{request.node.name[5:60]}-{time.monotonic_ns()}"


def fill(client, queue, key, count, weight=None, **fields):
    for start in range(0, count, 1000):
        batch = [(queue, b"x", {"key": key, "weight": weight, **fields})] * min(1000, count - start)
        assert not any(isinstance(result, Refused) for result in client.enqueue_batch(batch))


def drain(client, queue, count, seen, batch=100):
    """Receives and acks until so many have come."""
    got = 0
    while got < count:
        messages = client.receive(queue, count=min(batch, count - got), wait_ms=5_000)
        assert messages, f"{got} of {count} came"
        client.ack(queue, *[message.receipt for message in messages])
        seen.update(message.key for message in messages)
        got += len(messages)


def test_shares_are_within_a_percent_of_weights(client, server, name):
    """6 keys over 10,000 messages, with consumers attached throughout."""
    client.create(name)
    total = sum(WEIGHTS.values())
    for key, weight in WEIGHTS.items():
        fill(client, name, key, 10_500 * weight // total + 500, weight)
    seen = collections.Counter()
    consumers = [RespQueues(server) for _ in range(2)]
    threads = [
        threading.Thread(target=drain, args=(consumer, name, 4_200, seen)) for consumer in consumers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = sum(seen.values())
    for key, weight in WEIGHTS.items():
        assert abs(seen[key] / counted - weight / total) < 0.01, seen
    for consumer in consumers:
        consumer.close()
    client.delete(name)


def test_shares_hold_while_keys_come_and_go(client, name):
    client.create(name)
    fill(client, name, "a", 6_000, 1)
    fill(client, name, "b", 6_000, 3)
    seen = collections.Counter()
    for visit in range(20):
        for guest in range(5):
            client.enqueue(name, b"x", key=f"guest:{visit}:{guest}")
        drain(client, name, 200, seen)
    guests = sum(count for key, count in seen.items() if key.startswith("guest"))
    assert guests == 100, "every guest was served"
    assert abs(seen["b"] / (seen["a"] + seen["b"]) - 0.75) < 0.01, seen
    client.delete(name)


def test_weights_hold_inside_one_shared_limit(client, name):
    """1:1:10 on one provider's 500/s."""
    client.create(name)
    client.set_limit(name, 1, 500, 1)
    for key, weight in {"a": 1, "b": 1, "c": 10}.items():
        fill(client, name, key, 2_000, weight, throttle=[name])
    seen = collections.Counter()
    drain(client, name, 1_200, seen, batch=50)
    counted = sum(seen.values())
    for key, share in {"a": 1 / 12, "b": 1 / 12, "c": 10 / 12}.items():
        assert abs(seen[key] / counted - share) < 0.02, seen
    client.delete(name)
    client.del_limit(name)


def test_a_quiet_tenant_hardly_waits_beside_a_noisy_one(client, server, name):
    client.create(name)
    fill(client, name, "noisy", 100_000)
    stop = threading.Event()

    def consume():
        consumer = RespQueues(server)
        while not stop.is_set():
            messages = consumer.receive(name, count=10, wait_ms=100)
            now = time.time()
            for message in messages:
                if message.key == "quiet":
                    waits.append(now - float(message.payload))
            consumer.ack(name, *[message.receipt for message in messages])
        consumer.close()

    waits = []
    thread = threading.Thread(target=consume)
    thread.start()
    for sent in range(200):
        client.enqueue(name, str(time.time()).encode(), key="quiet")
        eventually(lambda: len(waits) > sent, "the quiet tenant is served")
    stop.set()
    thread.join()
    waits.sort()
    assert waits[int(len(waits) * 0.99)] < 0.1, f"p50 {waits[100]:.4f} s, p99 {waits[198]:.4f} s"
    client.delete(name)


def ack_all(client, name, receipts):
    """Acks what comes, until nothing more does. A bucket of 50 ms runs over while a consumer waits for the disk by itself."""
    while batch := receipts.get():
        client.ack(name, *batch)


def test_a_throttled_rate_is_kept_to_two_percent_and_never_exceeded(client, server, name):
    """200/s with a burst of 10, over 10 s."""
    client.create(name)
    client.set_limit(name, 10, 200, 1)
    fill(client, name, "a", 3_000, throttle=[name])
    receipts, acker = queue.SimpleQueue(), RespQueues(server)
    acks = threading.Thread(target=ack_all, args=(acker, name, receipts))
    acks.start()
    started, count, latest = time.monotonic(), 0, 0
    try:
        while time.monotonic() - started < 10:
            messages = client.receive(name, count=100, wait_ms=500)
            count += len(messages)
            latest = time.monotonic() - started
            assert count <= 10 + 200 * latest + 1, f"{count} after {latest:.3f} s"
            if messages:
                receipts.put([message.receipt for message in messages])
    finally:
        receipts.put(None)
        acks.join()
        acker.close()
    assert count >= 0.98 * (10 + 200 * latest), f"{count} in {latest:.2f} s"
    client.delete(name)
    client.del_limit(name)


def test_a_consumer_that_does_not_read_stops_nobody(client, server, name):
    client.create(name)
    client.enqueue_batch([(name, b"x" * 10_000, {})] * 1_000)
    stream = client.consume(name, 1_000)
    for n in range(20):
        client.enqueue(name, b"%d" % n)
    assert client.inspect(name)["stats"]["in_flight"] == 1_000
    stream.close()
    eventually(lambda: client.inspect(name)["stats"]["in_flight"] == 0, "its leases came back")
    client.delete(name)


def test_every_message_is_accounted_for_after_kill_9(start_server, tmp_path):
    """Producers and consumers under load; the server is killed, again and again."""
    data = tmp_path / "data"
    acked_enqueues, acked, delivered = set(), set(), collections.Counter()
    lock = threading.Lock()
    server = start_server(data_dir=data)
    RespQueues(server).create("q", visibility_timeout_ms=1_000, backoff={"initial_ms": 0})
    number = iter(range(10**9))

    def produce(server):
        try:
            client = RespQueues(server)
            while True:
                payloads = [b"%d" % next(number) for _ in range(50)]
                results = client.enqueue_batch([("q", payload, {"key": "k%d" % (int(payload) % 7)}) for payload in payloads])
                with lock:
                    acked_enqueues.update(p for p, r in zip(payloads, results) if isinstance(r, str))
        except Exception:
            return

    def consume(server):
        try:
            client = RespQueues(server)
            while True:
                messages = client.receive("q", count=20, wait_ms=200)
                with lock:
                    for message in messages:
                        delivered[message.payload] += 1
                        assert message.payload not in acked, "an acked message came again"
                keep = messages[: len(messages) // 2 + 1]
                results = client.ack("q", *[message.receipt for message in keep])
                with lock:
                    acked.update(m.payload for m, r in zip(keep, results) if r is None)
        except AssertionError:
            failures.append("an acked message came again")
        except Exception:
            return

    failures = []
    for _ in range(3):
        threads = [threading.Thread(target=work, args=(server,)) for work in (produce, produce, consume, consume)]
        target = len(acked_enqueues) + 2_000
        for thread in threads:
            thread.start()
        eventually(lambda: len(acked_enqueues) > target and len(acked) > 200, "some load", within_s=30)
        server.kill()
        for thread in threads:
            thread.join()
        server = start_server(data_dir=data)
    client = RespQueues(server)
    deadline = time.monotonic() + 60
    while client.inspect("q")["stats"]["depth"] > 0:
        assert time.monotonic() < deadline
        messages = client.receive("q", count=100, wait_ms=500)
        for message in messages:
            delivered[message.payload] += 1
            assert message.payload not in acked, "an acked message came again"
        client.ack("q", *[message.receipt for message in messages])
    assert not failures
    lost = acked_enqueues - set(delivered)
    assert not lost, f"{len(lost)} of {len(acked_enqueues)} acknowledged messages are lost"


def test_queues_limits_and_settings_survive_a_crash(start_server, tmp_path):
    data = tmp_path / "data"
    server = start_server(data_dir=data)
    client = RespQueues(server)
    client.create("q", visibility_timeout_ms=60_000, on_enqueue='function on_enqueue(m) return {fairness_key="h"} end')
    client.set_limit("p", 5, 1, 3600)
    client.set_setting("s", "v")
    for n in range(5):
        client.enqueue("q", b"%d" % n)
    leased = client.receive("q", count=2)
    client.ack("q", leased[0].receipt)
    server.kill()
    server = start_server(data_dir=data)
    client = RespQueues(server)
    assert client.get_limit("p")["burst"] == 5 and client.get_setting("s") == "v"
    got = client.receive("q", count=10)
    assert [message.payload for message in got] == [b"2", b"3", b"4"], "an unexpired lease is not delivered again"
    assert [message.key for message in got] == ["h"] * 3
    assert client.ack("q", leased[1].receipt) == [None], "a receipt outlives a restart"
    client.enqueue("q", b"x")
    assert client.receive("q")[0].key == "h", "hooks still act"


def test_a_torn_tail_is_cut_and_said_so(start_server, tmp_path):
    data = tmp_path / "data"
    server = start_server(data_dir=data)
    client = RespQueues(server)
    client.create("q")
    client.enqueue("q", b"kept")
    server.kill()
    segments = sorted((data / "queue").glob("*"))
    segment = next(path for path in reversed(segments) if "catalog" not in path.name and path.stat().st_size)
    content = segment.read_bytes()
    end = len(content.rstrip(b"\0"))
    segment.write_bytes(content[:end] + b"\x17torn" + content[end + 5 :])
    server = start_server(data_dir=data)
    assert [message.payload for message in RespQueues(server).receive("q")] == [b"kept"]
    assert "torn" in server.log() or "cut" in server.log(), server.log()
