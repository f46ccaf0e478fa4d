"""The Queue door over RESP, with redis-py."""

import itertools
import json

import redis

from clients import Resp
from decision import Decision, Refused
from queue_message import Message


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def pairs(flat):
    """A RESP2 flat array, or a RESP3 map, as a dict with text keys."""
    items = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2])
    return {text(name): value for name, value in items}


def resp_message(reply):
    fields = pairs(reply)
    dead = fields["dead"]
    return Message(
        id=text(fields["id"]),
        receipt=text(fields["receipt"]),
        attempts=fields["attempts"],
        key=text(fields["key"]),
        weight=fields["weight"],
        cost=fields["cost"],
        enqueued_at=fields["enqueued_at"],
        headers={name: text(value) for name, value in pairs(fields["headers"]).items()},
        throttle=[text(key) for key in fields["throttle"]],
        payload=fields["payload"],
        dead=None if dead is None else {name: text(value) for name, value in pairs(dead).items()},
        charges=[tuple(text(part) for part in charge) for charge in fields.get("charges", [])],
    )


class RespQueues(Resp):
    """redis-py."""

    streams = True

    def _refusal(self, error):
        return Refused(str(error).split(":")[0].split(" ")[0], str(error))

    def _json(self, *words):
        return json.loads(self._call(*words))

    def create(self, name, **settings):
        return self._json("QUEUE", "CREATE", name, json.dumps(settings))

    def update(self, name, **settings):
        return self._json("QUEUE", "UPDATE", name, json.dumps(settings))

    def delete(self, name):
        self._call("QUEUE", "DELETE", name)

    def list(self):
        return self._json("QUEUE", "LIST")["queues"]

    def inspect(self, name):
        return self._json("QUEUE", "INSPECT", name)

    def flows(self, name):
        return self._json("QUEUE", "FLOWS", name)["flows"]

    def purge(self, name):
        return self._json("QUEUE", "PURGE", name)["purged"]

    def pause(self, name):
        return self._json("QUEUE", "PAUSE", name)

    def resume(self, name):
        return self._json("QUEUE", "RESUME", name)

    def redrive(self, name, count=None):
        words = [] if count is None else ["COUNT", count]
        return self._json("QUEUE", "REDRIVE", name, *words)["redriven"]

    @staticmethod
    def _enqueue_words(queue, payload, fields):
        words = ["ENQUEUE", queue, payload]
        for word, field in [("KEY", "key"), ("WEIGHT", "weight"), ("COST", "cost"), ("DELAY", "delay_ms"), ("AT", "at_ms")]:
            if fields.get(field) is not None:
                words += [word, fields[field]]
        for key in fields.get("throttle", []):
            words += ["THROTTLE", key]
        for key, amount in fields.get("charges", {}).items():
            words += ["CHARGE", key, amount]
        for entity, resource, cost in fields.get("entity_charges", []):
            for limit, amount in cost.items():
                words += ["ENTITY", entity, resource, limit, amount]
        for name, value in fields.get("headers", {}).items():
            words += ["HEADER", name, value]
        return words

    def enqueue(self, queue, payload, **fields):
        return text(self._call(*self._enqueue_words(queue, payload, fields)))

    def enqueue_batch(self, messages):
        """Messages are (queue, payload, fields); one result each."""
        pipe = self.redis.pipeline(transaction=False)
        for queue, payload, fields in messages:
            pipe.execute_command(*self._enqueue_words(queue, payload, fields))
        results = pipe.execute(raise_on_error=False)
        return [self._refusal(r) if isinstance(r, Exception) else text(r) for r in results]

    def receive(self, queue, count=1, wait_ms=0):
        return [resp_message(reply) for reply in self._call("RECEIVE", queue, "COUNT", count, "WAIT", wait_ms)]

    def _settle(self, pipe):
        results = pipe.execute(raise_on_error=False)
        return [self._refusal(r) if isinstance(r, Exception) else None for r in results]

    def _each(self, items, words):
        pipe = self.redis.pipeline(transaction=False)
        for item in items:
            pipe.execute_command(*words(item))
        return self._settle(pipe)

    @staticmethod
    def _cost(cost):
        """What follows a receipt to settle it."""
        return [] if cost is None else ["COST", *itertools.chain(*cost.items())]

    def ack(self, queue, *receipts, cost=None):
        return self._each(receipts, lambda receipt: ("ACK", queue, receipt, *self._cost(cost)))

    def release(self, queue, *receipts):
        return self._each(receipts, lambda receipt: ("RELEASE", queue, receipt))

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None, cost=None):
        options = [] if delay_ms is None else ["DELAY", delay_ms]
        options += [] if error is None else ["ERROR", error]
        options += [] if close is None else ["CLOSE", *close]
        options += self._cost(cost)
        return self._each(receipts, lambda receipt: ("NACK", queue, receipt, *options))

    def extend(self, queue, receipt, ms):
        return self._each([receipt], lambda receipt: ("EXTEND", queue, receipt, ms))

    def set_limit(self, key, burst, count, period):
        return self._json("LIMIT", "SET", key, burst, count, period)

    def get_limit(self, key):
        return self._json("LIMIT", "GET", key)

    def list_limits(self):
        return self._json("LIMIT", "LIST")["limits"]

    def del_limit(self, key):
        self._call("LIMIT", "DEL", key)

    def take_limit(self, key, quantity=1):
        allowed, *numbers = self._call("LIMIT", "TAKE", key, quantity)
        return Decision(allowed == 1, *numbers)

    def close_limit(self, key, ms):
        self._call("LIMIT", "CLOSE", key, ms)

    def set_setting(self, key, value):
        self._call("SETTING", "SET", key, value)

    def get_setting(self, key):
        return self._json("SETTING", "GET", key)["value"]

    def list_settings(self, prefix=""):
        return {item["key"]: item["value"] for item in self._json("SETTING", "LIST", prefix)["settings"]}

    def del_setting(self, key):
        self._call("SETTING", "DEL", key)

    def consume(self, queue, credit):
        return RespStream(self, queue, credit)


class RespStream:
    """`CONSUME` on a connection of its own."""

    def __init__(self, adapter, queue, credit):
        self.adapter = type(adapter)(adapter.server, adapter.namespace)
        self.connection = self.adapter.redis.connection or self.adapter.redis.connection_pool.get_connection()
        self.connection.send_command("CONSUME", queue, "CREDIT", credit)
        self.consumer = self._read(10)
        self.pushed = []

    def _read(self, timeout_s):
        try:
            return self.connection.read_response(timeout=timeout_s, push_request=True, disconnect_on_error=False)
        except redis.ResponseError as error:
            raise self.adapter._refusal(error) from None

    def next(self, timeout_s=10):
        """The next message, or None."""
        if self.pushed:
            return self.pushed.pop(0)
        try:
            kind, consumer, message = self._read(timeout_s)
        except (redis.TimeoutError, TimeoutError):
            return None
        assert consumer == self.consumer
        if text(kind) == "ended":
            raise self.adapter._refusal(text(message).removeprefix("ERR "))
        assert text(kind) == "message"
        return resp_message(message)

    def _command(self, *words):
        """Sends a command; messages that come before its reply are kept."""
        self.connection.send_command(*words)
        while True:
            reply = self._read(10)
            if isinstance(reply, list) and reply and text(reply[0]) == "message":
                self.pushed.append(resp_message(reply[2]))
            else:
                return reply

    def credit(self, count):
        assert text(self._command("CREDIT", self.consumer, count)) == "OK"

    def ack(self, queue, receipt):
        assert text(self._command("ACK", queue, receipt)) == "OK"

    def enqueue(self, queue, payload):
        return text(self._command("ENQUEUE", queue, payload))

    def close(self):
        """As a client that dies: the socket closes."""
        self.connection.disconnect()


class Resp3Queues(RespQueues):
    protocol = 3
