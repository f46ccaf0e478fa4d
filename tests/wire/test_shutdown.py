"""Told to stop, the server answers what it has taken, closes its doors and ends with 0."""

import queue
import signal
import time

import grpc
import pytest

from clients import Http
from decision import Limit
from frames import Raw, frame, read_frame, resp
from protocol import ask, ask_grpc


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(start_server, which):
    server = start_server()
    server.process.send_signal(which)
    assert server.wait() == 0, server.log()


def test_connections_that_sit_idle_do_not_hold_it_up(start_server):
    server = start_server()
    idle = [Raw(address) for address in (server.resp, server.http, server.msgpack) for _ in range(20)]
    start = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - start < 4, "an idle connection needs no drain"
    for raw in idle:
        raw.close()


def test_a_pipeline_that_was_taken_is_answered_whole_on_resp(start_server, key):
    server = start_server()
    count = 1000
    with Raw(server.resp) as raw:
        raw.send(resp("THROTTLE", key, count, 1, 3600) * count)
        start = raw.read_exactly(1)
        server.ask_to_stop()
        replies = (start + raw.read_to_end()).count(b"*5\r\n:1\r\n")
    assert replies == count
    assert server.wait() == 0


def test_a_pipeline_that_was_taken_is_answered_whole_on_messagepack(start_server, key):
    server = start_server()
    count = 1000
    with Raw(server.msgpack) as raw:
        raw.send(frame([1, key, count, 1, 3600]) * count)
        first = read_frame(raw)
        server.ask_to_stop()
        rest = [read_frame(raw) for _ in range(count - 1)]
    assert [reply[3] for reply in [first, *rest]] == list(reversed(range(count)))
    assert server.wait() == 0


def test_what_was_taken_while_it_drained_is_kept(start_server, key):
    first = start_server()
    with Raw(first.resp) as raw:
        raw.send(resp("THROTTLE", key, 1000, 1, 36_000) * 1000)
        raw.read_exactly(1)
        first.ask_to_stop()
        answered = (b"*" + raw.read_to_end()).count(b"*5\r\n")
    assert first.wait() == 0
    second = start_server(data_dir=first.data_dir)
    transport = Http(second)
    assert transport.peek(key, Limit(1000, 1, 36_000)).remaining == 1000 - answered
    transport.close()


def test_a_stream_that_stays_open_is_ended_after_the_drain_time(start_server, key):
    server = start_server("--drain-timeout-ms=300")
    with grpc.insecure_channel("{}:{}".format(*server.http)) as channel:
        stream = channel.stream_stream(
            "/tidegate.v1.Ask/ThrottleStream",
            request_serializer=ask.ThrottleRequest.SerializeToString,
            response_deserializer=ask.ThrottleResult.FromString,
        )(endless(key), timeout=30)
        assert next(stream).decision.allowed
        assert server.stop() == 0
        with pytest.raises(grpc.RpcError):
            for _ in stream:
                pass


def endless(key):
    """One request, and then an open stream: the generator ends when the channel does."""
    yield ask.ThrottleRequest(key=key, max_burst=1, count_per_period=1, period=60)
    try:
        queue.Queue().get(timeout=30)
    except queue.Empty:
        return


def test_a_closed_door_takes_no_more(start_server):
    server = start_server()
    addresses = (server.resp, server.http, server.msgpack)
    assert server.stop() == 0
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            Raw(address)
