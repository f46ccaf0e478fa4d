"""Entities, limits and leases over gRPC, with grpcio."""

import json
import re

import protocol
from ledger_answers import acquired_of
from queue_grpc import GrpcQueues, amounts

NANOS_PER_S = 10**9
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def term_of(text):
    """`tpm=100/minute,burst=200,soft` or `inflight=8` as a message."""
    name, amount, period, rest = re.fullmatch(r"([^=]*)=(\d+)(?:/(\w+))?(.*)", text).groups()
    options = rest.split(",")
    if period is None:
        return protocol.entity.Term(name=name, concurrency=int(amount), soft="soft" in options)
    seconds = PERIODS[period] if period in PERIODS else int(period.removesuffix("s"))
    burst = next((int(option[6:]) for option in options if option.startswith("burst=")), None)
    return protocol.entity.Term(
        name=name, amount=int(amount), period_ns=seconds * NANOS_PER_S, burst=burst, soft="soft" in options
    )


def term_document(term):
    """As JSON has it."""
    document = {"name": term.name} | ({"soft": True} if term.soft else {})
    if term.HasField("concurrency"):
        return document | {"concurrency": term.concurrency}
    seconds = term.period_ns // NANOS_PER_S
    period = next((name for name, value in PERIODS.items() if value == seconds), seconds)
    burst = {"burst": term.burst} if term.HasField("burst") else {}
    return document | {"amount": term.amount, "period": period} | burst


def document(message):
    """A message as JSON has it: what is absent is None."""
    if message.DESCRIPTOR.name == "Term":
        return term_document(message)
    return {field.name: value_of(message, field) for field in message.DESCRIPTOR.fields}


def value_of(message, field):
    value = getattr(message, field.name)
    if field.is_repeated:
        return [document(item) if field.message_type else item for item in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return document(value) if field.message_type else value


def texts(document, *names):
    """JSON that came as text."""
    return document | {name: json.loads(document[name]) if document[name] else None for name in names}


def scope_name(entity, resource):
    return protocol.entity.ScopeName(entity=entity or "", resource=resource or "")


def put_entity(id, fields):
    fields = {name: value for name, value in fields.items() if value is not None}
    if "metadata" in fields:
        fields["metadata"] = json.dumps(fields["metadata"])
    return protocol.entity.PutEntity(id=id, **fields)


def cleared(fields):
    return [name for name, value in fields.items() if value is None]


class GrpcLedger(GrpcQueues):
    """grpcio, with tidegate.v1.Ledger."""

    def __init__(self, server, namespace=None, actor=None):
        super().__init__(server, namespace)
        self.actor = actor
        self.ledger = protocol.ledger_grpc.LedgerStub(self.channel)

    def _metadata(self):
        return super()._metadata() + ([("tidegate-actor", self.actor)] if self.actor else [])

    def _tell(self, method, request):
        """Asks, with the answer as JSON has it."""
        return document(self._call(getattr(self.ledger, method), request))

    # Acquire and lease

    def acquire(self, *charges, ttl_ms=None, on_expiry=None, wait_ms=None, lease=True, limits=(), on_unavailable=None):
        request = protocol.ledger.AcquireRequest(
            ttl_ms=ttl_ms,
            on_expiry=on_expiry or "",
            wait_ms=wait_ms,
            no_lease=not lease,
            limits=[term_of(limit) for limit in limits],
            on_unavailable=on_unavailable or "",
        )
        for entity, resource, cost in charges:
            request.charges.add(entity=entity, resource=resource, cost=amounts(cost))
        answer = self._tell("Acquire", request)
        # A message has no null where it has a zero.
        return acquired_of(answer | {name: answer[name] or None for name in ("lease", "expires_at_ms")})

    def settle_lease(self, lease, cost=None):
        self._tell("Settle", protocol.ledger.SettleRequest(lease=lease, cost=amounts(cost)))

    def adjust_lease(self, lease, delta):
        self._tell("Adjust", protocol.ledger.AdjustRequest(lease=lease, delta=amounts(delta)))

    def release_lease(self, lease):
        self._tell("ReleaseLease", protocol.ledger.LeaseRequest(lease=lease))

    def extend_lease(self, lease, ttl_ms):
        self._tell("ExtendLease", protocol.ledger.ExtendLeaseRequest(lease=lease, ttl_ms=ttl_ms))

    def lease(self, lease):
        return self._tell("GetLease", protocol.ledger.LeaseRequest(lease=lease))

    def leases(self, entity=None, count=None, after=None):
        request = protocol.ledger.ListLeasesRequest(entity=entity or "", count=count, after=after or "")
        return self._tell("ListLeases", request)

    # Entities

    @staticmethod
    def _entity(document):
        return texts(document, "metadata")

    def _page(self, page):
        return page | {"entities": [self._entity(entity) for entity in page["entities"]]}

    def create_entity(self, id, **fields):
        return self._entity(self._tell("CreateEntity", put_entity(id, fields)))

    def update_entity(self, id, version=None, **fields):
        request = protocol.entity.UpdateEntityRequest(
            entity=put_entity(id, fields), clear=cleared(fields), version=version
        )
        return self._entity(self._tell("UpdateEntity", request))

    def put_entities(self, *entities):
        all = [put_entity(entity["id"], {k: v for k, v in entity.items() if k != "id"}) for entity in entities]
        return self._tell("PutEntities", protocol.entity.PutEntitiesRequest(entities=all))["count"]

    def move_entity(self, id, parent):
        return self._entity(self._tell("MoveEntity", protocol.entity.MoveEntityRequest(id=id, parent=parent)))

    def delete_entity(self, id):
        self._tell("DeleteEntity", protocol.entity.EntityRequest(id=id))

    def entity(self, id):
        return self._entity(self._tell("GetEntity", protocol.entity.EntityRequest(id=id)))

    def entities(self, count=None, after=None):
        request = protocol.entity.ListEntitiesRequest(count=count, after=after or "")
        return self._page(self._tell("ListEntities", request))

    def children(self, id, count=None, after=None):
        request = protocol.entity.ListChildrenRequest(id=id, count=count, after=after or "")
        return self._page(self._tell("ListChildren", request))

    # Limits

    def set_limits(self, *limits, entity=None, resource=None, **settings):
        said = {name: value for name, value in settings.items() if value is not None}
        request = protocol.entity.SetScopeRequest(
            scope=scope_name(entity, resource),
            settings=protocol.entity.Scope(limits=[term_of(limit) for limit in limits], **said),
            clear=cleared(settings),
        )
        return self._tell("SetScope", request)

    def get_limits(self, entity=None, resource=None):
        return self._tell("GetScope", scope_name(entity, resource))

    def remove_limits(self, entity=None, resource=None):
        self._tell("RemoveScope", scope_name(entity, resource))

    def resolve(self, entity, resource):
        return self._tell("Resolve", protocol.entity.ResolveRequest(entity=entity, resource=resource))

    def custom(self, resource=None, count=None, after=None):
        request = protocol.entity.ListCustomRequest(resource=resource or "", count=count)
        if after:
            request.after_entity, request.after_resource = after["entity"], after["resource"]
        return self._tell("ListCustom", request)

    # Buckets

    def available(self, entity, resource, **cost):
        request = protocol.ledger.AvailableRequest(entity=entity, resource=resource, cost=amounts(cost))
        return self._tell("Available", request)

    def capacity(self, resource):
        return self._tell("Capacity", protocol.ledger.CapacityRequest(resource=resource))

    def reset_buckets(self, entity, resource, *limits, key=None):
        request = protocol.ledger.ResetBucketsRequest(
            entity=entity, resource=resource, limits=limits, idempotency_key=key
        )
        return self._tell("ResetBuckets", request)

    def top_up(self, entity, resource, added, key=None):
        request = protocol.ledger.TopUpRequest(
            entity=entity, resource=resource, amounts=amounts(added), idempotency_key=key
        )
        return self._tell("TopUp", request)

    def close_buckets(self, entity, resource, ms):
        request = protocol.ledger.CloseBucketsRequest(entity=entity, resource=resource, retry_after_ms=ms)
        return self._tell("CloseBuckets", request)

    # What was, and why

    def usage(self, **query):
        return self._tell("Usage", protocol.ledger.UsageRequest(**query))

    def audit(self, **query):
        answer = self._tell("Audit", protocol.ledger.AuditRequest(**query))
        return answer | {"events": [texts(event, "before", "after") for event in answer["events"]]}

    def _why(self, **about):
        return json.loads(self._tell("Why", protocol.ledger.WhyRequest(**about))["json"])

    def why_message(self, queue, id):
        return self._why(message=protocol.ledger.WhyMessage(queue=queue, id=id))

    def why_flow(self, queue, key):
        return self._why(flow=protocol.ledger.WhyFlow(queue=queue, key=key))

    def why_acquire(self, entity, resource, **cost):
        return self._why(acquire=protocol.ledger.AvailableRequest(entity=entity, resource=resource, cost=amounts(cost)))

    # Manifests and namespaces

    def export(self):
        return json.loads(self._tell("ExportManifest", protocol.ledger.ExportManifestRequest())["json"])

    def _changes(self, method, manifest):
        answer = self._tell(method, protocol.ledger.Manifest(json=json.dumps(manifest)))
        return [texts(change, "before", "after") for change in answer["changes"]]

    def plan(self, manifest):
        return self._changes("PlanManifest", manifest)

    def apply(self, manifest):
        return self._changes("ApplyManifest", manifest)

    def namespaces(self):
        return self._tell("ListNamespaces", protocol.ledger.ListNamespacesRequest())["namespaces"]

    def delete_namespace(self, name):
        return self._tell("DeleteNamespace", protocol.ledger.NamespaceRequest(name=name))

    def recover_namespace(self, name):
        return self._tell("RecoverNamespace", protocol.ledger.NamespaceRequest(name=name))

    def purge_namespace(self, name):
        return self._tell("PurgeNamespace", protocol.ledger.NamespaceRequest(name=name))
