"""What docs/guides/limits.md shows runs, and does what it says."""

import json
import re
import shlex

from ledger_clients import LEDGER_TRANSPORTS, RespLedger
from server import ROOT, run_tidegate

GUIDE = (ROOT / "docs/guides/limits.md").read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)[1]


def test_the_commands_at_the_top(server, namespace):
    ledger, lease = RespLedger(server, namespace), None
    for line in filter(None, block("sh").splitlines()):
        words = shlex.split(line, comments=True)
        assert words[:3] == ["redis-cli", "-p", "6380"], line
        words = [lease.decode() if re.fullmatch(r"[0-9a-f]{16}", word) else word for word in words[3:]]
        answer = ledger.redis.execute_command(*words)
        if words[0] == "ACQUIRE":
            granted, lease, *_ = answer
            assert granted == 1 and f"[{granted}," in line
    (total,) = ledger.usage(entity="acme", limit="tpm", window="month")["totals"]
    assert (total["amount"], total["events"]) == (812, 1)
    ledger.close()


def test_limits_as_text_and_as_json_are_the_same(server, namespace):
    ledger = RespLedger(server, namespace)
    rows = re.findall(r"^\| `([a-z]+=[^`]*)` \| `([^`]*)` \|", GUIDE, re.MULTILINE)
    assert len(rows) == 5
    for text, document in rows:
        told = ledger.set_limits(text)["limits"]
        if document.startswith("..."):
            name, value = re.fullmatch(r'\.\.\."(\w+)":(.*)', document).groups()
            assert told[0][name] == json.loads(value)
        else:
            assert told == [json.loads(document)]
            assert ledger.set_limits(json.loads(document))["limits"] == told
    ledger.close()


def test_the_file(server, namespace, tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text(block("yaml"))
    door = ["--server", "{}:{}".format(*server.resp), "--namespace", namespace]
    planned = run_tidegate("limits", "plan", file, *door)
    assert planned.returncode == 0 and "$SYSTEM" in planned.stdout and "acme/gpt-4" in planned.stdout, planned
    assert run_tidegate("limits", "diff", file, *door).returncode == 1
    applied = run_tidegate("limits", "apply", file, *door)
    assert applied.returncode == 0, applied.stderr
    same = run_tidegate("limits", "diff", file, *door)
    assert same.returncode == 0, same.stdout
    exported = tmp_path / "exported.yaml"
    exported.write_text(run_tidegate("limits", "export", *door).stdout)
    assert run_tidegate("limits", "diff", exported, *door).returncode == 0
    ledger = LEDGER_TRANSPORTS["http"](server, namespace)
    assert [parent["entity"] for parent in ledger.resolve("key-1", "gpt-4")["parents"]] == ["acme"]
    ledger.close()
