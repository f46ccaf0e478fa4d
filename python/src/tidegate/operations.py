"""Every operation that is a call and its answer, by subject: `limiter.entities.create(...)`.

With `Limiter` each is awaited, with `SyncLimiter` it is called.
"""

from __future__ import annotations

from .method import Group, L, Method, NamedGroup, NamedMethod
from .protocol import bucket, entity, history, key, lease, message, namespace, queue, scope


class Entities(Group[L]):
    """Who is limited."""

    create = Method(entity.create)
    get = Method(entity.get)
    update = Method(entity.update)
    move = Method(entity.move)
    delete = Method(entity.delete)
    put = Method(entity.put)
    list = Method(entity.page)
    children = Method(entity.children)


class Limits(Group[L]):
    """What is stored for the system, resources and entities."""

    set = Method(scope.put)
    get = Method(scope.get)
    delete = Method(scope.delete)
    resolve = Method(scope.resolve)
    custom = Method(scope.custom)
    export = Method(scope.export)
    plan = Method(scope.plan)
    apply = Method(scope.apply)


class Bucket(Group[L]):
    """The state of limits, changed by hand."""

    reset = Method(bucket.reset)
    top_up = Method(bucket.top_up)
    close = Method(bucket.close)


class Leases(Group[L]):
    """Leases that are held."""

    get = Method(lease.get)
    list = Method(lease.page)


class Keys(Group[L]):
    """Throttle keys: named limits that messages draw on."""

    set = Method(key.set_key)
    get = Method(key.get_key)
    delete = Method(key.delete_key)
    list = Method(key.list_keys)
    take = Method(key.take_key)
    close = Method(key.close_key)


class Queues(Group[L]):
    """Queues, made, changed and looked at."""

    create = Method(queue.create)
    update = Method(queue.update)
    delete = Method(queue.delete)
    purge = Method(queue.purge)
    pause = Method(queue.pause)
    resume = Method(queue.resume)
    inspect = Method(queue.inspect)
    stats = Method(queue.stats)
    flows = Method(queue.flows)
    redrive = Method(queue.redrive)
    list = Method(queue.page)


class Namespaces(Group[L]):
    """Isolated worlds of entities, limits, keys and queues."""

    list = Method(namespace.page)
    delete = Method(namespace.delete)
    recover = Method(namespace.recover)
    purge = Method(namespace.purge)


class LimiterOperations(Group[L]):
    """What a limiter has besides leases and messages."""

    def __init__(self, link: L) -> None:
        super().__init__(link)
        self.entities = Entities(link)
        self.limits = Limits(link)
        self.bucket = Bucket(link)
        self.leases = Leases(link)
        self.keys = Keys(link)
        self.queues = Queues(link)
        self.namespaces = Namespaces(link)

    throttle = Method(key.throttle)
    peek = Method(key.peek)
    forget = Method(key.forget)
    take = Method(lease.take)
    available = Method(lease.available)
    why = Method(lease.why)
    capacity = Method(bucket.capacity)
    usage = Method(history.usage)
    audit = Method(history.audit)


class QueueOperations(NamedGroup[L]):
    """What a queue has besides messages that were delivered."""

    enqueue = NamedMethod(message.enqueue)
    why = NamedMethod(message.why)
    why_flow = NamedMethod(message.why_flow)
