"""Tidegate: limits, leases and fair queues for systems with many tenants.

`Limiter` is for asyncio, `SyncLimiter` for threads; they have the same methods. See docs/guides/python.md.
"""

from .aio.consumer import Consumer
from .aio.lease import Acquiring, Lease
from .aio.limiter import Limiter
from .aio.message import Message
from .aio.queue import Queue
from .errors import (
    Conflict,
    Disabled,
    NotFound,
    RateLimitExceeded,
    Refused,
    TidegateError,
    TimedOut,
    Unauthenticated,
    Unavailable,
    UnexpectedReply,
    Unreachable,
)
from .protocol.bucket import Capacity
from .protocol.charge import Charge
from .protocol.entity import Entity
from .protocol.history import AuditEvent, Usage, UsageRow, UsageTotal
from .protocol.key import Decision
from .protocol.lease import Availability, Holding, LeaseView
from .protocol.limit import Limit
from .protocol.message import DeadLetter, Delivery
from .protocol.namespace import Namespace
from .protocol.reply import Page
from .protocol.scope import Parent, Resolved, Scope, Settings
from .protocol.status import Status
from .sync.consumer import SyncConsumer
from .sync.lease import SyncAcquiring, SyncLease
from .sync.limiter import SyncLimiter
from .sync.message import SyncMessage
from .sync.queue import SyncQueue

__all__ = [
    "Acquiring",
    "AuditEvent",
    "Availability",
    "Capacity",
    "Charge",
    "Conflict",
    "Consumer",
    "DeadLetter",
    "Decision",
    "Delivery",
    "Disabled",
    "Entity",
    "Holding",
    "Lease",
    "LeaseView",
    "Limit",
    "Limiter",
    "Message",
    "Namespace",
    "NotFound",
    "Page",
    "Parent",
    "Queue",
    "RateLimitExceeded",
    "Refused",
    "Resolved",
    "Scope",
    "Settings",
    "Status",
    "SyncAcquiring",
    "SyncConsumer",
    "SyncLease",
    "SyncLimiter",
    "SyncMessage",
    "SyncQueue",
    "TidegateError",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedReply",
    "Unreachable",
    "Usage",
    "UsageRow",
    "UsageTotal",
]
