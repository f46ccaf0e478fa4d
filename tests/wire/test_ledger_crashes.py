"""What a crash, a stop and a disk that takes nothing leave of entities, limits, leases and usage."""

import contextlib
import itertools
import resource
import shutil
import threading
import time

import pytest

from decision import Refused
from deliveries import received
from ledger_clients import LEDGER_TRANSPORTS, RespLedger
from ledger_figures import left, used
from ledger_refusal import refusal
from metrics import samples, value
from polling import eventually
from server import ROOT

FLUSH_MS = 200
# What a loaded machine may be late by.
LATE_S = 0.5


def start(start_server, data):
    return start_server(f"--ledger-flush-interval-ms={FLUSH_MS}", data_dir=data)


class Load:
    """Acquires, settles and edits by several threads until the server is gone; what was answered is remembered."""

    def __init__(self, server, threads=3):
        self.server, self.lock = server, threading.Lock()
        # (when the answer was there, how much more is used)
        self.net, self.leases, self.entities, self.doubtful = [], {}, [], 0
        self.threads = [threading.Thread(target=self._work, args=(number,)) for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def _work(self, number):
        ledger = RespLedger(self.server)
        try:
            for step in itertools.count():
                self._step(ledger, f"{number}-{step}", step)
        except (Refused, OSError, ConnectionError):
            return
        except Exception as error:  # redis-py has errors of its own for a connection that ends
            assert "onnection" in type(error).__name__, error

    def _sent(self, amount):
        with self.lock:
            self.doubtful += amount

    def _answered(self, amount, change):
        with self.lock:
            self.doubtful -= amount
            self.net.append((time.monotonic(), change))

    def _step(self, ledger, name, step):
        self._sent(10)
        lease = ledger.acquire(("acme", "gpt-4", {"tpm": 10}), ttl_ms=600_000).lease
        self._answered(10, 10)
        if step % 3 == 0:
            with self.lock:
                self.leases[lease] = time.monotonic()
        elif step % 3 == 1:
            self._sent(15)
            ledger.settle_lease(lease, {"tpm": 25})
            self._answered(15, 15)
        if step % 20 == 0:
            ledger.create_entity(f"e{name}", metadata={"step": step})
            with self.lock:
                self.entities.append(f"e{name}")

    def joined(self):
        for thread in self.threads:
            thread.join()
        return self

    def lasts_s(self):
        return time.monotonic() - self.net[0][0] if self.net else 0

    def total(self, until=float("inf")):
        return sum(change for at, change in self.net if at <= until)


def all_of(pages, name):
    items, after = [], None
    while True:
        page = pages(count=1000, after=after)
        items += page[name]
        if (after := page["next"]) is None:
            return items


def prepared(client):
    client.set_limits("tpm=100000000/day")
    client.set_limits("tpm=5/day", entity="other", resource="gpt-4")
    client.set_limits("rpm=7/day", resource="embed", mode="bypass")


def test_kill_9_forgets_one_flush_interval_at_most(start_server, tmp_path):
    data = tmp_path / "data"
    server = start(start_server, data)
    prepared(RespLedger(server))
    load = Load(server)
    # Half of the time that it lasts is long enough ago to be safe, however fast the machine.
    lasting_s = 2 * (FLUSH_MS / 1000 + LATE_S)
    eventually(lambda: len(load.net) > 3000 and load.lasts_s() > lasting_s, "some load", within_s=60)
    killed = time.monotonic()
    server.kill()
    load.joined()
    server = start(start_server, data)
    client = RespLedger(server)
    safe = killed - FLUSH_MS / 1000 - LATE_S
    amount, _ = used(client, "acme", "tpm")
    assert load.total(safe) <= amount <= load.total() + load.doubtful
    level = left(client, "acme", "gpt-4", "tpm")
    # A token comes back every 0.864 ms.
    assert 100_000_000 - amount <= level <= 100_000_000 - load.total(safe) + 60_000 / 0.864
    kept = {lease["lease"] for lease in all_of(client.leases, "leases")}
    missing = [lease for lease, at in load.leases.items() if at <= safe and lease not in kept]
    assert not missing, f"{len(missing)} of {len(load.leases)} leases are gone"
    some = next(lease for lease, at in load.leases.items() if at <= safe)
    client.settle_lease(some, {"tpm": 0})
    names = {entity["id"] for entity in all_of(client.entities, "entities")}
    assert set(load.entities) <= names, "what was answered is there"
    assert client.get_limits()["limits"][0]["amount"] == 100_000_000
    assert client.resolve("other", "gpt-4")["level"] == "entity"
    assert client.get_limits(resource="embed")["mode"] == "bypass"
    client.close()


def test_a_stop_forgets_nothing(start_server, tmp_path):
    data = tmp_path / "data"
    server = start(start_server, data)
    prepared(RespLedger(server))
    load = Load(server)
    eventually(lambda: len(load.net) > 1000, "some load", within_s=60)
    assert server.stop() == 0, server.log()
    load.joined()
    server = start(start_server, data)
    client = RespLedger(server)
    amount, _ = used(client, "acme", "tpm")
    assert amount == load.total(), "what was taken was answered, and what was not answered was not taken"
    kept = {lease["lease"] for lease in all_of(client.leases, "leases")}
    assert set(load.leases) <= kept
    audited, before = [], None
    while True:
        page = client.audit(max=1000, **({} if before is None else {"before": before}))
        audited += [event["subject"] for event in page["events"]]
        if (before := page["next"]) is None:
            break
    assert sorted(audited) == sorted([*load.entities, "$SYSTEM", "other", "$RESOURCE:embed"])
    client.close()


def test_leases_caps_and_debts_survive_a_stop(start_server, tmp_path):
    data = tmp_path / "data"
    server = start(start_server, data)
    client = RespLedger(server)
    client.set_limits("tpm=100/day", "inflight=2")
    debtor = client.acquire(("debtor", "gpt-4", {"tpm": 100}), ttl_ms=600_000).lease
    client.adjust_lease(debtor, {"tpm": 50})
    short = client.acquire(("short", "gpt-4", {"tpm": 10}), ttl_ms=1_000, on_expiry="give_back")
    client.create("q")
    client.enqueue("q", b"x", entity_charges=[("debtor", "gpt-4", {"inflight": 1})])
    (message,) = received(client, "q")
    client.top_up("other", "gpt-4", {"tpm": 1}, key="once")
    client.acquire(("other", "gpt-4", {"tpm": 60}))
    assert server.stop() == 0
    server = start(start_server, data)
    client = RespLedger(server)
    assert left(client, "debtor", "gpt-4", "tpm") == -50
    assert left(client, "debtor", "gpt-4", "inflight") == 0, "a lease and a delivery"
    assert not client.acquire(("debtor", "gpt-4", {"tpm": 0})).granted
    client.ack("q", message.receipt)
    client.settle_lease(debtor, {"tpm": 20})
    assert left(client, "debtor", "gpt-4", "tpm") == 80 and left(client, "debtor", "gpt-4", "inflight") == 2
    eventually(lambda: left(client, "short", "gpt-4", "tpm") == 100, "it expired all the same")
    with pytest.raises(Refused):
        client.settle_lease(short.lease)
    client.top_up("other", "gpt-4", {"tpm": 50}, key="once")
    assert left(client, "other", "gpt-4", "tpm") == 40, "the key is remembered"
    client.close()


def flush(client):
    """Until all that was answered before is on disk: a flush tells the history first, so the second has written the rest."""
    for number in itertools.count(1):
        client.set_limits(f"rpm={number}/day", resource="flush-marker")
        seen = lambda: len(client.audit(subject="$RESOURCE:flush-marker")["events"]) >= number  # noqa: E731, B023
        eventually(seen, "a flush")
        if number == 2:
            return


def test_what_was_flushed_survives_kill_9_exactly(start_server, tmp_path):
    data = tmp_path / "data"
    server = start(start_server, data)
    client = RespLedger(server)
    client.set_limits("tpm=100/day", "inflight=3")
    lease = client.acquire(("acme", "gpt-4", {"tpm": 30}), ttl_ms=600_000).lease
    client.adjust_lease(lease, {"tpm": 90})
    short = client.acquire(("short", "gpt-4", {"tpm": 10}), ttl_ms=1_500, on_expiry="give_back")
    client.create("q", visibility_timeout_ms=600_000)
    for _ in range(3):
        client.enqueue("q", b"x", entity_charges=[("acme", "gpt-4", {"inflight": 1})])
    flying = received(client, "q", 2)
    client.close_buckets("closed", "gpt-4", 600_000)
    client.top_up("acme", "gpt-4", {"tpm": 5}, key="once")
    flush(client)
    server.kill()
    server = start(start_server, data)
    client = RespLedger(server)
    assert (left(client, "acme", "gpt-4", "tpm"), left(client, "acme", "gpt-4", "inflight")) == (-15, 0)
    assert used(client, "acme", "tpm") == (120, 1)
    assert client.receive("q") == [] and not client.acquire(("closed", "gpt-4", {})).granted
    client.top_up("acme", "gpt-4", {"tpm": 5}, key="once")
    assert left(client, "acme", "gpt-4", "tpm") == -15
    held = {hold["limit"]: hold["amount"] for hold in client.lease(lease)["holds"]}
    assert held == {"tpm": 120, "inflight": 1}
    client.settle_lease(lease, {"tpm": 20})
    assert left(client, "acme", "gpt-4", "tpm") == 85
    (third,) = client.receive("q", count=10, wait_ms=5_000)
    assert client.ack("q", third.receipt, *[message.receipt for message in flying]) == [None] * 3
    assert left(client, "acme", "gpt-4", "inflight") == 3, "no slot is lost"
    eventually(lambda: left(client, "short", "gpt-4", "tpm") == 100, "it expired, up or down")
    with pytest.raises(Refused):
        client.settle_lease(short.lease)
    assert [event["action"] for event in client.audit(subject="acme")["events"]]
    client.close()


def test_data_of_a_server_that_knew_throttle_keys_only(start_server, tmp_path):
    """Its limits are terms of entities now, and its queues go on."""
    shutil.copytree(ROOT / "crates/engine/tests/fixtures/queue-v1", tmp_path / "data/queue")
    server = start(start_server, tmp_path / "data")
    assert "version 1" in server.log() and "version 2" in server.log()
    client, team = RespLedger(server), RespLedger(server, "team")
    assert client.get_limit("p")["burst"] == 10 and team.get_setting("k") == "v"
    assert client.resolve("p", "_default_")["limits"][0]["name"] == "rate"
    payloads = [message.payload for message in client.receive("q", count=10)]
    assert payloads[:2] == [b"hello", b"there"], payloads
    limits = client.list_limits()
    assert server.stop() == 0
    server = start(start_server, tmp_path / "data")
    assert "version 1" not in server.log(), "it is done once"
    again = [limit["key"] for limit in RespLedger(server).list_limits()]
    assert again == [limit["key"] for limit in limits]


# A disk that takes nothing


@contextlib.contextmanager
def full_disk(server):
    """No file of the server may grow or be changed."""
    bound = resource.RLIM_INFINITY
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, bound))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (bound, bound))


def test_an_unavailable_store_blocks_or_allows_as_was_said(start_server, tmp_path):
    # Its log would hit the bound, too.
    (tmp_path / "server-0").mkdir()
    (tmp_path / "server-0" / "server.log").symlink_to("/dev/null")
    # Python ignores SIGXFSZ, and so does who inherits that: what passes the bound is an error.
    server = start_server(restore_signals=False)
    client, lenient = RespLedger(server), RespLedger(server, "lenient")
    client.set_limits("tpm=10/day")
    lenient.set_limits("tpm=10/day", on_unavailable="allow")
    with full_disk(server):
        client.acquire(("first", "gpt-4", {"tpm": 1}))
        eventually(lambda: value(server, "tidegate_ledger_store_available") == 0, "a flush failed")
        for name, adapter in LEDGER_TRANSPORTS.items():
            ledger, spared = adapter(server), adapter(server, "lenient")
            charge = (name, "gpt-4", {"tpm": 6})
            assert refusal(ledger.acquire, charge) == "store_unavailable"
            asked = [ledger.acquire(charge, on_unavailable="allow").granted for _ in range(2)]
            assert asked == [True, False], "limits hold all the same"
            degraded = spared.acquire(charge)
            assert degraded.granted and degraded.degraded
            assert refusal(spared.acquire, (name, "gpt-4", {"tpm": 1}), on_unavailable="block") == "store_unavailable"
            ledger.close()
            spared.close()
        seen = {labels["outcome"]: count for labels, count in samples(server, "tidegate_ledger_store_unavailable_total")}
        # Whoever was let through to be decided was allowed, granted or not.
        assert seen == {"blocked": 10, "allowed": 15}, seen
    eventually(lambda: value(server, "tidegate_ledger_store_available") == 1, "it writes again")
    assert client.acquire(("acme", "gpt-4", {"tpm": 1})).granted
    assert server.stop() == 0
    second = start_server(data_dir=server.data_dir)
    client = RespLedger(second)
    for name in LEDGER_TRANSPORTS:
        assert used(client, name, "tpm") == (6, 1), "what was allowed is not forgotten"
    client.close()
