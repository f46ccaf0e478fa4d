"""Who pays how much of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .command import Cost, Word, amounts

DEFAULT_RESOURCE = "_default_"


@dataclass(frozen=True)
class Charge:
    """An entity, a resource and what is taken of its limits. Several are taken all or none."""

    entity: str
    resource: str = DEFAULT_RESOURCE
    consume: Cost = field(default_factory=dict)

    def words(self) -> tuple[Word, ...]:
        """`entity resource limit amount ...`"""
        return (self.entity, self.resource, *amounts(self.consume))


def charges_of(
    entity: str | None, resource: str, consume: Cost | None, charges: Iterable[Charge] | None
) -> tuple[Charge, ...]:
    """The charges of a call that names one entity, or several charges."""
    if charges is None:
        if entity is None:
            raise ValueError("an acquire needs an entity, or charges")
        return (Charge(entity, resource, consume or {}),)
    if entity is not None or consume is not None:
        raise ValueError("say entity, resource and consume, or charges, not both")
    several = tuple(charges)
    if not several:
        raise ValueError("charges is empty")
    return several
