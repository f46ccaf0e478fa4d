"""Usage, audit, and why: one script for every transport, same steps, same outcomes."""

import csv
import gzip
import io
import json
import time

import httpx
import pytest

from decision import Refused
from ledger_clients import LEDGER_TRANSPORTS
from ledger_refusal import refusal
from polling import eventually
from server import run_tidegate

WINDOWS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


def totals(usage):
    return {(total["resource"], total["limit"]): (total["amount"], total["events"]) for total in usage["totals"]}


def rows(usage):
    """Without their windows: a test may run over the end of one."""
    sums = {}
    for row in usage["rows"]:
        name = (row["entity"], row["resource"], row["limit"])
        amount, events = sums.get(name, (0, 0))
        sums[name] = (amount + row["amount"], events + row["events"])
    return sums


# Usage


def test_usage_counts_what_was_taken_and_given_back(ledger):
    ledger.set_limits("tpm=1000/day", "rpm=100/day")
    settled = ledger.acquire(("acme", "gpt-4", {"tpm": 100, "rpm": 1}))
    released = ledger.acquire(("acme", "gpt-4", {"tpm": 50, "rpm": 1}))
    ledger.acquire(("acme", "gpt-4", {"tpm": 5}), lease=False)
    ledger.acquire(("other", "gpt-4", {"tpm": 7}), ("acme", "embed", {"tpm": 3}))
    ledger.settle_lease(settled.lease, {"tpm": 130})
    ledger.release_lease(released.lease)
    assert not ledger.acquire(("acme", "gpt-4", {"tpm": 900})).granted
    for window in ("minute", "hour", "day", "month"):
        usage = ledger.usage(window=window)
        assert totals(usage) == {
            ("gpt-4", "tpm"): (142, 4),
            ("gpt-4", "rpm"): (1, 2),
            ("embed", "tpm"): (3, 1),
        }, window
        assert rows(usage)[("acme", "gpt-4", "tpm")] == (135, 3)
        assert usage["truncated"] is False
    acme = ledger.usage(entity="acme", resource="gpt-4", limit="tpm", window="hour")
    assert totals(acme) == {("gpt-4", "tpm"): (135, 3)}
    assert rows(ledger.usage(entity="nobody", window="hour")) == {}


def test_windows_begin_where_the_calendar_says(ledger):
    ledger.set_limits("tpm=1000/day")
    before = int(time.time() * 1000)
    ledger.acquire(("acme", "gpt-4", {"tpm": 1}))
    after = int(time.time() * 1000)
    for window, ms in WINDOWS.items():
        (row,) = ledger.usage(window=window)["rows"]
        assert row["window_start_ms"] in {at // ms * ms for at in (before, after)}, window
    (row,) = ledger.usage(window="month")["rows"]
    assert time.gmtime(row["window_start_ms"] / 1000)[2:6] == (1, 0, 0, 0)


def test_usage_of_parents_is_theirs_too(ledger):
    ledger.create_entity("org")
    ledger.create_entity("key", parent="org", cascade=True)
    ledger.set_limits("tpm=1000/day")
    ledger.acquire(("key", "gpt-4", {"tpm": 10}))
    assert rows(ledger.usage(window="hour")) == {
        ("key", "gpt-4", "tpm"): (10, 1),
        ("org", "gpt-4", "tpm"): (10, 1),
    }


def test_rows_beyond_the_most_are_left_out_and_said_so(ledger):
    ledger.set_limits("tpm=1000/day")
    for entity in "abc":
        ledger.acquire((entity, "gpt-4", {"tpm": 10}))
    usage = ledger.usage(window="day", max=2)
    assert len(usage["rows"]) == 2 and usage["truncated"] is True
    assert totals(usage) == {("gpt-4", "tpm"): (30, 3)}, "totals are of all"


def test_a_window_that_is_none(server, namespace):
    for name, adapter in LEDGER_TRANSPORTS.items():
        ledger = adapter(server, namespace)
        if name == "cli":
            with pytest.raises(AssertionError, match="minute, hour, day, month"):
                ledger.usage(window="year")
        else:
            assert refusal(ledger.usage, window="year") == "invalid_request"
        ledger.close()


def test_usage_as_a_table_by_http_and_command_line(server, namespace):
    ledger = LEDGER_TRANSPORTS["http"](server, namespace)
    ledger.set_limits("tpm=1000/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 10}))
    answer = ledger.http.get("/usage.csv", params={"window": "day"})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert row.pop("window_start_ms").isdigit()
    assert row == {"entity": "acme", "resource": "gpt-4", "limit": "tpm", "amount": "10", "events": "1"}
    door = ["--server", "{}:{}".format(*server.resp), "--namespace", namespace]
    table = run_tidegate("usage", "--window", "day", "--csv", *door)
    (row,) = csv.DictReader(io.StringIO(table.stdout))
    assert (row["entity"], row["amount"]) == ("acme", "10")
    plot = run_tidegate("usage", "--entity", "acme", "--window", "minute", "--plot", *door)
    assert plot.returncode == 0 and "tpm" in plot.stdout and "10" in plot.stdout, plot
    ledger.close()


# Audit


def events(ledger, count, **query):
    """That many changes, newest first; they get there with the next flush."""
    found = eventually(
        lambda: (told := ledger.audit(**query)["events"]) and len(told) >= count and told, f"{count} events"
    )
    assert len(found) == count, found
    return found


def test_every_change_is_told_with_who_before_and_after(server, namespace):
    for name, adapter in LEDGER_TRANSPORTS.items():
        ledger = adapter(server, f"{namespace}-{name}", actor=f"alice-{name}")
        ledger.set_limits("tpm=100/day")
        ledger.set_limits("tpm=200/day")
        ledger.set_limits("tpm=300/day", resource="gpt-4")
        ledger.create_entity("acme", name="Acme")
        ledger.update_entity("acme", name="Acme Ltd")
        ledger.remove_limits(resource="gpt-4")
        ledger.top_up("acme", "gpt-4", {"tpm": 5})
        ledger.reset_buckets("acme", "gpt-4")
        ledger.delete_entity("acme")
        newest = events(ledger, 9)
        assert {event["actor"] for event in newest} == {f"alice-{name}"}
        assert [event["subject"] for event in newest] == [
            "acme",
            "acme",
            "acme",
            "$RESOURCE:gpt-4",
            "acme",
            "acme",
            "$RESOURCE:gpt-4",
            "$SYSTEM",
            "$SYSTEM",
        ]
        oldest = newest[::-1]
        assert oldest[0]["before"] is None and oldest[0]["after"]["limits"][0]["amount"] == 100
        assert oldest[1]["before"]["limits"][0]["amount"] == 100 and oldest[1]["after"]["limits"][0]["amount"] == 200
        assert (oldest[4]["before"]["name"], oldest[4]["after"]["name"]) == ("Acme", "Acme Ltd")
        assert oldest[5]["after"] is None and oldest[5]["before"]["limits"][0]["amount"] == 300
        assert oldest[8]["before"]["name"] == "Acme Ltd" and oldest[8]["after"] is None
        assert len({event["action"] for event in newest}) >= 6, [event["action"] for event in newest]
        assert all(abs(event["at_ms"] - time.time() * 1000) < 60_000 for event in newest)
        assert [event["seq"] for event in oldest] == sorted({event["seq"] for event in oldest})
        ledger.close()


def test_audit_by_subject_and_by_pages(ledger):
    for number in range(1, 6):
        ledger.set_limits(f"tpm={number}/day")
    ledger.set_limits("tpm=1/day", entity="acme")
    assert [event["after"]["limits"][0]["amount"] for event in events(ledger, 5, subject="$SYSTEM")] == [5, 4, 3, 2, 1]
    (acme,) = events(ledger, 1, subject="acme")
    assert acme["after"]["limits"][0]["amount"] == 1
    first = ledger.audit(subject="$SYSTEM", max=2)
    rest = ledger.audit(subject="$SYSTEM", before=first["next"])
    told = [event["after"]["limits"][0]["amount"] for event in first["events"] + rest["events"]]
    assert told == [5, 4, 3, 2, 1]


def test_without_a_name_the_actor_is_the_transport(ledger):
    ledger.set_limits("tpm=100/day")
    (event,) = events(ledger, 1)
    assert event["actor"], event


def test_what_was_refused_is_no_change(ledger):
    ledger.set_limits("tpm=100/day")
    with pytest.raises(Refused):
        ledger.create_entity("a", parent="missing")
    with pytest.raises(Refused):
        ledger.remove_limits(resource="missing")
    ledger.create_entity("last")
    assert [event["subject"] for event in events(ledger, 2)] == ["last", "$SYSTEM"]


def test_audit_is_exported_as_compressed_lines(server, namespace, tmp_path):
    ledger = LEDGER_TRANSPORTS["http"](server, namespace)
    for number in range(1, 4):
        ledger.set_limits(f"tpm={number}/day")
    events(ledger, 3)
    answer = httpx.get(server.url + "/audit.jsonl.gz", headers={"Tidegate-Namespace": namespace})
    lines = [json.loads(line) for line in gzip.decompress(answer.content).splitlines()]
    assert [line["after"]["limits"][0]["amount"] for line in lines] == [3, 2, 1]
    file = tmp_path / "audit.jsonl.gz"
    door = ["--server", "{}:{}".format(*server.resp), "--namespace", namespace]
    done = run_tidegate("audit", "export", file, *door)
    assert done.returncode == 0, done.stderr
    exported = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert sorted(line["seq"] for line in exported) == sorted(line["seq"] for line in lines)
    ledger.close()


# Why


def test_why_an_acquire_is_denied(ledger):
    ledger.set_limits("tpm=86400/day,burst=100", "rpm=10/day")
    ledger.acquire(("acme", "gpt-4", {"tpm": 100}))
    why = ledger.why_acquire("acme", "gpt-4", tpm=50, rpm=1)
    assert why["allowed"] is False and 30_000 < why["retry_after_ms"] <= 50_000
    short = [status for status in why["statuses"] if status["exceeded"]]
    assert [(status["entity"], status["limit"], status["requested"]) for status in short] == [("acme", "tpm", 50)]
    assert "acme" in why["summary"] and "tpm" in why["summary"]
    assert ledger.why_acquire("other", "gpt-4", tpm=50)["allowed"] is True


def test_why_a_message_waits_for_an_entity(ledger):
    ledger.set_limits("tpm=86400/day,burst=100")
    ledger.create("q")
    ledger.acquire(("acme", "gpt-4", {"tpm": 100}))
    charge = [("acme", "gpt-4", {"tpm": 50})]
    first, second = (ledger.enqueue("q", b"x", key="flow", entity_charges=charge) for _ in range(2))
    later = ledger.enqueue("q", b"x", key="flow", delay_ms=60_000)
    limit = {"entity": "acme", "resource": "gpt-4", "limit": "tpm"}

    def is_known():
        # A table may have to be asked first, and who has asked for a message that could not go at once is not told of it.
        assert ledger.receive("q") == []
        return ledger.why_message("q", first)["lanes"][0].get("until_ms")

    eventually(is_known, "it is known when it is paid")
    for ahead, id in enumerate((first, second)):
        why = ledger.why_message("q", id)
        (lane,) = why["lanes"]
        assert (lane["state"], lane["ahead"], lane["waits_for"]) == ("parked", ahead, limit)
        assert 0 < lane["until_ms"] - time.time() * 1000 < 60_000
        assert all(word in why["summary"] for word in limit.values()), why
    (lane,) = ledger.why_flow("q", "flow")["lanes"]
    assert (lane["state"], lane["messages"], lane["waits_for"]) == ("parked", 2, limit)
    assert ledger.why_message("q", later)["lanes"][0]["state"] == "delayed"
    assert refusal(ledger.why_message, "q", "0192f3c4a1b20001") == "message_not_found"
    assert refusal(ledger.why_message, "missing", first) == "queue_not_found"


def test_why_a_message_of_a_disabled_entity_waits(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.set_limits(entity="acme", mode="disabled")
    ledger.create("q")
    id = ledger.enqueue("q", b"x", entity_charges=[("acme", "gpt-4", {"tpm": 50})])
    assert ledger.receive("q") == []
    (lane,) = ledger.why_message("q", id)["lanes"]
    assert (lane["state"], lane["waits_for"]["entity"], lane["until_ms"]) == ("parked", "acme", None)


def test_why_nothing_is_in_the_way(ledger):
    ledger.create("q")
    id = ledger.enqueue("q", b"x")
    assert ledger.why_message("q", id)["lanes"][0]["state"] == "ready"
    ledger.receive("q")
    assert ledger.why_message("q", id)["lanes"][0]["state"] == "leased"
