"""Entities, limits, namespaces and audit on a table that zae-limiter uses as well: set by either side, seen by the other."""

import pytest
from ledger_figures import left
from ledger_refusal import refusal
from polling import eventually
from python_client import Limit, Python

RESOURCE = "gpt-4"
REFRESH_MS = 300
# What a loaded machine may be late by.
LATE_S = 1.0


@pytest.fixture
def python(pythons):
    return pythons[0]


@pytest.fixture
def node(shared, start_node):
    return start_node(shared, config_refresh_ms=REFRESH_MS, idle_return_ms=200)


def within_the_refresh(condition, what):
    """The other side has been told nothing: it looks again."""
    eventually(condition, what, within_s=REFRESH_MS / 1000 + LATE_S)


def capacity(node, entity, limit="tpm"):
    terms = node.ledger.resolve(entity, RESOURCE)["limits"]
    return next((burst(term) for term in terms if term["name"] == limit), None)


def enforced(node, entity, limit="tpm"):
    """What an acquire is decided by, which is not read at every call."""
    return node.ledger.acquire((entity, RESOURCE, {limit: 0}), lease=False).status(limit).capacity


def burst(term):
    """As much as comes in a period, unless said."""
    return term.get("burst", term["amount"])


def test_entities_of_either_side_are_seen_by_the_other(node, python, entity):
    node.ledger.create_entity(entity, name="Acme Inc", metadata={"plan": "pro"})
    seen = python.get_entity(entity)
    assert (seen.id, seen.name, seen.parent_id, seen.cascade) == (entity, "Acme Inc", None, False)
    assert seen.metadata == {"plan": "pro"}
    child = f"{entity}-child"
    python.create_entity(child, name="Child", parent_id=entity, cascade=True, metadata={"seats": "5"})
    told = node.ledger.entity(child)
    assert (told["name"], told["parent"], told["cascade"]) == ("Child", entity, True)
    assert told["metadata"] == {"seats": "5"}
    assert [one["id"] for one in node.ledger.children(entity)["entities"]] == [child]
    assert [one.id for one in python.get_children(entity)] == [child]
    assert refusal(node.ledger.create_entity, child) == "entity_exists"
    python.delete_entity(child)
    assert refusal(node.ledger.entity, child) == "entity_not_found"
    node.ledger.delete_entity(entity)
    assert python.get_entity(entity) is None


def test_a_child_that_the_other_side_moves_charges_its_new_parent(shared, node, python, entity):
    shared.say(lambda_version="0.17.0")
    one, other, child = f"{entity}-one", f"{entity}-other", f"{entity}-child"
    for org in (one, other):
        python.create_entity(org)
    python.create_entity(child, parent_id=one, cascade=True)
    node.ledger.set_limits("tpm=100/day", resource=RESOURCE)
    assert node.ledger.acquire((child, RESOURCE, {"tpm": 10})).granted
    python.set_parent(child, other)

    def charged():
        node.ledger.acquire((child, RESOURCE, {"tpm": 1}))
        return left(node.ledger, other, RESOURCE, "tpm") < 100

    within_the_refresh(charged, "the new parent is charged")
    eventually(
        lambda: (
            python.available(one, RESOURCE)["tpm"] + python.available(other, RESOURCE)["tpm"]
            == 100 + python.available(child, RESOURCE)["tpm"]
        ),
        "everything was charged to one of them",
    )


def test_limits_that_the_other_side_sets_are_enforced_at_every_level(node, python, entity):
    levels = [
        lambda limits: python.set_system_defaults(limits),
        lambda limits: python.set_resource_defaults(RESOURCE, limits),
        lambda limits: python.set_limits(entity, limits),
        lambda limits: python.set_limits(entity, limits, RESOURCE),
    ]
    for level, set_limits in enumerate(levels, start=1):
        set_limits([Limit.per_day("tpm", 10 * level)])
        if level == 1:
            eventually(lambda: node.ledger.resolve(entity, RESOURCE)["limits"], "the first ones")
        within_the_refresh(lambda level=level: capacity(node, entity) == 10 * level, f"level {level}")
    assert node.ledger.resolve(entity, RESOURCE)["level"] == "entity"
    removals = [
        lambda: python.delete_limits(entity, RESOURCE),
        lambda: python.delete_limits(entity),
        lambda: python.delete_resource_defaults(RESOURCE),
    ]
    for level, remove in zip((3, 2, 1), removals, strict=True):
        remove()
        within_the_refresh(lambda level=level: capacity(node, entity) == 10 * level, f"back at level {level}")
    python.delete_system_defaults()

    def unlimited():
        return refusal(node.ledger.acquire, (entity, RESOURCE, {"tpm": 1})) == "no_limits"

    within_the_refresh(unlimited, "none is left")


def test_limits_that_are_set_here_are_read_by_the_other_side(node, python, entity):
    node.ledger.set_limits("tpm=100/minute,burst=250", "rpm=7/second")
    found = sorted(python.get_system_defaults()[0], key=lambda limit: limit.name)
    assert found == [Limit.per_second("rpm", 7), Limit.per_minute("tpm", 100, burst=250)]
    node.ledger.set_limits("tpm=1000/hour", resource=RESOURCE)
    assert python.get_resource_defaults(RESOURCE) == [Limit.per_hour("tpm", 1000)]
    assert python.list_resources_with_defaults() == [RESOURCE]
    node.ledger.set_limits("tpm=5/day", entity=entity)
    assert python.get_limits(entity) == [Limit.per_day("tpm", 5)]
    node.ledger.set_limits("tpm=3/day", entity=entity, resource=RESOURCE)
    assert python.get_limits(entity, RESOURCE) == [Limit.per_day("tpm", 3)]
    assert python.list_entities_with_custom_limits(RESOURCE)[0] == [entity]
    assert python.list_resources_with_entity_configs() == ["_default_", RESOURCE]
    assert [python.acquire(entity, RESOURCE, {"tpm": 1}) for _ in range(4)] == [True, True, True, False]
    node.ledger.remove_limits(entity=entity, resource=RESOURCE)
    assert python.get_limits(entity, RESOURCE) == []
    assert python.list_entities_with_custom_limits(RESOURCE)[0] == []
    node.ledger.remove_limits(entity=entity)
    node.ledger.remove_limits(resource=RESOURCE)
    node.ledger.remove_limits()
    assert python.get_system_defaults()[0] == [] and python.list_resources_with_defaults() == []


def test_a_changed_limit_reaches_active_buckets(node, python, entity):
    """Set by the other side on the entity, and as a default, which its own client never tells to active buckets."""
    python.set_resource_defaults(RESOURCE, [Limit.per_day("tpm", 100)])
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 100})).granted
    assert not node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    python.set_limits(entity, [Limit("tpm", 500, 86_400_000, 86_400)], RESOURCE)
    within_the_refresh(lambda: node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted, "a thousand a second now")
    python.delete_limits(entity, RESOURCE)
    within_the_refresh(lambda: enforced(node, entity) == 100, "the default again")
    python.set_resource_defaults(RESOURCE, [Limit.per_day("tpm", 5)])
    within_the_refresh(lambda: enforced(node, entity) == 5, "lowered")
    granted = sum(node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted for _ in range(10))
    assert granted <= 5, "what was left is cut to the new burst"


def test_namespaces_of_either_side_are_one(shared, node, python, entity):
    ours, theirs = f"ours-{entity}", f"theirs-{entity}"
    team = node.client(ours)
    team.set_limits("tpm=5/day")
    guest = Python(shared, ours)
    assert [guest.acquire(entity, RESOURCE, {"tpm": 5}), guest.acquire(entity, RESOURCE, {"tpm": 1})] == [True, False]
    assert not team.acquire((entity, RESOURCE, {"tpm": 1})).granted
    python.repository.register_namespace(theirs)
    other = Python(shared, theirs)
    other.set_system_defaults([Limit.per_day("tpm", 7)])
    assert theirs in {space["name"] for space in node.ledger.namespaces()}
    assert capacity_in(node.client(theirs), entity) == 7
    assert {space["name"] for space in python.repository.list_namespaces()} >= {ours, theirs, "default"}
    node.ledger.delete_namespace(ours)
    assert ours not in {space["name"] for space in python.repository.list_namespaces()}
    for client in (guest, other, team):
        client.close()


def capacity_in(client, entity):
    return burst(client.resolve(entity, RESOURCE)["limits"][0])


def test_audit_of_either_side_is_one(node, python, entity):
    node.ledger.create_entity(entity)
    python.set_limits(entity, [Limit.per_day("tpm", 5)], RESOURCE, principal="alice")
    eventually(lambda: len(python.get_audit_events(entity)) == 2, "both are told")
    assert {event.action for event in python.get_audit_events(entity)} == {"entity_created", "limits_set"}

    def seen_here():
        return [event["actor"] for event in node.ledger.audit(subject=entity)["events"]]

    eventually(lambda: len(seen_here()) == 2, "and here")
    assert "alice" in seen_here()


def test_a_top_up_happens_once_for_a_key_whoever_asks(node, python, entity):
    node.ledger.set_limits("tpm=100/day", entity=entity, resource=RESOURCE)
    assert python.acquire(entity, RESOURCE, {"tpm": 90})
    python.repository.top_up(entity, RESOURCE, {"tpm": 20}, idempotency_key="invoice-1")
    assert python.available(entity, RESOURCE) == {"tpm": 30}
    node.ledger.top_up(entity, RESOURCE, {"tpm": 30}, key="invoice-2")
    eventually(lambda: python.available(entity, RESOURCE) == {"tpm": 60}, "topped up here")
    node.ledger.top_up(entity, RESOURCE, {"tpm": 30}, key="invoice-2")
    assert left(node.ledger, entity, RESOURCE, "tpm") == 60
    node.ledger.reset_buckets(entity, RESOURCE)
    eventually(lambda: python.available(entity, RESOURCE) == {"tpm": 100}, "full")


def test_usage_of_both_counts_once(shared, node, python, entity):
    """What their clients consume is in the bucket's own counter; what this server admits is in its usage."""
    node.ledger.set_limits("tpm=1000/day", entity=entity, resource=RESOURCE)
    node.ledger.acquire((entity, RESOURCE, {"tpm": 30}), lease=False)
    python.acquire(entity, RESOURCE, {"tpm": 12})
    eventually(lambda: shared.consumed(entity, "tpm") == 42, "both are told to the bucket")
    (total,) = node.ledger.usage(entity=entity, limit="tpm", window="month")["totals"]
    assert (total["amount"], total["events"]) == (30, 1)
    assert python.get_usage_snapshots(entity) is not None, "their reader is not led astray"


def test_both_say_the_same_of_a_resource_and_of_who_has_limits_of_its_own(node, python, entity):
    resource = f"resource-{entity}"
    for number in range(4):
        node.ledger.set_limits(f"tpm={100 * (number + 1)}/day", entity=f"{entity}-{number}", resource=resource)
    assert node.ledger.acquire((f"{entity}-0", resource, {"tpm": 10}), lease=False).granted
    assert node.ledger.acquire((f"{entity}-1", resource, {"tpm": 20}), lease=False).granted
    assert python.acquire(f"{entity}-2", resource, {"tpm": 30})
    assert python.acquire(f"{entity}-3", resource, {"tpm": 40})

    def said_here():
        (told,) = node.ledger.capacity(resource)["limits"]
        return told["capacity"], told["available"], told["entities"]

    def said_there():
        told = python.get_resource_capacity(resource, "tpm")
        return told.total_capacity, told.total_available, len(told.entities)

    eventually(lambda: said_there() == (1000, 900, 4), "slices are returned")
    assert said_here() == (1000, 900, 4)
    customs = {(one["entity"], one["resource"]) for one in node.ledger.custom(resource=resource)["custom"]}
    assert {name for name, _ in customs} == set(python.list_entities_with_custom_limits(resource)[0])
