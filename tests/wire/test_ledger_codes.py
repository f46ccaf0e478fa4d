"""Refusals over HTTP and gRPC have the status that docs/guides/protocols.md says."""

import re

import grpc
import pytest

from decision import Refused
from ledger_clients import LEDGER_TRANSPORTS
from server import ROOT

GUIDE = (ROOT / "docs/guides/protocols.md").read_text()
ROW = re.compile(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| (\d{3}) \| ([A-Z_]+) \|", re.MULTILINE)
STATUS = {
    code: (int(status), rpc) for codes, status, rpc in ROW.findall(GUIDE) for code in re.findall(r"[a-z_]+", codes)
}


def deleted(ledger):
    ledger.delete_namespace(ledger.namespace)
    return ledger.acquire(("a", "r", {"tpm": 1}))


def disabled(ledger):
    ledger.set_limits(entity="a", mode="disabled")
    return ledger.acquire(("a", "r", {"tpm": 1}))


def unlimited(ledger):
    ledger.remove_limits()
    return ledger.acquire(("a", "r", {"tpm": 1}))


def deep(ledger):
    for level in range(10):
        ledger.create_entity(f"level-{level}", **({"parent": f"level-{level - 1}"} if level else {}))


WRONG = {
    "unknown_limit": lambda ledger: ledger.acquire(("a", "r", {"nope": 1})),
    "never_passes": lambda ledger: ledger.acquire(("a", "r", {"tpm": 101})),
    "invalid_amount": lambda ledger: ledger.acquire(("a", "r", {"tpm": -1})),
    "invalid_name": lambda ledger: ledger.acquire(("a b", "r", {"tpm": 1})),
    "invalid_limit": lambda ledger: ledger.acquire(("a", "r", {"tpm": 1}), limits=["tpm=0/day"]),
    "invalid_settings": lambda ledger: ledger.set_limits(mode="disabled"),
    "invalid_manifest": lambda ledger: ledger.plan({"sytem": {}}),
    "invalid_request": lambda ledger: ledger.acquire(("a", "r", {"tpm": 1}), on_expiry="later"),
    "lease_required": lambda ledger: ledger.acquire(("a", "r", {"tpm": 1}), lease=False),
    "too_many_charges": lambda ledger: ledger.acquire(*[(f"a{n}", "r", {"tpm": 1}) for n in range(17)]),
    "disabled": disabled,
    "entity_not_found": lambda ledger: ledger.entity("missing"),
    "parent_not_found": lambda ledger: ledger.create_entity("b", parent="missing"),
    "scope_not_found": lambda ledger: ledger.get_limits(resource="missing"),
    "lease_not_found": lambda ledger: ledger.settle_lease("0192f3c4a1b20001"),
    "namespace_not_found": lambda ledger: ledger.recover_namespace("missing"),
    "no_limits": unlimited,
    "entity_exists": lambda ledger: ledger.create_entity("child"),
    "cycle": lambda ledger: ledger.move_entity("parent", "child"),
    "too_deep": deep,
    "has_children": lambda ledger: ledger.delete_entity("parent"),
    "version_mismatch": lambda ledger: ledger.update_entity("child", version=99, name="x"),
    "namespace_deleted": deleted,
}


@pytest.fixture(params=["http", "grpc"])
def told(request, server, namespace):
    """A transport, and the status of its last answer."""
    ledger = LEDGER_TRANSPORTS[request.param](server, namespace)
    seen = []
    if request.param == "http":
        ledger.http.event_hooks["response"] = [lambda response: seen.append(response.status_code)]
    else:
        ledger._call = lambda method, message: call(ledger, method, message, seen)
    ledger.set_limits("tpm=100/day", "inflight=5")
    ledger.create_entity("parent")
    ledger.create_entity("child", parent="parent")
    yield ledger, seen
    ledger.close()


def call(ledger, method, message, seen):
    try:
        return method(message, timeout=20, metadata=ledger._metadata())
    except grpc.RpcError as error:
        seen.append(error.code().name)
        raise Refused(dict(error.trailing_metadata())["tidegate-code"], error.details()) from None


@pytest.mark.parametrize("code", WRONG)
def test_a_refusal_has_the_status_that_the_guide_says(told, code):
    ledger, seen = told
    with pytest.raises(Refused) as refused:
        WRONG[code](ledger)
    assert refused.value.code == code
    assert seen[-1] in STATUS[code]
