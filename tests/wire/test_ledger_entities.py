"""Entities, namespaces and manifests: one script for every transport, same steps, same outcomes."""

import time

import pytest

from clients import TRANSPORTS
from decision import Limit
from ledger_clients import LEDGER_TRANSPORTS
from ledger_refusal import refusal, refused
from polling import eventually

TPM = {"tpm": 10}


@pytest.fixture(params=[name for name, adapter in LEDGER_TRANSPORTS.items() if hasattr(adapter, "put_entities")])
def bulk(request, server, namespace):
    """A transport that puts many entities at once; the command line has manifests for that."""
    adapter = LEDGER_TRANSPORTS[request.param](server, namespace)
    yield adapter
    adapter.close()


def ids(page):
    return [entity["id"] for entity in page["entities"]]


def test_an_entity_is_made_looked_at_changed_and_deleted(ledger):
    before = time.time() * 1000
    made = ledger.create_entity("acme", name="Acme Inc", weight=3, metadata={"plan": "pro", "seats": 5})
    assert (made["id"], made["name"], made["weight"], made["version"]) == ("acme", "Acme Inc", 3, 1)
    assert made["metadata"] == {"plan": "pro", "seats": 5}
    assert before - 5_000 < made["created_at_ms"] == made["updated_at_ms"] < before + 30_000
    assert ledger.entity("acme") == made
    changed = ledger.update_entity("acme", name="Acme Ltd")
    assert (changed["name"], changed["weight"], changed["version"]) == ("Acme Ltd", 3, 2), "the rest stays"
    assert changed["metadata"] == {"plan": "pro", "seats": 5}
    cleared = ledger.update_entity("acme", weight=None, metadata={"plan": "free"})
    assert (cleared.get("weight"), cleared["metadata"]) == (None, {"plan": "free"})
    assert refusal(ledger.create_entity, "acme") == "entity_exists"
    ledger.delete_entity("acme")
    assert refusal(ledger.entity, "acme") == "entity_not_found"
    assert refusal(ledger.delete_entity, "acme") == "entity_not_found"
    assert refusal(ledger.update_entity, "acme", name="x") == "entity_not_found"


def test_an_update_of_an_old_version_is_refused(ledger):
    version = ledger.create_entity("acme")["version"]
    newer = ledger.update_entity("acme", version=version, name="first")
    late = refused(ledger.update_entity, "acme", version=version, name="second")
    assert late.code == "version_mismatch" and str(newer["version"]) in late.text
    assert ledger.entity("acme")["name"] == "first"


def test_a_parent_has_to_exist_and_cycles_are_refused(ledger):
    assert refusal(ledger.create_entity, "a", parent="missing") == "parent_not_found"
    assert refusal(ledger.entity, "a") == "entity_not_found"
    ledger.create_entity("a")
    ledger.create_entity("b", parent="a")
    ledger.create_entity("c", parent="b")
    assert refusal(ledger.move_entity, "a", "c") == "cycle"
    assert refusal(ledger.move_entity, "a", "a") == "cycle"
    assert refusal(ledger.move_entity, "a", "missing") == "parent_not_found"
    assert ledger.move_entity("c", "a")["parent"] == "a"
    assert ledger.move_entity("b", "c")["parent"] == "c"
    assert ledger.move_entity("c", None).get("parent") is None
    assert ids(ledger.children("a")) == [] and ids(ledger.children("c")) == ["b"]


def test_eight_levels_and_no_more(ledger):
    ledger.create_entity("e1")
    for level in range(2, 9):
        ledger.create_entity(f"e{level}", parent=f"e{level - 1}")
    assert refusal(ledger.create_entity, "e9", parent="e8") == "too_deep"
    ledger.create_entity("top")
    assert refusal(ledger.move_entity, "e1", "top") == "too_deep", "what is below moves along"
    ledger.move_entity("e2", "top")


def test_a_parent_is_not_deleted_from_under_its_children(ledger):
    ledger.create_entity("org")
    for child in ("b", "a", "c"):
        ledger.create_entity(child, parent="org")
    assert ids(ledger.children("org")) == ["a", "b", "c"]
    page = ledger.children("org", count=2)
    assert ids(page) == ["a", "b"] and ids(ledger.children("org", after=page["next"])) == ["c"]
    assert refusal(ledger.delete_entity, "org") == "has_children"
    for child in ("a", "b", "c"):
        ledger.delete_entity(child)
    ledger.delete_entity("org")
    assert ledger.entities() == {"entities": [], "next": None}


def test_a_deleted_entity_takes_its_limits_and_buckets_with_it(ledger):
    ledger.set_limits("tpm=100/day")
    ledger.create_entity("acme")
    ledger.set_limits("tpm=50/day", entity="acme", resource="gpt-4")
    ledger.acquire(("acme", "gpt-4", {"tpm": 40}))
    ledger.delete_entity("acme")
    assert ledger.resolve("acme", "gpt-4")["level"] == "system"
    assert refusal(ledger.get_limits, entity="acme", resource="gpt-4") == "scope_not_found"
    assert ledger.acquire(("acme", "gpt-4", {"tpm": 100})).granted, "what was spent is forgotten"


def test_entities_are_listed_by_pages(bulk):
    assert bulk.put_entities(*({"id": f"e{n:03}"} for n in range(150)), {"id": "child", "parent": "e000"}) == 151
    names, after = [], None
    while True:
        page = bulk.entities(count=60, after=after)
        names += ids(page)
        after = page["next"]
        if after is None:
            break
    assert names == ["child"] + [f"e{n:03}" for n in range(150)]
    assert len(ids(bulk.entities())) == 100, "unless told otherwise"


def test_many_entities_are_put_all_or_none(bulk):
    bulk.create_entity("old", name="before")
    assert refusal(bulk.put_entities, {"id": "new"}, {"id": "x", "parent": "missing"}) == "parent_not_found"
    assert refusal(bulk.put_entities, {"id": "new"}, {"id": "a b"}) == "invalid_name"
    assert ids(bulk.entities()) == ["old"]
    assert bulk.put_entities({"id": "new"}, {"id": "old", "name": "after"}) == 2
    assert ids(bulk.entities()) == ["new", "old"] and bulk.entity("old")["name"] == "after"


@pytest.mark.parametrize("id", ["a b", "_x", "x" * 257, "ä"])
def test_a_name_that_cannot_be_says_the_rule(ledger, id):
    wrong = refused(ledger.create_entity, id)
    assert wrong.code == "invalid_name"
    assert "256" in wrong.text and "letter" in wrong.text


# Namespaces


def test_namespaces_are_worlds_of_their_own(ledger, server, namespace):
    other = type(ledger)(server, f"{namespace}-other")
    ledger.set_limits("tpm=100/day")
    ledger.create_entity("acme")
    ledger.acquire(("acme", "gpt-4", TPM))
    assert refusal(other.acquire, ("acme", "gpt-4", TPM)) == "no_limits"
    assert refusal(other.entity, "acme") == "entity_not_found"
    other.set_limits("tpm=100/day")
    assert other.acquire(("acme", "gpt-4", TPM)).available() == {("acme", "tpm"): 90}
    assert other.usage(window="hour")["totals"][0]["events"] == 1
    assert {namespace, f"{namespace}-other"} <= {one["name"] for one in ledger.namespaces()}
    other.close()


def test_a_deleted_namespace_is_refused_everywhere_until_it_is_recovered(ledger, server, namespace):
    admin = type(ledger)(server)
    ledger.set_limits("tpm=100/day")
    ledger.create_entity("acme")
    ledger.create("q")
    ledger.enqueue("q", b"x")
    ledger.set_limit("key", 5, 5, 3600)
    lease = ledger.acquire(("acme", "gpt-4", TPM)).lease
    assert admin.delete_namespace(namespace)["deleted_at_ms"]
    for call, args in [
        (ledger.acquire, [("acme", "gpt-4", TPM)]),
        (ledger.settle_lease, [lease]),
        (ledger.entity, ["acme"]),
        (ledger.create_entity, ["new"]),
        (ledger.resolve, ["acme", "gpt-4"]),
        (ledger.enqueue, ["q", b"x"]),
        (ledger.receive, ["q"]),
        (ledger.inspect, ["q"]),
        (ledger.take_limit, ["key"]),
        (ledger.usage, []),
    ]:
        assert refusal(call, *args) == "namespace_deleted", call.__name__
    (told,) = [one for one in admin.namespaces() if one["name"] == namespace]
    assert told["deleted_at_ms"]
    assert admin.recover_namespace(namespace)["deleted_at_ms"] is None
    assert ledger.entity("acme")["id"] == "acme"
    ledger.settle_lease(lease, {"tpm": 20})
    assert ledger.available("acme", "gpt-4", tpm=80)["allowed"] is True
    (message,) = ledger.receive("q")
    assert message.payload == b"x" and ledger.take_limit("key").remaining == 4
    admin.close()


@pytest.mark.parametrize("name", [name for name in TRANSPORTS if name != "grpc-throttlecrab"])
def test_keys_of_a_deleted_namespace_are_refused_kept_and_purged(server, namespace, name):
    admin, limit = LEDGER_TRANSPORTS["http"](server), Limit(10, 1, 3600)
    transport = TRANSPORTS[name](server, namespace)
    transport.throttle(b"k", limit, 4)
    # One with nothing but inline keys has nothing to recover: they are cleared.
    assert refusal(admin.delete_namespace, namespace) == "namespace_not_found"
    LEDGER_TRANSPORTS["http"](server, namespace).create_entity("acme")
    admin.delete_namespace(namespace)
    assert refusal(transport.throttle, b"k", limit) == "namespace_deleted"
    assert refusal(transport.peek, b"k", limit) == "namespace_deleted"
    admin.recover_namespace(namespace)
    assert transport.throttle(b"k", limit).remaining == 5
    admin.delete_namespace(namespace)
    admin.purge_namespace(namespace)
    assert transport.throttle(b"k", limit).remaining == 9
    transport.close()
    admin.close()


def test_a_purged_namespace_is_gone_for_good(ledger, server, namespace):
    admin = type(ledger)(server)
    ledger.set_limits("tpm=100/day")
    ledger.create_entity("acme")
    ledger.create("q")
    ledger.acquire(("acme", "gpt-4", TPM))
    assert refusal(admin.purge_namespace, namespace) == "namespace_not_found", "only what is deleted"
    admin.delete_namespace(namespace)
    assert admin.purge_namespace(namespace)["purged"] is True
    assert refusal(admin.recover_namespace, namespace) == "namespace_not_found"
    assert namespace not in {one["name"] for one in admin.namespaces()}
    assert refusal(ledger.acquire, ("acme", "gpt-4", TPM)) == "no_limits", "free for a new start"
    assert refusal(ledger.entity, "acme") == "entity_not_found"
    assert refusal(ledger.inspect, "q") == "queue_not_found"
    eventually(lambda: ledger.usage(window="hour")["rows"] == [], "usage is gone")
    ledger.set_limits("tpm=100/day")
    assert ledger.acquire(("acme", "gpt-4", TPM)).available() == {("acme", "tpm"): 90}
    admin.close()


def test_a_namespace_that_is_not_there(ledger, namespace):
    assert refusal(ledger.delete_namespace, f"{namespace}-missing") == "namespace_not_found"
    assert refusal(ledger.purge_namespace, f"{namespace}-missing") == "namespace_not_found"
    assert refusal(ledger.recover_namespace, f"{namespace}-missing") == "namespace_not_found"


# Manifests

MANIFEST = {
    "system": {"limits": ["rpm=10/day"]},
    "resources": {"gpt-4": {"limits": ["rpm=60/day", "tpm=1000/day,burst=2000"]}},
    "entities": {
        "acme": {"name": "Acme Inc", "limits": {"gpt-4": {"limits": ["tpm=5000/day", "inflight=8"]}}},
        "key-1": {"parent": "acme", "cascade": True},
    },
}


def actions(changes):
    return {(change["action"], change["subject"]) for change in changes}


def test_a_manifest_is_planned_applied_and_what_leaves_it_is_removed(ledger):
    everything = {
        ("create", "$SYSTEM"),
        ("create", "$RESOURCE:gpt-4"),
        ("create", "acme"),
        ("create", "acme/gpt-4"),
        ("create", "key-1"),
    }
    assert actions(ledger.plan(MANIFEST)) == everything
    assert ledger.resolve("key-1", "gpt-4")["level"] is None, "a plan changes nothing"
    assert actions(ledger.apply(MANIFEST)) == everything
    assert ledger.plan(MANIFEST) == [] and ledger.apply(MANIFEST) == []
    granted = ledger.acquire(("key-1", "gpt-4", {"rpm": 1, "tpm": 500}))
    assert granted.available() == {
        ("key-1", "rpm"): 59,
        ("key-1", "tpm"): 1500,
        ("acme", "tpm"): 4500,
        ("acme", "inflight"): 7,
    }
    ledger.set_limits("rpm=1/day", resource="by-hand")
    changed = {
        "system": {"limits": ["rpm=20/day"]},
        "entities": {"acme": {"name": "Acme Ltd"}},
    }
    expected = {
        ("update", "$SYSTEM"),
        ("delete", "$RESOURCE:gpt-4"),
        ("update", "acme"),
        ("delete", "acme/gpt-4"),
        ("delete", "key-1"),
    }
    planned = ledger.plan(changed)
    assert actions(planned) == expected
    (system,) = [change for change in planned if change["subject"] == "$SYSTEM"]
    assert system["before"]["limits"][0]["amount"] == 10 and system["after"]["limits"][0]["amount"] == 20
    assert actions(ledger.apply(changed)) == expected
    assert ledger.resolve("acme", "gpt-4")["level"] == "system"
    assert ledger.resolve("acme", "by-hand")["level"] == "resource", "what was never in it is left alone"
    assert refusal(ledger.entity, "key-1") == "entity_not_found"
    assert ledger.entity("acme")["name"] == "Acme Ltd"


def test_what_is_exported_can_be_applied(ledger, server, namespace):
    ledger.apply(MANIFEST)
    exported = ledger.export()
    assert ledger.plan(exported) == []
    other = type(ledger)(server, f"{namespace}-other")
    other.apply(exported)
    assert other.export() == exported
    assert other.resolve("key-1", "gpt-4") == ledger.resolve("key-1", "gpt-4")
    other.close()


def test_a_parent_may_have_nothing_but_limits(ledger, server, namespace):
    limits = {"_default_": {"limits": ["tpm=10/day"]}}
    ledger.apply({"entities": {"acme": {"limits": limits}, "key": {"parent": "acme", "cascade": True}}})
    assert ids(ledger.children("acme")) == ["key"]
    other = type(ledger)(server, f"{namespace}-other")
    other.apply(ledger.export())
    other.set_limits("tpm=100/day", entity="key")
    assert other.acquire(("key", "gpt-4", {"tpm": 4})).available() == {("key", "tpm"): 96, ("acme", "tpm"): 6}
    other.close()


def test_an_entry_keeps_its_limits_when_it_has_nothing_else_any_more(ledger):
    limits = {"_default_": {"limits": ["tpm=10/day"]}}
    ledger.apply({"entities": {"acme": {"name": "Acme", "weight": 3, "limits": limits}}})
    ledger.acquire(("acme", "gpt-4", {"tpm": 4}))
    bare = {"entities": {"acme": {"limits": limits}}}
    ledger.apply(bare)
    assert ledger.plan(bare) == []
    assert ledger.resolve("acme", "gpt-4")["level"] == "entity_default"
    assert ledger.available("acme", "gpt-4", tpm=0)["statuses"][0]["available"] == 6, "and what was spent of them"
    assert ledger.entity("acme").get("weight") is None
    ledger.apply({})
    assert refusal(ledger.entity, "acme") == "entity_not_found"


def test_parents_and_children_may_come_and_go_together(ledger):
    family = {"entities": {"a-child": {"parent": "parent"}, "parent": {"name": "P"}, "z-child": {"parent": "parent"}}}
    ledger.apply(family)
    assert ids(ledger.children("parent")) == ["a-child", "z-child"]
    ledger.apply({})
    assert ledger.entities()["entities"] == []


@pytest.mark.parametrize(
    "manifest",
    [
        {"sytem": {"limits": []}},
        {"system": {"limits": ["rpm"]}},
        {"entities": {"a": {"parent": "missing"}}},
        {"entities": {"a b": {"name": "x"}}},
        {"resources": {"gpt-4": {"limits": ["rpm=1/day", "rpm=2/day"]}}},
    ],
    ids=["unknown", "limit", "parent", "name", "twice"],
)
def test_a_manifest_that_cannot_be_changes_nothing(ledger, manifest):
    good = {"resources": {"other": {"limits": ["rpm=1/day"]}}}
    both = {**manifest, "resources": {**good["resources"], **manifest.get("resources", {})}}
    codes = {"invalid_manifest", "invalid_limit", "parent_not_found", "invalid_name"}
    assert refusal(ledger.plan, both) in codes
    assert refusal(ledger.apply, both) in codes
    assert refusal(ledger.get_limits, resource="other") == "scope_not_found"
