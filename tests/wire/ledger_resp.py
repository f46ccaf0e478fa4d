"""Entities, limits and leases over RESP, with redis-py."""

import itertools
import json

from ledger_answers import Acquired, Status
from queue_resp import RespQueues, text


def known(ms):
    """-1 is nobody knows."""
    return None if ms == -1 else ms


def flat(amounts):
    return list(itertools.chain(*(amounts or {}).items()))


def scope_words(entity, resource):
    if entity is not None:
        return ["ENTITY", entity] + ([] if resource is None else [resource])
    return ["SYSTEM"] if resource is None else ["RESOURCE", resource]


def page_words(count, after):
    return ([] if count is None else ["COUNT", count]) + ([] if after is None else ["AFTER", after])


class RespLedger(RespQueues):
    """redis-py."""

    def __init__(self, server, namespace=None, actor=None):
        super().__init__(server, namespace)
        if actor:
            self.redis.execute_command("CLIENT", "SETNAME", actor)

    # Acquire and lease

    def acquire(self, *charges, ttl_ms=None, on_expiry=None, wait_ms=None, lease=True, limits=(), on_unavailable=None):
        words = ["ACQUIRE"]
        for number, (entity, resource, cost) in enumerate(charges):
            words += ["AND"] * (number > 0) + [entity, resource, *flat(cost)]
        options = {"TTL": ttl_ms, "EXPIRY": on_expiry, "WAIT": wait_ms, "UNAVAILABLE": on_unavailable}
        words += flat({word: value for word, value in options.items() if value is not None})
        words += [] if lease else ["NOLEASE"]
        for limit in limits:
            words += ["LIMIT", limit]
        granted, lease, retry_after_ms, expires_at_ms, statuses = self._call(*words)
        return Acquired(
            granted=granted > 0,
            lease=text(lease),
            expires_at_ms=expires_at_ms or None,
            retry_after_ms=known(retry_after_ms),
            statuses=[self._status(*map(text, status)) for status in statuses],
            bypassed=granted == 2,
            degraded=granted == 3,
        )

    @staticmethod
    def _status(entity, resource, limit, capacity, available, requested, exceeded, retry_after_ms):
        return Status(
            entity, resource, limit, capacity, available, requested, exceeded > 0, known(retry_after_ms)
        )

    def _done(self, *words):
        assert text(self._call("LEASE", *words)) == "OK"

    def settle_lease(self, lease, cost=None):
        self._done("SETTLE", lease, *flat(cost))

    def adjust_lease(self, lease, delta):
        self._done("ADJUST", lease, *flat(delta))

    def release_lease(self, lease):
        self._done("RELEASE", lease)

    def extend_lease(self, lease, ttl_ms):
        self._done("EXTEND", lease, ttl_ms)

    def lease(self, lease):
        return self._json("LEASE", "GET", lease)

    def leases(self, entity=None, count=None, after=None):
        return self._json("LEASE", "LIST", *([] if entity is None else [entity]), *page_words(count, after))

    # Entities

    def create_entity(self, id, **fields):
        return self._json("ENTITY", "CREATE", id, *([json.dumps(fields)] if fields else []))

    def update_entity(self, id, version=None, **fields):
        return self._json("ENTITY", "UPDATE", id, json.dumps(fields), *([] if version is None else ["VERSION", version]))

    def put_entities(self, *entities):
        return self._json("ENTITY", "PUT", json.dumps(entities))["count"]

    def move_entity(self, id, parent):
        return self._json("ENTITY", "MOVE", id, "-" if parent is None else parent)

    def delete_entity(self, id):
        self._json("ENTITY", "DELETE", id)

    def entity(self, id):
        return self._json("ENTITY", "GET", id)

    def entities(self, count=None, after=None):
        return self._json("ENTITY", "LIST", *page_words(count, after))

    def children(self, id, count=None, after=None):
        return self._json("ENTITY", "CHILDREN", id, *page_words(count, after))

    # Limits

    def set_limits(self, *limits, entity=None, resource=None, **settings):
        settings |= {"limits": limits} if limits else {}
        return self._json("LIMITS", "SET", *scope_words(entity, resource), json.dumps(settings))

    def get_limits(self, entity=None, resource=None):
        return self._json("LIMITS", "GET", *scope_words(entity, resource))

    def remove_limits(self, entity=None, resource=None):
        self._json("LIMITS", "DEL", *scope_words(entity, resource))

    def resolve(self, entity, resource):
        return self._json("LIMITS", "RESOLVE", entity, resource)

    def custom(self, resource=None, count=None, after=None):
        words = [] if resource is None else [resource]
        words += [] if count is None else ["COUNT", count]
        words += [] if after is None else ["AFTER", after["entity"], after["resource"]]
        return self._json("LIMITS", "CUSTOM", *words)

    # Buckets

    def available(self, entity, resource, **cost):
        return self._json("AVAILABLE", entity, resource, *flat(cost))

    def capacity(self, resource):
        return self._json("CAPACITY", resource)

    def reset_buckets(self, entity, resource, *limits, key=None):
        return self._json("BUCKET", "RESET", entity, resource, *limits, *([] if key is None else ["KEY", key]))

    def top_up(self, entity, resource, amounts, key=None):
        return self._json("BUCKET", "TOPUP", entity, resource, *flat(amounts), *([] if key is None else ["KEY", key]))

    def close_buckets(self, entity, resource, ms):
        return self._json("BUCKET", "CLOSE", entity, resource, ms)

    # What was, and why

    def usage(self, **query):
        return self._json("USAGE", json.dumps(query))

    def audit(self, **query):
        return self._json("AUDIT", json.dumps(query))

    def why_message(self, queue, id):
        return self._json("WHY", "MESSAGE", queue, id)

    def why_flow(self, queue, key):
        return self._json("WHY", "FLOW", queue, key)

    def why_acquire(self, entity, resource, **cost):
        return self._json("WHY", "ACQUIRE", entity, resource, *flat(cost))

    # Manifests and namespaces

    def export(self):
        return self._json("LIMITS", "EXPORT")

    def plan(self, manifest):
        return self._json("LIMITS", "PLAN", json.dumps(manifest))["changes"]

    def apply(self, manifest):
        return self._json("LIMITS", "APPLY", json.dumps(manifest))["changes"]

    def namespaces(self):
        return self._json("NAMESPACE", "LIST")["namespaces"]

    def delete_namespace(self, name):
        return self._json("NAMESPACE", "DELETE", name)

    def recover_namespace(self, name):
        return self._json("NAMESPACE", "RECOVER", name)

    def purge_namespace(self, name):
        return self._json("NAMESPACE", "PURGE", name)


class Resp3Ledger(RespLedger):
    protocol = 3
