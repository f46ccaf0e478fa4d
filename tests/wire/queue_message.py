"""A message as every transport delivers it."""

import dataclasses


@dataclasses.dataclass
class Message:
    """A delivered message."""

    id: str
    receipt: str
    attempts: int
    key: str
    weight: int
    cost: int
    enqueued_at: int
    headers: dict
    throttle: list
    payload: bytes
    dead: dict | None
    # What its delivery has taken of entities: (entity, resource, limit, amount).
    charges: list
