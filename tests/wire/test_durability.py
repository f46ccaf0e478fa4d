"""State survives a restart and a crash; a damaged file is set aside and stops nobody."""

import pathlib

import pytest

from clients import Http, Resp
from decision import Limit
from metrics import value
from polling import eventually
from server import ANY_PORT, run_tidegate

LIMIT = Limit(burst=100, count=1, period=36_000)
FLUSHES = "tidegate_flushes_total"


def take(server, names, quantity):
    transport = Resp(server)
    for name in names:
        assert transport.throttle(name, LIMIT, quantity).allowed
    transport.close()


def remaining(server, name, namespace=None):
    transport = Resp(server, namespace)
    left = transport.peek(name, LIMIT).remaining
    transport.close()
    return left


def wait_for_flush(server):
    """Until two more flushes have ended: the second began after everything that was asked before this call.

    A flush happens only when something has changed, so each is given a key of its own to write.
    """
    markers = Resp(server, "flush-markers")
    for _ in range(2):
        seen = value(server, FLUSHES)
        markers.throttle(b"marker", LIMIT)
        eventually(lambda: value(server, FLUSHES) > seen, "a flush")
    markers.close()


def data_files(server):
    """Those of the keys: queues have a directory of their own."""
    return [path for path in pathlib.Path(server.data_dir).iterdir() if path.is_file() and path.stat().st_size > 0]


def test_keys_survive_a_restart(start_server, key):
    names = [key + b"%d" % number for number in range(500)]
    first = start_server()
    take(first, names, 7)
    assert first.stop() == 0
    second = start_server(data_dir=first.data_dir)
    assert {remaining(second, name) for name in names} == {93}


def test_keys_survive_a_crash_once_they_are_flushed(start_server, key):
    first = start_server("--persistence-flush-interval-ms=20")
    take(first, [key], 7)
    wait_for_flush(first)
    take(first, [key], 5)
    wait_for_flush(first)
    first.kill()
    second = start_server(data_dir=first.data_dir)
    assert remaining(second, key) == 88


def test_keys_survive_many_crashes(start_server, key):
    """What one run restored, the next one has too, though it was not asked about in between."""
    server = start_server("--persistence-flush-interval-ms=20")
    take(server, [key], 10)
    for crash in range(1, 4):
        take(server, [key + b"%d" % crash], crash)
        wait_for_flush(server)
        server.kill()
        server = start_server("--persistence-flush-interval-ms=20", data_dir=server.data_dir)
    assert remaining(server, key) == 90
    assert [remaining(server, key + b"%d" % crash) for crash in range(1, 4)] == [99, 98, 97]


def test_namespaces_survive_apart(start_server, key):
    first = start_server()
    for namespace, quantity in ((None, 1), ("one", 2), ("other", 3)):
        transport = Resp(first, namespace)
        transport.throttle(key, LIMIT, quantity)
        transport.close()
    assert first.stop() == 0
    second = start_server(data_dir=first.data_dir)
    assert [remaining(second, key, namespace) for namespace in (None, "one", "other")] == [99, 98, 97]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_reset_stays_reset(start_server, key, end):
    first = start_server("--persistence-flush-interval-ms=20")
    take(first, [key, key + b"2"], 10)
    wait_for_flush(first)
    transport = Http(first)
    assert transport.reset(key) == 1
    transport.close()
    wait_for_flush(first)
    getattr(first, end)()
    second = start_server(data_dir=first.data_dir)
    assert (remaining(second, key), remaining(second, key + b"2")) == (100, 90)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_cleared_stays_cleared(start_server, key, end):
    first = start_server("--persistence-flush-interval-ms=20")
    take(first, [key], 10)
    wait_for_flush(first)
    transport = Http(first)
    assert transport.clear() == 1
    transport.close()
    wait_for_flush(first)
    getattr(first, end)()
    second = start_server(data_dir=first.data_dir)
    assert remaining(second, key) == 100


DAMAGES = {
    "overwritten": lambda data: bytes(byte ^ 0x5A for byte in data),
    "cut in half": lambda data: data[: len(data) // 2],
    "one bit near the end": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "garbage": lambda data: b"\xff" * 4096,
    "empty": lambda data: b"",
}


def damage(server, kind):
    """Every file, since any of them may be hit."""
    for path in data_files(server):
        path.write_bytes(DAMAGES[kind](path.read_bytes()))


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_never_stops_the_server(start_server, key, kind):
    first = start_server()
    take(first, [key + b"%d" % number for number in range(100)], 7)
    assert first.stop() == 0
    assert data_files(first)
    damage(first, kind)
    second = start_server(data_dir=first.data_dir)
    take(second, [key + b"new"], 1)
    assert second.stop() == 0
    third = start_server(data_dir=first.data_dir)
    assert remaining(third, key + b"new") == 99


def test_a_damaged_file_is_reported_and_set_aside(start_server, key):
    first = start_server()
    take(first, [key], 7)
    assert first.stop() == 0
    damage(first, "overwritten")
    damaged = {path.read_bytes() for path in data_files(first)}
    second = start_server(data_dir=first.data_dir)
    log = second.log().lower()
    assert "corrupt" in log or "damaged" in log
    assert second.stop() == 0
    kept = {path.read_bytes() for path in data_files(second)}
    assert damaged & kept, "what could not be read is kept for a person to look at"


def test_nothing_is_written_where_persistence_is_off(start_server, key):
    first = start_server("--persistence-enabled=false")
    take(first, [key], 7)
    assert first.stop() == 0
    assert not pathlib.Path(first.data_dir).exists() or data_files(first) == []


def test_a_data_directory_that_cannot_be_used_is_told_at_start(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    doors = [f"--{door}={ANY_PORT}" for door in ("http", "resp", "msgpack")]
    done = run_tidegate("serve", *doors, f"--data-dir={blocked}")
    assert done.returncode != 0
    assert str(blocked) in done.stderr
