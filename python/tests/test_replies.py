"""What replies mean, and what errors become."""

import copy
import json
import pickle
from datetime import datetime, timezone

import pytest

import tidegate
from tidegate import errors
from tidegate.protocol import consume, entity, history, key, lease, message, scope

ROW = [b"acme", b"gpt-4", b"tpm", 1000, -12, 500, 1, 30_720]
STATUS = tidegate.Status("acme", "gpt-4", "tpm", 1000, -12, 500, True, 30.72)


def test_a_granted_acquire():
    granted = lease.acquire("a").decode([1, b"0192f3c4a1b20001", 0, 1_767_355_200_500, [[*ROW[:6], 0, 0]]])
    assert granted.lease == "0192f3c4a1b20001"
    assert granted.expires_at == datetime(2026, 1, 2, 12, 0, 0, 500_000, timezone.utc)
    assert [(s.limit, s.available, s.exceeded, s.retry_after) for s in granted.statuses] == [("tpm", -12, False, 0.0)]


def test_a_denied_acquire_says_which_limits_and_when():
    with pytest.raises(tidegate.RateLimitExceeded) as denied:
        lease.acquire("a").decode([0, None, 30_720, 0, [ROW, [b"acme", b"gpt-4", b"rpm", 10, 9, 1, 0, 0]]])
    assert denied.value.retry_after == 30.72
    assert denied.value.violations == [STATUS]
    assert len(denied.value.statuses) == 2
    assert str(denied.value) == "acme/gpt-4 tpm: 500 asked, -12 there (retry in 30.72 s)"


def test_nobody_knows_when_a_slot_comes_back():
    with pytest.raises(tidegate.RateLimitExceeded, match="when one comes back") as denied:
        lease.acquire("a").decode([0, None, -1, 0, [[b"a", b"r", b"inflight", 8, 0, 1, 1, -1]]])
    assert denied.value.retry_after is None and denied.value.violations[0].retry_after is None


def test_what_a_later_server_adds_is_passed_over():
    assert lease.take("a").decode([1, None, 0, 0, [[*ROW, b"new"]], b"new"]) == [STATUS]
    found = entity.get("a").decode(json.dumps({"id": "a", "name": None, "colour": "red", "created_at_ms": 1000}))
    assert found == tidegate.Entity("a", created_at=datetime.fromtimestamp(1, timezone.utc))


@pytest.mark.parametrize(
    "reply, decision",
    [
        ([1, 10, 9, 6, 0], tidegate.Decision(True, 10, 9, 6.0, 0.0)),
        ([0, 10, 0, 60, 6], tidegate.Decision(False, 10, 0, 60.0, 6.0)),
        ([0, 10, 10, 0, -1], tidegate.Decision(False, 10, 10, 0.0, None)),
    ],
)
def test_decisions(reply, decision):
    assert key.throttle("k").decode(reply) == decision


def flat(**fields):
    return [word for name, value in fields.items() for word in (name.encode(), value)]


def test_a_message():
    reply = flat(
        receipt=b"0192-1",
        id=b"0192",
        attempts=1,
        key=b"tenant",
        weight=2,
        cost=3,
        enqueued_at=1000,
        payload=b'{"a":1}',
        headers=[b"kind", b"welcome"],
        throttle=[b"smtp"],
        charges=[[b"acme", b"gpt-4", b"rpm", 1], [b"acme", b"gpt-4", b"tpm", 5]],
        dead=flat(reason=b"max_attempts", queue=b"q", at=2000, attempts=5),
    )
    found = consume.pushed("q", [b"message", 1, reply])
    assert (found.id, found.receipt, found.fairness_key, found.headers) == (
        "0192",
        "0192-1",
        "tenant",
        {"kind": "welcome"},
    )
    assert found.json() == {"a": 1} and found.text() == '{"a":1}'
    assert found.charges == [tidegate.Charge("acme", "gpt-4", {"rpm": 1, "tpm": 5})]
    assert found.dead.reason == "max_attempts" and found.dead.attempts == 5
    assert message.receive("q").decode([]) == []


def test_what_is_no_message_is_told_apart():
    assert consume.pushed("q", b"OK") is None
    assert consume.pushed("q", b"PONG") is None


def test_settings_and_what_resolves():
    told = {"limits": [{"name": "tpm", "amount": 10, "period": "minute"}], "cascade": True, "lease_ttl_ms": 90_000}
    settings = scope.get().decode(json.dumps(told))
    assert settings == tidegate.Settings([tidegate.Limit.per_minute("tpm", 10)], cascade=True, lease_ttl=90.0)
    told = {
        "entity": "a",
        "resource": "r",
        "level": "resource",
        "limits": ["inflight=8"],
        "mode": None,
        "cascade": False,
        "parents": [{"entity": "p", "level": "system", "limits": [], "mode": None}],
    }
    resolved = scope.resolve("a", "r").decode(json.dumps(told))
    assert resolved.limits == [tidegate.Limit.concurrency("inflight", 8)]
    assert resolved.parents == [tidegate.Parent("p", "system", [], None)]


def test_history():
    row = {"entity": "a", "resource": "r", "limit": "tpm", "window_start_ms": 0, "amount": 5, "events": 2}
    told = {"rows": [row], "totals": [{"resource": "r", "limit": "tpm", "amount": 5, "events": 2}]}
    usage = history.usage(window="hour").decode(json.dumps(told))
    assert usage.rows[0].start == datetime.fromtimestamp(0, timezone.utc) and not usage.truncated
    assert usage.totals == [tidegate.UsageTotal("r", "tpm", 5, 2)]
    event = {"seq": 7, "at_ms": 0, "actor": "ci", "action": "set", "subject": "$SYSTEM", "after": {}}
    page = history.audit().decode(json.dumps({"events": [event], "next": 7}))
    assert [(e.seq, e.actor, e.before) for e in page] == [(7, "ci", None)] and page.next == 7


@pytest.mark.parametrize(
    "text, kind, code, message, hint",
    [
        (
            "queue_not_found: no queue `q`; create it first",
            errors.NotFound,
            "queue_not_found",
            "no queue `q`",
            "create it first",
        ),
        (
            "ERR version_mismatch: it is at 4; read it again",
            errors.Conflict,
            "version_mismatch",
            "it is at 4",
            "read it again",
        ),
        ("disabled: `acme` is disabled; enable it", errors.Disabled, "disabled", "`acme` is disabled", "enable it"),
        ("store_unavailable: no; wait", errors.Unavailable, "store_unavailable", "no", "wait"),
        ("never_passes: too much; ask less; or wait", errors.Refused, "never_passes", "too much", "ask less; or wait"),
        ("wrong number of arguments", errors.Refused, "ERR", "wrong number of arguments", ""),
        ("Protocol error: too big", errors.Refused, "ERR", "Protocol error: too big", ""),
    ],
)
def test_refusals_are_taken_apart(text, kind, code, message, hint):
    refused = errors.refused(text)
    assert type(refused) is kind
    assert (refused.code, refused.message, refused.hint) == (code, message, hint)


@pytest.mark.parametrize(
    "error",
    [errors.NotFound("a", "b", "c"), errors.RateLimitExceeded([STATUS], 1.5), errors.UnexpectedReply("OK", b"no")],
)
def test_errors_can_be_sent_to_another_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert copy.copy(error).args == error.args


@pytest.mark.parametrize("wrong", [b"no", 7, None, []])
def test_a_reply_that_makes_no_sense(wrong):
    for command in [lease.settle("0f"), entity.get("a"), key.throttle("k"), lease.acquire("a")]:
        with pytest.raises(errors.UnexpectedReply):
            command.decode(wrong)


def test_builtin_errors_can_be_caught():
    assert issubclass(tidegate.Unreachable, ConnectionError)
    assert issubclass(tidegate.TimedOut, TimeoutError)
