"""Messages: in, out, and answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import reply
from .charge import Charge
from .command import Command, Cost, Seconds, Text, Time, Word, amounts, as_bytes, milliseconds, option, unix_ms


@dataclass(frozen=True)
class DeadLetter:
    """Why a message is in a dead-letter queue."""

    reason: str
    queue: str
    at: datetime
    attempts: int


@dataclass(eq=False)
class Delivery:
    """A message as it was delivered. `receipt` names this delivery and no other, `attempts` counts the failed."""

    queue: str
    id: str
    receipt: str
    payload: bytes
    headers: dict[str, str]
    fairness_key: str
    attempts: int
    weight: int
    cost: int
    enqueued_at: datetime
    throttle_keys: list[str]
    charges: list[Charge]
    dead: DeadLetter | None

    def text(self) -> str:
        """The payload as UTF-8 text."""
        return self.payload.decode()

    def json(self) -> Any:
        """The payload, read as JSON."""
        return json.loads(self.payload)


def delivery(queue: str, found: Any) -> Delivery:
    """A message out of a reply."""
    fields = reply.pairs(found)
    return Delivery(
        queue=queue,
        id=reply.text(fields["id"]),
        receipt=reply.text(fields["receipt"]),
        payload=fields["payload"],
        headers={name: reply.text(value) for name, value in reply.pairs(fields["headers"]).items()},
        fairness_key=reply.text(fields["key"]),
        attempts=fields["attempts"],
        weight=fields["weight"],
        cost=fields["cost"],
        enqueued_at=reply.at(fields["enqueued_at"]),
        throttle_keys=[reply.text(key) for key in fields.get("throttle") or []],
        charges=_charges(fields.get("charges") or []),
        dead=_dead_letter(fields.get("dead")),
    )


def _charges(rows: list[Any]) -> list[Charge]:
    """`[entity, resource, limit, amount]` each; those of one entity and resource are one charge."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for entity, resource, limit, amount, *_ in rows:
        found.setdefault((reply.text(entity), reply.text(resource)), {})[reply.text(limit)] = amount
    return [Charge(entity, resource, consume) for (entity, resource), consume in found.items()]


def _dead_letter(found: Any) -> DeadLetter | None:
    if found is None:
        return None
    fields = reply.pairs(found)
    return DeadLetter(
        reply.text(fields["reason"]), reply.text(fields["queue"]), reply.at(fields["at"]), fields["attempts"]
    )


def enqueue(
    queue: str,
    payload: Text,
    *,
    headers: Mapping[str, Text] | None = None,
    fairness_key: Text | None = None,
    weight: int | None = None,
    cost: int | None = None,
    delay: Seconds | None = None,
    at: Time | None = None,
    throttle_keys: Iterable[Text] | None = None,
    throttle_charges: Mapping[str, int] | None = None,
    charges: Iterable[Charge] | None = None,
) -> Command[str]:
    """Puts a message into the queue, and says its id.

    It is delivered when every limit can pay: `charges` draw on the same budgets as `acquire`, `throttle_keys` take 1
    each from named limits, `throttle_charges` more. `fairness_key` is the tenant, `weight` its share, `cost` what this
    message takes of it. `delay` seconds from now, or `at` a time: not before.
    """
    words: list[Word] = ["ENQUEUE", queue, as_bytes(payload)]
    words += option("KEY", None if fairness_key is None else as_bytes(fairness_key))
    words += option("WEIGHT", weight) + option("COST", cost)
    words += option("DELAY", None if delay is None else milliseconds(delay))
    words += option("AT", None if at is None else unix_ms(at))
    for key in throttle_keys or ():
        words += ["THROTTLE", as_bytes(key)]
    for name, amount in (throttle_charges or {}).items():
        words += ["CHARGE", name, amount]
    for charge in charges or ():
        for limit, amount in charge.consume.items():
            words += ["ENTITY", charge.entity, charge.resource, limit, amount]
    for name, value in (headers or {}).items():
        words += ["HEADER", name, as_bytes(value)]
    return Command(tuple(words), reply.text)


def receive(queue: str, *, count: int = 1, wait: Seconds = 0) -> Command[list[Delivery]]:
    """Takes up to `count` messages, waiting up to `wait` seconds for the first."""
    words = ("RECEIVE", queue, "COUNT", count, "WAIT", milliseconds(wait))

    def decode(found: Any) -> list[Delivery]:
        return [delivery(queue, each) for each in reply.array(found)]

    return Command(words, decode, milliseconds(wait) / 1000)


def ack(queue: str, receipt: str, cost: Cost | None = None) -> Command[None]:
    """It is done with; `cost` is what it really cost, limit by limit."""
    return Command(("ACK", queue, receipt, *_cost(cost)), reply.done)


def nack(
    queue: str,
    receipt: str,
    *,
    delay: Seconds | None = None,
    error: str | None = None,
    close: tuple[Text, Seconds] | None = None,
    cost: Cost | None = None,
) -> Command[None]:
    """The attempt failed."""
    words: list[Word] = ["NACK", queue, receipt, *option("DELAY", None if delay is None else milliseconds(delay))]
    words += option("ERROR", error)
    if close is not None:
        words += ["CLOSE", as_bytes(close[0]), milliseconds(close[1])]
    return Command((*words, *_cost(cost)), reply.done)


def extend(queue: str, receipt: str, length: Seconds) -> Command[None]:
    """It needs so long from now on."""
    return Command(("EXTEND", queue, receipt, milliseconds(length)), reply.done)


def release(queue: str, *receipts: str) -> Command[None]:
    """Gives messages back: no attempt is counted, and all that they took comes back."""
    return Command(("RELEASE", queue, *receipts), lambda _: None)


def _cost(cost: Cost | None) -> tuple[Word, ...]:
    return ("COST", *amounts(cost)) if cost else ()


def why(queue: str, message: str) -> Command[dict[str, Any]]:
    """What a message waits for, and until when."""
    return Command(("WHY", "MESSAGE", queue, message), reply.json_document)


def why_flow(queue: str, fairness_key: Text) -> Command[dict[str, Any]]:
    """What the messages of a tenant wait for, and until when."""
    return Command(("WHY", "FLOW", queue, as_bytes(fairness_key)), reply.json_document)
