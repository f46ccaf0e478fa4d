"""RESP to the byte: what redis-cell and throttlecrab published, inline commands, pipelines and protocol errors."""

import pytest

from clients import Resp
from decision import Refused
from frames import Raw, resp, resp_integers
from vectors import GCRA


@pytest.fixture
def raw(server):
    with Raw(server.resp) as raw:
        yield raw


def cell_scenarios():
    """redis-cell's replies that need no passing of time."""
    for scenario in GCRA["redis_cell_reply"]:
        if all(step["t_ns"] == 0 and isinstance(step["expect"], list) for step in scenario["steps"]):
            yield pytest.param(scenario["steps"], id=scenario["id"])


@pytest.mark.parametrize("steps", list(cell_scenarios()))
def test_cl_throttle_answers_as_redis_cell(raw, key, steps):
    for step in steps:
        command, name, *numbers = step["cmd"]
        raw.exchange(resp(command, key + name.encode(), *numbers), resp_integers(*step["expect"]))


def test_cl_throttle_without_a_quantity_takes_1(raw, key):
    for remaining, reset_after in ((15, 2), (14, 4)):
        raw.exchange(resp("cl.throttle", key, 15, 30, 60), resp_integers(0, 16, remaining, -1, reset_after))


@pytest.mark.parametrize("words", [("x", 1, 1), (1, 0, 1)], ids=["not-a-number", "zero-rate"])
def test_cl_throttle_refuses_bad_numbers(server, key, words):
    client = Resp(server)
    with pytest.raises(Refused):
        client._call("CL.THROTTLE", key, *words)
    client.close()


def throttle(key, *numbers):
    return resp("THROTTLE", key, *numbers)


def test_throttle_answers_five_integers(raw, key):
    raw.exchange(throttle(key, 10, 100, 60), b"*5\r\n:1\r\n:10\r\n:9\r\n:1\r\n:0\r\n")


def test_numbers_may_be_resp_integers_and_names_have_no_case(raw, key):
    request = b"*5\r\n$8\r\ntHrOttLe\r\n$%d\r\n%s\r\n:10\r\n:100\r\n:60\r\n" % (len(key), key)
    raw.exchange(request, resp_integers(1, 10, 9, 1, 0))


@pytest.mark.parametrize(
    "request_bytes, reply",
    [
        (resp("PING"), b"+PONG\r\n"),
        (resp("PING", "hello"), b"$5\r\nhello\r\n"),
        (resp("ECHO", "hello"), b"$5\r\nhello\r\n"),
        (resp("SELECT", "0"), b"+OK\r\n"),
        (resp("RESET"), b"+RESET\r\n"),
        (resp("CLIENT", "SETINFO", "LIB-NAME", "x"), b"+OK\r\n"),
        (resp("CLIENT", "SETNAME", "x"), b"+OK\r\n"),
    ],
    ids=lambda value: value[:30].decode().replace("\r\n", " ") if value.startswith(b"*") else "",
)
def test_connection_commands_answer_as_redis_does(raw, request_bytes, reply):
    raw.exchange(request_bytes, reply)


def test_quit_says_ok_and_closes(raw):
    raw.send(resp("QUIT"))
    assert raw.read_to_end() == b"+OK\r\n"


@pytest.mark.parametrize(
    "command, usage",
    [
        ("THROTTLE", "key [max_burst count_per_period period [quantity]]"),
        ("throttle k 10 60", "key [max_burst count_per_period period [quantity]]"),
        ("THROTTLE.PEEK k 10", "key [max_burst count_per_period period [quantity]]"),
        ("THROTTLE.RESET", "key [key ...]"),
        ("THROTTLE.CLEAR k", "takes none"),
        ("PING a b", "[message]"),
        ("AUTH a b c", "[user] token"),
        ("ECHO", "message"),
        ("SELECT", "namespace"),
    ],
)
def test_a_wrong_number_of_arguments_is_told_in_the_words_of_redis_and_then_the_right_one(raw, command, usage):
    name = command.split()[0]
    told, name = name.lower(), name.upper()
    expected = f"-ERR wrong number of arguments for '{told}' command; {name} {usage}\r\n"
    raw.exchange(resp(*command.split()), expected.encode())


@pytest.mark.parametrize(
    "numbers, error",
    [
        (("x", 100, 60), b"-ERR invalid max_burst"),
        ((10, "1e3", 60), b"-ERR invalid count_per_period"),
        ((10, 100, "x"), b"-ERR invalid period"),
        ((10, 100, 60, "x"), b"-ERR invalid quantity"),
        ((10, 100, "9223372036854775808"), b"-ERR invalid period"),
    ],
)
def test_a_word_that_is_no_number_is_refused_and_the_connection_goes_on(raw, key, numbers, error):
    """In throttlecrab's words, and then a hint."""
    raw.send(throttle(key, *numbers) + resp("PING"))
    assert raw.read_line().startswith(error)
    assert raw.read_line() == b"+PONG"


def test_an_unknown_command_is_named(raw):
    raw.exchange(resp("GET", "x"), b"-ERR unknown command 'GET'")


def test_a_transaction_is_refused_as_a_whole(raw, key):
    raw.send(resp("MULTI") + throttle(key, 10, 1, 3600) + resp("GET", "x") + resp("EXEC") + throttle(key, 10, 1, 3600))
    told = [raw.read_line() for _ in range(4)]
    assert [line.split()[0] for line in told] == [b"-ERR", b"-ERR", b"-ERR", b"-EXECABORT"]
    assert b"plain pipeline" in told[0] and b"not run" in told[1] and b"unknown command" in told[2]
    assert raw.read_line() == b"*5"
    for number in (1, 10, 9, 3600, 0):
        assert raw.read_line() == b":%d" % number
    raw.send(resp("EXEC") + resp("MULTI") + resp("DISCARD") + resp("PING"))
    assert raw.read_line().startswith(b"-ERR EXEC without MULTI")
    raw.read_line()
    assert (raw.read_line(), raw.read_line()) == (b"+OK", b"+PONG")


@pytest.mark.parametrize("ending", [b"\r\n", b"\n"])
def test_inline_commands(raw, key, ending):
    raw.exchange(b"PING" + ending, b"+PONG\r\n")
    raw.exchange(b"THROTTLE " + key.replace(b"\n", b"") + b" 10 100 60" + ending, resp_integers(1, 10, 9, 1, 0))
    raw.exchange(b"  ECHO   hello  " + ending, b"$5\r\nhello\r\n")
    raw.exchange(ending + b"PING" + ending, b"+PONG\r\n")


def test_hello_switches_the_protocol(raw):
    raw.send(resp("HELLO", "3"))
    assert raw.read_exactly(1) == b"%"
    raw.send(resp("HELLO", "2"))
    reply = b""
    while b"*" not in reply:
        reply += raw.read_exactly(1)


def test_hello_of_a_version_that_does_not_exist(raw):
    raw.exchange(resp("HELLO", "4"), b"-NOPROTO ")


def test_a_pipeline_is_answered_in_order(raw, key):
    count = 1000
    raw.send(throttle(key, count, 1, 3600) * (count + 1))
    for left in reversed(range(count)):
        expected = resp_integers(1, count, left, (count - left) * 3600, 0)
        assert raw.read_exactly(len(expected)) == expected
    assert raw.read_exactly(len(b"*5\r\n:0\r\n")) == b"*5\r\n:0\r\n"


def test_a_pipeline_deeper_than_one_turn_is_answered_whole(server, key):
    """More than the server answers in one turn, sent while nothing is read."""
    count = 20_000
    with Raw(server.resp, timeout_s=30) as raw:
        raw.send(resp("ECHO", "x") * count)
        assert raw.read_exactly(count * 7) == b"$1\r\nx\r\n" * count


def test_requests_may_arrive_byte_by_byte(raw, key):
    raw.send_byte_by_byte(throttle(key, 10, 100, 60) + b"PING\r\n" + resp("ECHO", b"\r\n"))
    expected = resp_integers(1, 10, 9, 1, 0) + b"+PONG\r\n" + b"$2\r\n\r\n\r\n"
    assert raw.read_exactly(len(expected)) == expected


@pytest.mark.parametrize(
    "garbage",
    [b"*x\r\n", b"*-5\r\n", b"*1\r\n$-10\r\n", b"*1\r\n$x\r\n", b"*99999999999999999999\r\n", b"*1\r\n+PING\r\n\xff"],
)
def test_a_protocol_error_is_told_before_the_connection_closes(raw, garbage):
    raw.send(garbage + resp("QUIT"))
    assert raw.read_to_end().startswith((b"-ERR", b"+OK"))


def test_keys_can_be_counted_and_forgotten_in_the_words_of_redis(start_server, key):
    with Raw(start_server().resp) as raw:
        for number in range(3):
            raw.exchange(throttle(key + b"%d" % number, 1, 1, 3600), resp_integers(1, 1, 0, 3600, 0))
        raw.exchange(resp("DBSIZE"), b":3\r\n")
        raw.exchange(resp("DEL", key + b"0", "never seen"), b":1\r\n")
        raw.exchange(resp("FLUSHDB"), b"+OK\r\n")
        raw.exchange(resp("DBSIZE"), b":0\r\n")


def test_auth_is_asked_for_where_a_token_is_set(start_server, key):
    server = start_server(env={"TIDEGATE_AUTH_TOKEN": "open-sesame"})
    with Raw(server.resp) as raw:
        raw.send(throttle(key, 1, 1, 1) + resp("AUTH", "wrong") + resp("AUTH", "open-sesame") + resp("PING"))
        lines = [raw.read_line() for _ in range(4)]
    assert lines[0].startswith(b"-NOAUTH ")
    assert lines[1].startswith(b"-WRONGPASS ")
    assert lines[2:] == [b"+OK", b"+PONG"]
