"""Entities, limits and leases through the command line, and so through the Rust client."""

import json
import re
import subprocess

from decision import Refused
from ledger_answers import acquired_of
from queue_cli import CliQueues
from server import BINARY, clean_environment


def equals(amounts):
    """`tpm=5`, as arguments have it."""
    return [f"{limit}={amount}" for limit, amount in (amounts or {}).items()]


def flags(**options):
    """`--name value` for what is said; an underscore is a dash."""
    words = []
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value).lower() if isinstance(value, bool) else value]
    return words


def entity_flags(fields):
    metadata = fields.get("metadata") or {}
    said = {name: "none" if value is None else value for name, value in fields.items() if name != "metadata"}
    words = flags(**said)
    for key, value in metadata.items():
        words += ["--metadata", f"{key}={json.dumps(value)}"]
    return words


def scope_flags(entity, resource):
    return ["--system"] if entity is None and resource is None else flags(entity=entity, resource=resource)


class CliLedger(CliQueues):
    """`tidegate acquire|lease|entity|limits|...`, one process a call."""

    def __init__(self, server, namespace=None, actor=None):
        super().__init__(server, namespace)
        self.actor = actor

    def _tell(self, *words, payload=b"", answers=(0,)):
        """The one document that it prints. An exit code may be an answer."""
        options = ["--json", "--server", "{}:{}".format(*self.server.resp)]
        options += flags(namespace=self.namespace, actor=self.actor)
        done = subprocess.run(
            [BINARY, *map(str, words), *map(str, options)],
            env=clean_environment(),
            input=payload,
            capture_output=True,
            timeout=60,
        )
        said = done.stderr.decode()
        if done.returncode in answers:
            return json.loads(done.stdout)
        if "holds no limits" in said:
            # A file that cannot be is not sent.
            raise Refused("invalid_manifest", said)
        refused = re.search(r"refused \(([a-z_]+)\)", said)
        assert refused, f"{words}: {done.returncode}: {said}"
        raise Refused(refused[1], said)

    # Acquire and lease

    def acquire(self, *charges, ttl_ms=None, on_expiry=None, wait_ms=None, lease=True, limits=(), on_unavailable=None):
        (entity, resource, cost), *more = charges
        words = ["acquire", entity, resource, *equals(cost)]
        for entity, resource, cost in more:
            words += [word for one in equals(cost) for word in ("--and", f"{entity}/{resource}/{one}")]
        words += flags(ttl=ttl_ms, on_expiry=on_expiry, wait=wait_ms, on_unavailable=on_unavailable)
        words += [] if lease else ["--no-lease"]
        words += [word for limit in limits for word in ("--limit", limit)]
        return acquired_of(self._tell(*words, answers=(0, 1)))

    def settle_lease(self, lease, cost=None):
        self._tell("lease", "settle", lease, *equals(cost))

    def adjust_lease(self, lease, delta):
        self._tell("lease", "adjust", lease, *equals(delta))

    def release_lease(self, lease):
        self._tell("lease", "release", lease)

    def extend_lease(self, lease, ttl_ms):
        self._tell("lease", "extend", lease, ttl_ms)

    def lease(self, lease):
        return self._tell("lease", "show", lease)

    def leases(self, entity=None, count=None, after=None):
        return self._tell("lease", "list", *flags(entity=entity, count=count, after=after))

    # Entities

    def create_entity(self, id, **fields):
        return self._tell("entity", "create", id, *entity_flags(fields))

    def update_entity(self, id, version=None, **fields):
        return self._tell("entity", "update", id, *entity_flags(fields), *flags(if_version=version))

    def move_entity(self, id, parent):
        return self._tell("entity", "move", id, *(["--root"] if parent is None else ["--parent", parent]))

    def delete_entity(self, id):
        self._tell("entity", "delete", id)

    def entity(self, id):
        return self._tell("entity", "show", id)

    def entities(self, count=None, after=None):
        return self._tell("entity", "list", *flags(count=count, after=after))

    def children(self, id, count=None, after=None):
        return self._tell("entity", "children", id, *flags(count=count, after=after))

    # Limits

    def set_limits(self, *limits, entity=None, resource=None, **settings):
        settings = {name: "none" if value is None else value for name, value in settings.items()}
        settings["lease_ttl"] = settings.pop("lease_ttl_ms", None)
        return self._tell("limits", "set", *scope_flags(entity, resource), *limits, *flags(**settings))

    def get_limits(self, entity=None, resource=None):
        return self._tell("limits", "show", *scope_flags(entity, resource))

    def remove_limits(self, entity=None, resource=None):
        self._tell("limits", "remove", *scope_flags(entity, resource))

    def resolve(self, entity, resource):
        return self._tell("limits", "resolve", entity, resource)

    def custom(self, resource=None, count=None, after=None):
        after = after and f"{after['entity']}/{after['resource']}"
        return self._tell("limits", "custom", *flags(resource=resource, count=count, after=after))

    # Buckets

    def available(self, entity, resource, **cost):
        return self._tell("available", entity, resource, *equals(cost), answers=(0, 1))

    def capacity(self, resource):
        return self._tell("capacity", resource)

    def reset_buckets(self, entity, resource, *limits, key=None):
        named = [word for limit in limits for word in ("--limit", limit)]
        return self._tell("bucket", "reset", entity, resource, *named, *flags(key=key))

    def top_up(self, entity, resource, amounts, key=None):
        return self._tell("bucket", "top-up", entity, resource, *equals(amounts), *flags(key=key))

    def close_buckets(self, entity, resource, ms):
        return self._tell("bucket", "close", entity, resource, ms)

    # What was, and why

    def usage(self, **query):
        return self._tell("usage", *flags(**query))

    def audit(self, **query):
        return self._tell("audit", *flags(**query))

    def why_message(self, queue, id):
        return self._tell("why", "message", queue, id)

    def why_flow(self, queue, key):
        return self._tell("why", "flow", queue, key)

    def why_acquire(self, entity, resource, **cost):
        return self._tell("why", "acquire", entity, resource, *equals(cost))

    # Manifests and namespaces

    def export(self):
        return self._tell("limits", "export")

    def plan(self, manifest):
        return self._tell("limits", "plan", "-", payload=json.dumps(manifest).encode())["changes"]

    def apply(self, manifest):
        return self._tell("limits", "apply", "-", payload=json.dumps(manifest).encode())["changes"]

    def namespaces(self):
        return self._tell("namespace", "list")["namespaces"]

    def delete_namespace(self, name):
        return self._tell("namespace", "delete", name)

    def recover_namespace(self, name):
        return self._tell("namespace", "recover", name)

    def purge_namespace(self, name):
        return self._tell("namespace", "purge", name, "--yes")
