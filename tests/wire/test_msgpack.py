"""MessagePack over TCP to the byte: frames, shapes, pipelines and what is not MessagePack."""

import struct

import msgpack
import pytest

from decision import U32_MAX
from frames import Raw, frame, read_frame

THROTTLE = 1


@pytest.fixture
def raw(server):
    with Raw(server.msgpack) as raw:
        yield raw


def ask(raw, request):
    raw.send(frame(request))
    return read_frame(raw)


def as_map(key, **changes):
    return {"cmd": THROTTLE, "key": key, "burst": 2, "rate": 1, "period": 3600} | changes


def test_a_map_is_answered_by_a_map(raw, key):
    assert ask(raw, as_map(key)) == {
        "ok": True,
        "allowed": 1,
        "limit": 2,
        "remaining": 1,
        "retry_after": 0,
        "reset_after": 3600,
    }


def test_an_array_is_answered_by_an_array(raw, key):
    assert ask(raw, [THROTTLE, key, 2, 1, 3600])[:6] == [True, 1, 2, 1, 0, 3600]
    assert ask(raw, [THROTTLE, key, 2, 1, 3600, 2])[:6] == [True, 0, 2, 1, 3600, 3600]


def test_a_refusal_is_told_in_the_shape_of_the_request(raw, key):
    refused = ask(raw, as_map(key, burst=0))
    assert refused["ok"] is False and refused["error"].startswith("invalid_limit: ")
    ok, *_, error = ask(raw, [THROTTLE, key, 2, 1, 3600, -1])
    assert ok is False and error.startswith("invalid_quantity: ")


def test_a_nil_quantity_is_an_omitted_one(raw, key):
    assert ask(raw, as_map(key, quantity=None))["remaining"] == 1
    assert ask(raw, [THROTTLE, key, 2, 1, 3600, None])[3] == 0


def test_a_key_is_the_same_as_str_and_as_bin(raw, key):
    assert ask(raw, as_map(key.decode()))["remaining"] == 1
    assert ask(raw, as_map(key))["remaining"] == 0


def test_the_order_of_a_map_does_not_matter(raw, key):
    assert ask(raw, dict(reversed(as_map(key).items())))["remaining"] == 1


def test_numbers_beyond_32_bits_saturate(raw, key):
    large = ask(raw, as_map(key, burst=2**40, rate=2**40, period=3600))
    assert (large["limit"], large["remaining"]) == (U32_MAX, U32_MAX)
    slow = ask(raw, as_map(key, burst=1, period=2**32 + 60))
    assert slow["reset_after"] == U32_MAX


def test_what_can_never_pass_is_the_largest_number(raw, key):
    assert ask(raw, as_map(key, quantity=3))["retry_after"] == U32_MAX


def test_a_pipeline_is_answered_in_order(raw, key):
    count = 1000
    raw.send(frame([THROTTLE, key, count, 1, 3600]) * count)
    assert [read_frame(raw)[3] for _ in range(count)] == list(reversed(range(count)))


def test_requests_may_arrive_byte_by_byte(raw, key):
    raw.send_byte_by_byte(frame(as_map(key)) + frame(as_map(key)))
    assert [read_frame(raw)["remaining"] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "value",
    [1, "text", None, [], {}, [99, b"k", 1, 1, 1], {"cmd": "x"}, [THROTTLE], [THROTTLE, 5, 1, 1, 1], {"cmd": 1, "key": []}],
    ids=repr,
)
def test_a_value_that_is_no_request_is_refused_and_the_connection_goes_on(raw, key, value):
    refused = ask(raw, value)
    error = refused["error"] if isinstance(refused, dict) else refused[-1]
    assert error.startswith(("invalid_request: ", "limit_required: "))
    assert ask(raw, as_map(key))["ok"]


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x85\xa3cmd", b"\xdd\xff\xff\xff\xff", b"\x91" * 60_000])
def test_a_frame_that_is_not_messagepack_is_refused(server, raw, key, payload):
    raw.send(struct.pack(">I", len(payload)) + payload)
    refused = read_frame(raw)
    error = refused["error"] if isinstance(refused, dict) else refused[-1]
    assert error.startswith("invalid_request: ")
    with Raw(server.msgpack) as other:
        assert ask(other, as_map(key))["ok"]


def test_bytes_after_the_value_are_refused(raw, key):
    payload = msgpack.packb(as_map(key)) + b"\x01"
    raw.send(struct.pack(">I", len(payload)) + payload)
    assert read_frame(raw)["ok"] is False


def test_the_token_is_asked_for_where_one_is_set(start_server, key):
    server = start_server(env={"TIDEGATE_AUTH_TOKEN": "sesame"})
    with Raw(server.msgpack) as raw:
        assert ask(raw, as_map(key))["error"].startswith("unauthenticated: ")
        assert ask(raw, {"cmd": 5, "key": "wrong"})["ok"] is False
        assert ask(raw, {"cmd": 5, "key": "sesame"})["ok"] is True
        assert ask(raw, as_map(key))["remaining"] == 1
