"""Limits on everything from outside: sizes, connections and keys, each with a clear error."""

import struct

import grpc
import httpx
import pytest

from clients import Http, Msgpack, Resp
from decision import Limit, Refused
from frames import Raw, frame, read_frame, resp
from polling import eventually
from protocol import ask, ask_grpc

FRAMED = pytest.mark.parametrize("door", ["resp", "msgpack"])
DOORS = pytest.mark.parametrize("door", ["http", "resp", "msgpack"])
HTTP_PING = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
PING = {"http": HTTP_PING, "resp": resp("PING"), "msgpack": frame([2, b"k", 1, 1, 1])}


def serves(server, door):
    """A new connection to the door is answered."""
    with Raw(getattr(server, door)) as raw:
        raw.send(PING[door])
        answer = raw.read_exactly(5)
    return b"ERR" not in answer


def first_words(server, door):
    """What a connection hears before the server closes it."""
    with Raw(getattr(server, door)) as raw:
        if door == "http":
            raw.send(PING[door])
        return raw.read_to_end()


OVERSIZED = {
    "resp-bulk": ("resp", b"*2\r\n$4\r\nECHO\r\n$3000000\r\n" + b"x" * 3_000_000),
    "resp-announced-bulk": ("resp", b"*2\r\n$4\r\nECHO\r\n$536870912\r\nx"),
    "resp-array": ("resp", b"*1048576\r\n" + b"$1\r\nx\r\n" * 20_000),
    "resp-inline": ("resp", b"x" * 3_000_000),
    "msgpack-frame": ("msgpack", struct.pack(">I", 70_000) + b"\xc0" * 70_000),
    "msgpack-announced-frame": ("msgpack", b"\xff\xff\xff\xff"),
}


@pytest.mark.parametrize("door, request_bytes", OVERSIZED.values(), ids=OVERSIZED)
def test_an_oversized_request_is_told_and_its_connection_closed(server, door, request_bytes):
    with Raw(getattr(server, door)) as raw:
        try:
            raw.send(request_bytes)
        except OSError:
            pass  # The server closed before it had taken all of it.
        answer = raw.read_to_end()
    assert b"body_too_large" in answer or b"Protocol error" in answer
    assert serves(server, door)


def test_the_frame_limit_is_a_setting(start_server):
    server = start_server("--resp-max-frame-bytes=2000")
    with Raw(server.resp) as raw:
        raw.exchange(resp("ECHO", "x" * 1900), b"$1900\r\n" + b"x" * 1900 + b"\r\n")
        raw.send(resp("ECHO", "x" * 2100))
        assert raw.read_to_end().startswith(b"-ERR")


def test_an_oversized_grpc_message_ends_its_call_only(server, key):
    with grpc.insecure_channel("{}:{}".format(*server.http)) as channel:
        stub = ask_grpc.AskStub(channel)
        limit = {"max_burst": 1, "count_per_period": 1, "period": 3600}
        with pytest.raises(grpc.RpcError) as error:
            stub.Throttle(ask.ThrottleRequest(key=b"k" * 5_000_000, **limit), timeout=10)
        assert error.value.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.OUT_OF_RANGE)
        assert stub.Throttle(ask.ThrottleRequest(key=key, **limit), timeout=10).allowed


def test_the_body_and_batch_limits_are_settings(start_server):
    server = start_server("--http-max-body-bytes=4000", "--http-max-batch=2")
    request = {"key": "k", "max_burst": 9, "count_per_period": 1, "period": 60}
    with httpx.Client(base_url=server.url) as http:
        assert http.post("/throttle", json=request | {"key": "k" * 4001}).status_code == 413
        answers = [http.post("/throttle/batch", json={"requests": [request] * count}) for count in (2, 3)]
    assert [answer.status_code for answer in answers] == [200, 400]
    assert answers[1].json()["error"]["code"] == "batch_too_large"


@DOORS
def test_a_connection_too_many_is_turned_away_with_a_reason(start_server, door):
    server = start_server(f"--{door}-max-connections=2")
    address = getattr(server, door)
    held = [Raw(address) for _ in range(2)]
    for raw in held:
        raw.send(PING[door])
        raw.read_exactly(5)
    assert b"too_many_connections" in first_words(server, door)
    held[0].send(PING[door])
    held[0].close()
    eventually(lambda: not is_turned_away(server, door), "the freed place is taken")
    held[1].close()


def is_turned_away(server, door):
    with Raw(getattr(server, door)) as raw:
        raw.send(PING[door])
        try:
            return b"too_many" in raw.socket.recv(4096)
        except ConnectionResetError:
            return True


@pytest.mark.parametrize("adapter", [Resp, Http, Msgpack])
def test_the_longest_key_is_a_setting(start_server, adapter):
    transport = adapter(start_server("--keys-max-key-bytes=8"))
    limit = Limit(1, 1, 3600)
    assert transport.throttle(b"12345678", limit).allowed
    with pytest.raises(Refused) as refused:
        transport.throttle(b"123456789", limit)
    assert refused.value.code == "key_too_long"
    transport.close()


def fill(transport, count):
    """Takes one token of many keys; what the server says to each that it does not let pass."""
    said = []
    for number in range(count):
        try:
            assert transport.throttle(b"key-%d" % number, Limit(1, 1, 3600)).allowed
        except Refused as refused:
            said.append(refused.code)
    return said


@pytest.mark.parametrize("policy", ["refuse", "admit", "evict"])
def test_a_full_table_does_what_its_policy_says(start_server, policy):
    transport = Resp(start_server("--keys-max-keys=1000", f"--keys-when-full={policy}"))
    said = fill(transport, 5000)
    if policy == "refuse":
        assert set(said) == {"table_full"} and len(said) >= 3500
    else:
        assert said == []
    assert transport._call("DBSIZE") <= 1500
    transport.close()
