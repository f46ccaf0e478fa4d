"""Items that Tidegate writes have the attributes that zae-limiter writes, with the same values, and only known ones besides."""

import re

import pytest
from polling import eventually
from python_client import Limit, Python
from shared_table import Table
from zae_limiter import schema

RESOURCE = "gpt-4"

# What this server keeps beside them; their client passes over all of it.
OURS = re.compile(
    r"^(w_.+|h_.+|b_.+_rr|c_.+|s_.+|t_.+|version|weight|created_at_ms|updated_at(_ms)?|limit_order|on_expiry|lease_ttl_ms|mode)$"
)

# Thousandths of a token that rounding may cost until they have refilled.
DUST = 10

# What differs between any two writers.
MOMENTS = {"created_at", "rf", "pgen", "pinc", "ttl", "event_id", "timestamp", "principal", "updated_at", "details"}


@pytest.fixture
def spaces(shared, start_node):
    """The same done by each of them, in a namespace of its own: items by key, without the namespace's id."""
    node = start_node(shared, idle_return_ms=100)
    default = Python(shared)
    default.repository.register_namespace("theirs")
    default.close()
    ours, theirs = node.client("ours"), Python(shared, "theirs")
    ours.create_entity("org", name="Org")
    ours.create_entity("key", parent="org", cascade=True, metadata={"plan": "pro"})
    ours.set_limits("rpm=60/minute", "tpm=1000/minute,burst=2000")
    ours.set_limits("tpm=500/hour", resource=RESOURCE)
    ours.set_limits("tpm=100/day", entity="key")
    ours.set_limits("tpm=70/day", "rpm=5/second", entity="key", resource=RESOURCE)
    assert ours.acquire(("key", RESOURCE, {"tpm": 10, "rpm": 1}), lease=False).granted
    assert ours.acquire(("org", "other", {"tpm": 10}), lease=False).granted

    theirs.create_entity("org", name="Org")
    theirs.create_entity("key", parent_id="org", cascade=True, metadata={"plan": "pro"})
    theirs.set_system_defaults([Limit.per_minute("rpm", 60), Limit.per_minute("tpm", 1000, burst=2000)])
    theirs.set_resource_defaults(RESOURCE, [Limit.per_hour("tpm", 500)])
    theirs.set_limits("key", [Limit.per_day("tpm", 100)])
    theirs.set_limits("key", [Limit.per_day("tpm", 70), Limit.per_second("rpm", 5)], RESOURCE)
    assert theirs.acquire("key", RESOURCE, {"tpm": 10, "rpm": 1})
    assert theirs.acquire("org", "other", {"tpm": 10})

    def returned():
        items = by_key(shared, "ours")
        buckets = [item for (key, kind), item in items.items() if kind == "#STATE"]
        return len(buckets) == 3 and all(
            bucket["b_tpm_tc"] == 10_000 and bucket["b_tpm_tk"] >= bucket["b_tpm_cp"] - 10_000 - DUST
            for bucket in buckets
        )

    eventually(returned, "slices are returned, and told")
    yield by_key(shared, "ours"), by_key(shared, "theirs")
    ours.close()
    theirs.close()


def by_key(table, namespace):
    """Audit events by what they are about: their own keys are drawn by lot."""
    prefix = table.namespace_id(namespace)
    found = {}
    for item in table.items(GSI4PK=prefix):
        plain = {name: value.replace(prefix, "NS") if isinstance(value, str) else value for name, value in item.items()}
        kind = f"#AUDIT#{item['action']}" if item["SK"].startswith("#AUDIT#") else plain["SK"]
        found[plain["PK"], kind] = plain
    return found


def test_every_item_of_theirs_has_one_of_ours(spaces):
    ours, theirs = spaces
    missing = {key for key in theirs if key not in ours}
    assert not missing, sorted(missing)
    more = {kind for _, kind in ours.keys() - theirs.keys()}
    assert all(kind.startswith(("#TIDEGATE#", "#USAGE", "#MINUTES", "#CALL#")) for kind in more), sorted(more)


def test_attributes_and_values_are_theirs(spaces):
    ours, theirs = spaces
    for key, item in theirs.items():
        names = {name for name in ours[key] if not OURS.match(name) or name in item}
        assert names == item.keys(), f"{key}: {sorted(names ^ item.keys())}"
        for name in item.keys() - MOMENTS:
            if name == "SK" and key[1].startswith("#AUDIT#") or name == "GSI4SK" and "AUDIT" in key[1]:
                continue
            if key[1] == "#STATE" and re.fullmatch(r"b_.*_(tk|tc)", name):
                continue
            assert ours[key][name] == item[name], f"{key}: {name}"
            assert type(ours[key][name]) is type(item[name]), f"{key}: {name}"


def test_levels_of_buckets_are_theirs(spaces):
    """Both have taken the same; what refilled in between is not much."""
    ours, theirs = spaces
    for key in (key for key in theirs if key[1] == "#STATE"):
        for limit in ("tpm", "rpm"):
            if f"b_{limit}_tk" not in theirs[key]:
                continue
            assert ours[key][f"b_{limit}_tc"] == theirs[key][f"b_{limit}_tc"], key
            capacity = theirs[key][f"b_{limit}_cp"]
            assert ours[key][f"b_{limit}_tk"] <= capacity
            assert ours[key][f"b_{limit}_tk"] >= capacity - theirs[key][f"b_{limit}_tc"] - DUST


def test_the_table_is_the_one_that_they_define(shared):
    made = shared.dynamodb.describe_table(TableName=shared.name)["Table"]
    wanted = schema.get_table_definition(shared.name)
    assert made["KeySchema"] == wanted["KeySchema"]
    used = {key["AttributeName"] for index in indexes(wanted) for key in index["KeySchema"]} | {"PK", "SK"}
    assert {one["AttributeName"] for one in made["AttributeDefinitions"]} >= used
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        assert {name: shape(index) for name, index in named(made, kind)} == {
            name: shape(index) for name, index in named(wanted, kind)
        }, kind
    live = shared.dynamodb.describe_time_to_live(TableName=shared.name)["TimeToLiveDescription"]
    assert live == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


def indexes(table):
    return [*table["GlobalSecondaryIndexes"], *table["LocalSecondaryIndexes"]]


def named(table, kind):
    return [(index["IndexName"], index) for index in table.get(kind, [])]


def shape(index):
    return index["KeySchema"], index["Projection"]["ProjectionType"]


def test_a_table_that_they_made_is_used_as_it_is(moto, start_node, entity):
    """Every item in it is from their code but those that this server needs for itself."""
    from zae_limiter import SyncRepository

    name = f"theirs-{entity}"
    moto.dynamodb.create_table(**schema.get_table_definition(name))
    repository = SyncRepository(
        name, region=moto.dynamodb.meta.region_name, endpoint_url=moto.url, _skip_deprecation_warning=True
    )
    repository.set_version_record(schema_version="0.10.0", lambda_version="0.17.0", client_min_version="0.0.0")
    repository.register_namespace("default")
    table = Table(moto, name, create=False)
    assert table.command("status").returncode == 0
    migrated = table.command("migrate")
    assert migrated.returncode == 0, migrated.stderr
    node, python = start_node(table), Python(table)
    python.set_system_defaults([Limit.per_day("tpm", 10)])
    granted = [
        python.acquire(entity, RESOURCE, {"tpm": 4}),
        node.ledger.acquire((entity, RESOURCE, {"tpm": 4})).granted,
    ]
    assert granted == [True, True] and not python.acquire(entity, RESOURCE, {"tpm": 4})
    python.close()
