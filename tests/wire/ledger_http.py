"""Entities, limits and leases over HTTP, with httpx."""

from urllib.parse import quote

from ledger_answers import acquired_of
from queue_http import HttpQueues


def part(name):
    """A name as a part of a path."""
    return quote(name, safe="")


def scope_path(entity, resource):
    if entity is not None:
        return f"/entities/{part(entity)}/limits" + ("" if resource is None else f"/{part(resource)}")
    return "/system/limits" if resource is None else f"/resources/{part(resource)}/limits"


def bucket_path(entity, resource):
    return f"/entities/{part(entity)}/resources/{part(resource)}"


def said(**fields):
    return {name: value for name, value in fields.items() if value is not None}


class HttpLedger(HttpQueues):
    """httpx."""

    def __init__(self, server, namespace=None, actor=None):
        super().__init__(server, namespace)
        if actor:
            self.http.headers["Tidegate-Actor"] = actor

    # Acquire and lease

    def acquire(self, *charges, ttl_ms=None, on_expiry=None, wait_ms=None, lease=True, limits=(), on_unavailable=None):
        documents = [{"entity": entity, "resource": resource, "cost": cost} for entity, resource, cost in charges]
        body = dict(documents[0]) if len(documents) == 1 else {"charges": documents}
        body |= said(ttl_ms=ttl_ms, on_expiry=on_expiry, wait_ms=wait_ms, on_unavailable=on_unavailable)
        body |= {} if lease else {"lease": False}
        body |= {"limits": list(limits)} if limits else {}
        answer = self.http.post("/acquire", json=body, timeout=40)
        document = answer.json()
        assert ("error" in document) == (answer.status_code not in (200, 429)), answer.text
        if "error" in document:
            raise self._refused(document["error"])
        assert document["granted"] == (answer.status_code == 200)
        return acquired_of(document)

    def _done(self, lease, verb, body=None):
        assert self._ask("POST", f"/leases/{lease}/{verb}", body) == {"done": True}

    def settle_lease(self, lease, cost=None):
        self._done(lease, "settle", None if cost is None else {"cost": cost})

    def adjust_lease(self, lease, delta):
        self._done(lease, "adjust", {"delta": delta})

    def release_lease(self, lease):
        self._done(lease, "release")

    def extend_lease(self, lease, ttl_ms):
        self._done(lease, "extend", {"ttl_ms": ttl_ms})

    def lease(self, lease):
        return self._ask("GET", f"/leases/{lease}")

    def leases(self, entity=None, count=None, after=None):
        return self._ask("GET", "/leases", params=said(entity=entity, count=count, after=after))

    # Entities

    def create_entity(self, id, **fields):
        return self._ask("POST", "/entities", {"id": id, **fields})

    def update_entity(self, id, version=None, **fields):
        return self._ask("PATCH", f"/entities/{part(id)}", fields | said(version=version))

    def put_entities(self, *entities):
        return self._ask("POST", "/entities/batch", {"entities": entities})["count"]

    def move_entity(self, id, parent):
        return self._ask("POST", f"/entities/{part(id)}/move", {"parent": parent})

    def delete_entity(self, id):
        self._ask("DELETE", f"/entities/{part(id)}")

    def entity(self, id):
        return self._ask("GET", f"/entities/{part(id)}")

    def entities(self, count=None, after=None):
        return self._ask("GET", "/entities", params=said(count=count, after=after))

    def children(self, id, count=None, after=None):
        return self._ask("GET", f"/entities/{part(id)}/children", params=said(count=count, after=after))

    # Limits

    def set_limits(self, *limits, entity=None, resource=None, **settings):
        settings |= {"limits": limits} if limits else {}
        return self._ask("PUT", scope_path(entity, resource), settings)

    def get_limits(self, entity=None, resource=None):
        return self._ask("GET", scope_path(entity, resource))

    def remove_limits(self, entity=None, resource=None):
        self._ask("DELETE", scope_path(entity, resource))

    def resolve(self, entity, resource):
        return self._ask("GET", bucket_path(entity, resource))

    def custom(self, resource=None, count=None, after=None):
        query = said(resource=resource, count=count)
        query |= {"after_entity": after["entity"], "after_resource": after["resource"]} if after else {}
        return self._ask("GET", "/custom-limits", params=query)

    # Buckets

    def available(self, entity, resource, **cost):
        return self._ask("GET", f"{bucket_path(entity, resource)}/available", params=cost)

    def capacity(self, resource):
        return self._ask("GET", f"/resources/{part(resource)}/capacity")

    def reset_buckets(self, entity, resource, *limits, key=None):
        body = said(limits=list(limits) or None, idempotency_key=key)
        return self._ask("POST", f"{bucket_path(entity, resource)}/reset", body)

    def top_up(self, entity, resource, amounts, key=None):
        body = {"amounts": amounts} | said(idempotency_key=key)
        return self._ask("POST", f"{bucket_path(entity, resource)}/top-up", body)

    def close_buckets(self, entity, resource, ms):
        return self._ask("POST", f"{bucket_path(entity, resource)}/close", {"retry_after_ms": ms})

    # What was, and why

    def usage(self, **query):
        return self._ask("GET", "/usage", params=query)

    def audit(self, **query):
        return self._ask("GET", "/audit", params=query)

    def why_message(self, queue, id):
        return self._ask("POST", "/why", {"message": {"queue": queue, "id": id}})

    def why_flow(self, queue, key):
        return self._ask("POST", "/why", {"flow": {"queue": queue, "key": key}})

    def why_acquire(self, entity, resource, **cost):
        return self._ask("POST", "/why", {"acquire": {"entity": entity, "resource": resource, "cost": cost}})

    # Manifests and namespaces

    def export(self):
        return self._ask("GET", "/manifest")

    def plan(self, manifest):
        return self._ask("POST", "/manifest/plan", manifest)["changes"]

    def apply(self, manifest):
        return self._ask("POST", "/manifest/apply", manifest)["changes"]

    def namespaces(self):
        return self._ask("GET", "/namespaces")["namespaces"]

    def delete_namespace(self, name):
        return self._ask("DELETE", f"/namespaces/{name}")

    def recover_namespace(self, name):
        return self._ask("POST", f"/namespaces/{name}/recover")

    def purge_namespace(self, name):
        return self._ask("POST", f"/namespaces/{name}/purge")
