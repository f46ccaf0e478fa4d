"""Many connections at once, and clients that are slow, silent or never read: the others do not notice."""

import resource
import socket
import time

import pytest

from frames import Raw, frame, resp, resp_integers
from polling import eventually, throughout

DOORS = pytest.mark.parametrize("door", ["http", "resp", "msgpack"])
HALF_A_REQUEST = {
    "http": b"POST /throttle HTTP/1.1\r\nHost:",
    "resp": resp("THROTTLE", "k", 1, 1, 1)[:20],
    "msgpack": frame([1, b"k", 1, 1, 1])[:6],
}
MANY = 10_000
SPARE_HANDLES = 300


def is_closed(raw):
    """Whether the server has ended the connection; what it says before that is dropped."""
    raw.socket.setblocking(False)
    try:
        while raw.socket.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def asks_quickly(server):
    """A decision on a new connection, in good time."""
    start = time.monotonic()
    with Raw(server.resp) as raw:
        raw.exchange(resp("THROTTLE", "other", 10, 0x7FFFFFFF, 1, 0), resp_integers(1, 10, 10, 0, 0))
    return time.monotonic() - start < 1.0


@DOORS
def test_a_silent_connection_is_closed_after_the_idle_time(start_server, door):
    server = start_server(f"--{door}-idle-timeout-ms=200")
    with Raw(getattr(server, door)) as raw:
        eventually(lambda: is_closed(raw), "the silent connection is closed")


@DOORS
def test_half_a_request_is_dropped_while_others_are_served(start_server, door):
    server = start_server(f"--{door}-handshake-timeout-ms=300")
    with Raw(getattr(server, door)) as raw:
        raw.send(HALF_A_REQUEST[door])
        eventually(lambda: asks_quickly(server) and is_closed(raw), "the slow client is dropped")
    assert asks_quickly(server)


def test_a_request_that_trickles_in_is_dropped_too(start_server):
    """Each byte is progress, but the request as a whole has its time."""
    server = start_server("--resp-handshake-timeout-ms=300")
    request = iter(b"*3\r\n$4\r\nECHO\r\n$60000\r\n" + b"x" * 60_000)
    with Raw(server.resp) as raw:

        def trickle():
            if is_closed(raw):
                return True
            try:
                raw.socket.send(bytes([next(request)]))
            except OSError:
                return True
            return False

        eventually(trickle, "the trickling client is dropped")


def flood(raw, requests):
    """Sends without ever reading, until the kernel takes no more for now. False once the server has hung up."""
    raw.socket.setblocking(False)
    try:
        while True:
            raw.socket.send(requests)
    except BlockingIOError:
        return True
    except OSError:
        return False


FLOODS = {"resp": resp("ECHO", "x" * 100), "msgpack": frame([2, b"k", 1, 1, 1])}


@pytest.mark.parametrize("door, request_bytes", FLOODS.items(), ids=FLOODS)
def test_a_client_that_never_reads_stalls_nobody_and_is_cut_off(start_server, door, request_bytes):
    server = start_server(f"--{door}-write-timeout-ms=500")
    raws = [Raw(getattr(server, door)) for _ in range(8)]
    flooding = set(raws)

    def others_are_served():
        """Judged between two floods of all that still flood."""
        flooding.difference_update([raw for raw in flooding if not flood(raw, request_bytes * 1000)])
        return asks_quickly(server)

    throughout(others_are_served, "others are served meanwhile", for_s=0.3)
    eventually(lambda: others_are_served() and not flooding, "the clients that never read are cut off", within_s=30)
    assert resident_bytes(server) < 256 << 20
    for raw in raws:
        raw.close()


def resident_bytes(server):
    with open(f"/proc/{server.pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


@DOORS
def test_10_000_connections_are_held_at_once(start_server, door):
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if handles < MANY + SPARE_HANDLES:
        pytest.skip(f"only {handles} file handles here: `ulimit -Hn` must be {MANY + SPARE_HANDLES} or more")
    server = start_server()
    requests = {"resp": resp("PING"), "msgpack": frame([2, b"k", 1, 1, 1]), "http": b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"}
    held = []
    try:
        for _ in range(MANY):
            held.append(socket.create_connection(getattr(server, door), timeout=20))
        for connection in held:
            connection.sendall(requests[door])
        for connection in held:
            assert len(connection.recv(4)) == 4
        assert asks_quickly(server)
    finally:
        for connection in held:
            connection.close()
    eventually(lambda: asks_quickly(server), "the server goes on after they leave")
