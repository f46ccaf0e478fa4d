"""What a table holds beyond plain limits is refused with a clear code, not misread; what can be respected is."""

import datetime

import pytest
from ledger_refusal import refusal, refused
from polling import eventually
from python_client import Limit, Python
from zae_limiter import ScheduleEntry

RESOURCE = "gpt-4"
REFRESH_MS = 300


@pytest.fixture
def python(shared):
    """Their stack, with its aggregator, is what some of these need; they ask the version item for it."""
    shared.say(lambda_version="0.17.0")
    client = Python(shared)
    yield client
    client.close()


@pytest.fixture
def node(shared, python, start_node):
    return start_node(shared, config_refresh_ms=REFRESH_MS, idle_return_ms=200)


NIGHT = ScheduleEntry(cron="* 0-5 * * *", tz="UTC", scale=0.5)
BEYOND = {
    "a schedule": lambda: Limit.per_day("tpm", 100).with_schedule((NIGHT,)),
    "a calendar quota": lambda: Limit.quota("tpm", 100, cron="0 0 1 * *"),
    "a session quota": lambda: Limit.quota("tpm", 100, reset_after=datetime.timedelta(hours=5)),
    "a soft limit of theirs": lambda: Limit.per_day("tpm", 100, soft=True),
}
LEVELS = {
    "entity": lambda python, entity, limits: python.set_limits(entity, limits, RESOURCE),
    "entity default": lambda python, entity, limits: python.set_limits(entity, limits),
    "resource": lambda python, entity, limits: python.set_resource_defaults(RESOURCE, limits),
    "system": lambda python, entity, limits: python.set_system_defaults(limits),
}


@pytest.mark.parametrize("kind", BEYOND)
@pytest.mark.parametrize("level", LEVELS)
def test_limits_that_are_more_than_a_rate_are_refused_at_every_level(node, python, entity, kind, level):
    LEVELS[level](python, entity, [BEYOND[kind](), Limit.per_day("rpm", 10)])
    before = python.available(entity, RESOURCE)
    told = refused(node.ledger.acquire, (entity, RESOURCE, {"tpm": 1}))
    assert told.code == "unsupported_limit", told
    assert "tpm" in told.text, "it says which"
    assert refusal(node.ledger.acquire, (entity, RESOURCE, {"rpm": 1})) == "unsupported_limit", "nor its neighbours"
    assert python.available(entity, RESOURCE) == before, "nothing was taken"
    assert python.acquire(entity, RESOURCE, {"tpm": 1, "rpm": 1}), "and they go on"


def test_what_is_nearer_counts(node, python, entity):
    """A level that is overridden is not read, whatever it holds."""
    python.set_system_defaults([BEYOND["a calendar quota"]()])
    python.set_limits(entity, [Limit.per_day("tpm", 10)], RESOURCE)
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    assert refusal(node.ledger.acquire, (f"{entity}-other", RESOURCE, {"tpm": 1})) == "unsupported_limit"


def test_a_parent_that_is_beyond_it_refuses_its_children(node, python, entity):
    python.create_entity(entity)
    python.create_entity(f"{entity}-child", parent_id=entity, cascade=True)
    python.set_system_defaults([Limit.per_day("tpm", 10)])
    python.set_limits(entity, [BEYOND["a session quota"]()], RESOURCE)
    assert refusal(node.ledger.acquire, (f"{entity}-child", RESOURCE, {"tpm": 1})) == "unsupported_limit"
    eventually(lambda: python.available(f"{entity}-child", RESOURCE) == {"tpm": 10}, "the child was not charged")


def test_an_active_bucket_that_becomes_one_is_refused(node, python, entity):
    python.set_limits(entity, [Limit.per_day("tpm", 100)], RESOURCE)
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    python.set_limits(entity, [BEYOND["a schedule"]()], RESOURCE)

    def is_refused():
        try:
            node.ledger.acquire((entity, RESOURCE, {"tpm": 1}))
        except Exception as error:  # the adapter's refusal
            return getattr(error, "code", None) == "unsupported_limit"
        return False

    eventually(is_refused, "it is noticed", within_s=REFRESH_MS / 1000 + 1)
    python.set_limits(entity, [Limit.per_day("tpm", 100)], RESOURCE)
    eventually(lambda: not is_refused(), "and plain again", within_s=REFRESH_MS / 1000 + 1)


def test_what_is_beyond_it_is_not_overwritten_either(node, python, entity):
    """Who set it has to take it away."""
    quota = BEYOND["a calendar quota"]()
    python.set_limits(entity, [quota], RESOURCE)
    assert refusal(node.ledger.set_limits, "tpm=10/day", entity=entity, resource=RESOURCE) == "unsupported_limit"
    assert python.get_limits(entity, RESOURCE) == [quota]


def test_who_is_disabled_by_them_is_disabled_here(node, python, entity):
    python.set_system_defaults([Limit.per_day("tpm", 10)])
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 1})).granted
    python.repository.disable_entity(entity, RESOURCE)

    def is_disabled():
        try:
            node.ledger.acquire((entity, RESOURCE, {"tpm": 1}))
        except Exception as error:  # the adapter's refusal
            return getattr(error, "code", None) == "disabled"
        return False

    eventually(is_disabled, "it is noticed", within_s=REFRESH_MS / 1000 + 1)
    python.repository.enable_entity(entity, RESOURCE)
    eventually(lambda: not is_disabled(), "and enabled again", within_s=REFRESH_MS / 1000 + 1)
    node.ledger.set_limits(entity=entity, resource=RESOURCE, mode="disabled")
    with pytest.raises(Exception, match="isabled"):
        python.acquire(entity, RESOURCE, {"tpm": 1})


def test_a_table_of_another_schema_is_refused_at_the_start(shared, start_node):
    shared.say(schema_version="1.0.0")
    with pytest.raises(AssertionError, match="1.0.0"):
        start_node(shared)


def test_a_table_that_is_not_there_is_said_at_the_start(shared, start_node):
    from shared_table import Table

    with pytest.raises(AssertionError, match="create-table"):
        start_node(Table(shared.endpoint, "nowhere", create=False))
