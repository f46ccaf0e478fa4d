"""What every transport answers about acquires, in one form."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Status:
    """Where one limit stands."""

    entity: str
    resource: str
    limit: str
    capacity: int
    available: int
    requested: int
    exceeded: bool
    # None: nobody knows.
    retry_after_ms: int | None


@dataclasses.dataclass(frozen=True)
class Acquired:
    """What came of an acquire."""

    granted: bool
    lease: str | None
    expires_at_ms: int | None
    # None: nobody knows.
    retry_after_ms: int | None
    statuses: list
    # Nothing was taken, only counted.
    bypassed: bool = False
    # A crash may forget it: the store is unavailable.
    degraded: bool = False

    def status(self, limit, entity=None):
        """The one status of a limit."""
        found = [s for s in self.statuses if s.limit == limit and entity in (None, s.entity)]
        assert len(found) == 1, self.statuses
        return found[0]

    def available(self):
        """What is left, by entity and limit."""
        return {(status.entity, status.limit): status.available for status in self.statuses}

    def exceeded(self):
        """The limits that were too short, by entity and limit."""
        return {(status.entity, status.limit) for status in self.statuses if status.exceeded}


def status_of(document):
    """Out of JSON; what only some transports tell is left out."""
    return Status(**{field.name: document[field.name] for field in dataclasses.fields(Status)})


def acquired_of(document):
    """Out of JSON."""
    return Acquired(
        granted=document["granted"],
        lease=document["lease"],
        expires_at_ms=document["expires_at_ms"],
        retry_after_ms=document["retry_after_ms"],
        statuses=[status_of(status) for status in document["statuses"]],
        bypassed=document.get("bypassed"),
        degraded=document.get("degraded"),
    )
