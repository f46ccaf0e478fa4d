"""One adapter per transport for the Queue door. All of them ask and answer in the same form."""

import base64
import dataclasses
import json
import queue as queues
import threading

import grpc
import httpx
import redis
from google.protobuf import json_format

import protocol
from clients import Grpc, Http, Resp
from decision import Decision, Refused


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

    def ack(self, queue, *receipts):
        return self._each(receipts, lambda receipt: ("ACK", queue, receipt))

    def release(self, queue, *receipts):
        return self._each(receipts, lambda receipt: ("RELEASE", queue, receipt))

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None):
        options = [] if delay_ms is None else ["DELAY", delay_ms]
        options += [] if error is None else ["ERROR", error]
        options += [] if close is None else ["CLOSE", *close]
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
        assert text(kind) == "message" and consumer == self.consumer
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


class HttpQueues(Http):
    """httpx."""

    streams = False

    def _ask(self, method, path, body=None, **kwargs):
        answer = self.http.request(method, path, json=body, timeout=40, **kwargs)
        if answer.status_code in (200, 201):
            return answer.json()
        error = answer.json()["error"]
        raise Refused(error["code"], f"{error['message']}; {error['hint']}")

    def create(self, name, **settings):
        return self._ask("POST", "/queues", {"name": name, **settings})

    def update(self, name, **settings):
        return self._ask("PATCH", f"/queues/{name}", settings)

    def delete(self, name):
        self._ask("DELETE", f"/queues/{name}")

    def list(self):
        return self._ask("GET", "/queues")["queues"]

    def inspect(self, name):
        return self._ask("GET", f"/queues/{name}")

    def flows(self, name):
        return self._ask("GET", f"/queues/{name}/flows")["flows"]

    def purge(self, name):
        return self._ask("POST", f"/queues/{name}/purge")["purged"]

    def pause(self, name):
        return self._ask("POST", f"/queues/{name}/pause")

    def resume(self, name):
        return self._ask("POST", f"/queues/{name}/resume")

    def redrive(self, name, count=None):
        return self._ask("POST", f"/queues/{name}/redrive", {} if count is None else {"count": count})["redriven"]

    @staticmethod
    def _document(payload, fields):
        document = {"payload_base64": base64.b64encode(payload).decode()}
        names = {"key": "fairness_key", "at_ms": "deliver_at_ms", "throttle": "throttle_keys"}
        for field, value in fields.items():
            if field == "charges":
                value = [{"key": key, "amount": amount} for key, amount in value.items()]
            if value is not None:
                document[names.get(field, field)] = value
        return document

    def enqueue(self, queue, payload, **fields):
        return self._ask("POST", f"/queues/{queue}/messages", self._document(payload, fields))["id"]

    @staticmethod
    def _result(result):
        error = result.get("error")
        return Refused(error["code"], error["message"]) if error else result.get("id")

    def enqueue_batch(self, messages):
        """One request for each run of messages to one queue."""
        results = []
        while messages:
            queue = messages[0][0]
            run = messages[: next((i for i, m in enumerate(messages) if m[0] != queue), len(messages))]
            messages = messages[len(run) :]
            documents = [self._document(payload, fields) for _, payload, fields in run]
            try:
                answer = self._ask("POST", f"/queues/{queue}/messages", {"messages": documents})
                results += [self._result(result) for result in answer["results"]]
            except Refused as refused:
                results += [refused] * len(run)
        return results

    def receive(self, queue, count=1, wait_ms=0):
        answer = self._ask("POST", f"/queues/{queue}/receive", {"max": count, "wait_ms": wait_ms})
        return [self._message(document) for document in answer["messages"]]

    @staticmethod
    def _message(document):
        payload = document.get("payload")
        payload = base64.b64decode(document["payload_base64"]) if payload is None else payload.encode()
        return Message(
            id=document["id"],
            receipt=document["receipt"],
            attempts=document["attempts"],
            key=document["fairness_key"],
            weight=document["weight"],
            cost=document["cost"],
            enqueued_at=document["enqueued_at_ms"],
            headers=document["headers"],
            throttle=document["throttle_keys"],
            payload=payload,
            dead=document["dead_letter"],
        )

    def _settle(self, queue, verb, body):
        results = self._ask("POST", f"/queues/{queue}/{verb}", body)["results"]
        outcomes = [self._result(result) for result in results]
        return [outcome if isinstance(outcome, Refused) else None for outcome in outcomes]

    def ack(self, queue, *receipts):
        return self._settle(queue, "ack", {"receipts": list(receipts)})

    def release(self, queue, *receipts):
        return self._settle(queue, "release", {"receipts": list(receipts)})

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None):
        item = {"delay_ms": delay_ms, "error": error}
        if close:
            item["close"] = {"throttle_key": close[0], "retry_after_ms": close[1]}
        item = {name: value for name, value in item.items() if value is not None}
        return self._settle(queue, "nack", {"items": [{"receipt": receipt, **item} for receipt in receipts]})

    def extend(self, queue, receipt, ms):
        return self._settle(queue, "extend", {"items": [{"receipt": receipt, "visibility_timeout_ms": ms}]})

    def set_limit(self, key, burst, count, period):
        return self._ask("PUT", f"/limits/{key}", {"burst": burst, "count": count, "period_s": period})

    def get_limit(self, key):
        return self._ask("GET", f"/limits/{key}")

    def list_limits(self):
        return self._ask("GET", "/limits")["limits"]

    def del_limit(self, key):
        self._ask("DELETE", f"/limits/{key}")

    def take_limit(self, key, quantity=1):
        return Decision(**self._ask("POST", f"/limits/{key}/take", {"quantity": quantity}))

    def close_limit(self, key, ms):
        self._ask("POST", f"/limits/{key}/close", {"retry_after_ms": ms})

    def set_setting(self, key, value):
        self._ask("PUT", f"/settings/{key}", {"value": value})

    def get_setting(self, key):
        return self._ask("GET", f"/settings/{key}")["value"]

    def list_settings(self, prefix=""):
        found = self._ask("GET", "/settings", params={"prefix": prefix})["settings"]
        return {item["key"]: item["value"] for item in found}

    def del_setting(self, key):
        self._ask("DELETE", f"/settings/{key}")


class GrpcQueues(Grpc):
    """grpcio, with tidegate.v1.Queue."""

    streams = True

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        self.stub = protocol.queue_grpc.QueueStub(self.channel)

    def _ask(self, method, request):
        return self._call(getattr(self.stub, method), request)

    @staticmethod
    def _settings(settings):
        settings = dict(settings)
        if "durability" in settings:
            settings["durability"] = f"DURABILITY_{settings['durability'].upper()}"
        if "dead_letter_queue" in settings:
            settings["dead_letter_queue"] = settings["dead_letter_queue"] or ""
        named = protocol.queue.Settings.DESCRIPTOR.fields_by_name
        unknown = [name for name in settings if name not in named]
        if unknown:
            # A typed client cannot even say it.
            raise Refused("invalid_settings", f"unknown field {unknown[0]}")
        return json_format.ParseDict(settings, protocol.queue.Settings())

    @staticmethod
    def _report(report):
        settings = json_format.MessageToDict(report.settings, preserving_proto_field_name=True)
        stats = {field.name: getattr(report.stats, field.name) for field in report.stats.DESCRIPTOR.fields}
        for name in ("visibility_timeout_ms", "retention_ms", "max_depth", "max_bytes"):
            if name in settings:
                settings[name] = int(settings[name])
        return {"name": report.name, "settings": settings, "stats": stats}

    def create(self, name, **settings):
        request = protocol.queue.CreateQueueRequest(name=name, settings=self._settings(settings))
        return self._report(self._ask("CreateQueue", request))

    def update(self, name, **settings):
        defaults = [key for key, value in settings.items() if value is None and key != "dead_letter_queue"]
        settings = self._settings({key: value for key, value in settings.items() if key not in defaults})
        request = protocol.queue.UpdateQueueRequest(name=name, settings=settings, defaults=defaults)
        return self._report(self._ask("UpdateQueue", request))

    def _named(self, method, name):
        return self._ask(method, protocol.queue.QueueRequest(name=name))

    def delete(self, name):
        self._named("DeleteQueue", name)

    def list(self):
        return [self._report(queue) for queue in self._ask("ListQueues", protocol.queue.ListQueuesRequest()).queues]

    def inspect(self, name):
        return self._report(self._named("GetQueue", name))

    def flows(self, name):
        flows = self._ask("Flows", protocol.queue.FlowsRequest(name=name)).flows
        return [
            {field.name: getattr(flow, field.name) for field in flow.DESCRIPTOR.fields}
            | {"fairness_key": flow.fairness_key.decode(), "parked_on": [key.decode() for key in flow.parked_on]}
            for flow in flows
        ]

    def purge(self, name):
        return self._named("PurgeQueue", name).purged

    def pause(self, name):
        return self._report(self._named("PauseQueue", name))

    def resume(self, name):
        return self._report(self._named("ResumeQueue", name))

    def redrive(self, name, count=None):
        return self._ask("Redrive", protocol.queue.RedriveRequest(name=name, count=count)).redriven

    @staticmethod
    def _new(payload, fields):
        message = protocol.queue.NewMessage(payload=payload)
        if fields.get("key") is not None:
            message.fairness_key = fields["key"].encode()
        for field, name in [("weight", "weight"), ("cost", "cost"), ("delay_ms", "delay_ms"), ("at_ms", "deliver_at_ms")]:
            if fields.get(field) is not None:
                setattr(message, name, fields[field])
        if "throttle" in fields:
            message.throttle_keys.SetInParent()
            message.throttle_keys.keys.extend(key.encode() for key in fields["throttle"])
        for key, amount in fields.get("charges", {}).items():
            message.charges.add(key=key.encode(), amount=amount)
        for name, value in fields.get("headers", {}).items():
            message.headers.add(name=name, value=value.encode())
        return message

    @staticmethod
    def _result(result):
        if result.WhichOneof("outcome") == "error":
            return Refused(result.error.code, result.error.message)
        return result.id

    def enqueue(self, queue, payload, **fields):
        request = protocol.queue.EnqueueRequest(queue=queue, messages=[self._new(payload, fields)])
        result = self._result(self._ask("Enqueue", request).results[0])
        if isinstance(result, Refused):
            raise result
        return result

    def enqueue_batch(self, messages):
        """As a stream."""
        metadata = [("tidegate-namespace", self.namespace)] if self.namespace else []
        requests = (
            protocol.queue.EnqueueRequest(queue=queue, messages=[self._new(payload, fields)])
            for queue, payload, fields in messages
        )
        answers = self.stub.EnqueueStream(requests, timeout=20, metadata=metadata)
        return [self._result(result) for answer in answers for result in answer.results]

    @staticmethod
    def message(message):
        dead = message.dead_letter if message.HasField("dead_letter") else None
        return Message(
            id=message.id,
            receipt=message.receipt,
            attempts=message.attempts,
            key=message.fairness_key.decode(),
            weight=message.weight,
            cost=message.cost,
            enqueued_at=message.enqueued_at_ms,
            headers={header.name: header.value.decode() for header in message.headers},
            throttle=[charge.key.decode() for charge in message.charges],
            payload=message.payload,
            dead=dead and {"queue": dead.queue, "reason": dead.reason, "at_ms": dead.at_ms, "attempts": dead.attempts},
        )

    def receive(self, queue, count=1, wait_ms=0):
        request = protocol.queue.ReceiveRequest(queue=queue, max=count, wait_ms=wait_ms)
        return [self.message(message) for message in self._ask("Receive", request).messages]

    def _settle(self, method, request):
        outcomes = [self._result(result) for result in self._ask(method, request).results]
        return [outcome if isinstance(outcome, Refused) else None for outcome in outcomes]

    def ack(self, queue, *receipts):
        return self._settle("Ack", protocol.queue.AckRequest(queue=queue, receipts=receipts))

    def release(self, queue, *receipts):
        return self._settle("Release", protocol.queue.ReleaseRequest(queue=queue, receipts=receipts))

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None):
        request = protocol.queue.NackRequest(queue=queue)
        for receipt in receipts:
            item = request.items.add(receipt=receipt, delay_ms=delay_ms, error=error)
            if close:
                item.close.throttle_key, item.close.retry_after_ms = close[0].encode(), close[1]
        return self._settle("Nack", request)

    def extend(self, queue, receipt, ms):
        request = protocol.queue.ExtendRequest(queue=queue)
        request.items.add(receipt=receipt, visibility_timeout_ms=ms)
        return self._settle("Extend", request)

    @staticmethod
    def _limit(report):
        fields = {field.name: value for field, value in report.ListFields()}
        return fields | {"key": report.key.decode(), "tokens": report.tokens}

    def set_limit(self, key, burst, count, period):
        request = protocol.queue.SetLimitRequest(key=key.encode(), burst=burst, count=count, period_s=period)
        return self._limit(self._ask("SetLimit", request))

    def get_limit(self, key):
        return self._limit(self._ask("GetLimit", protocol.queue.LimitRequest(key=key.encode())))

    def list_limits(self):
        return [self._limit(limit) for limit in self._ask("ListLimits", protocol.queue.ListLimitsRequest()).limits]

    def del_limit(self, key):
        self._ask("RemoveLimit", protocol.queue.LimitRequest(key=key.encode()))

    def take_limit(self, key, quantity=1):
        answer = self._ask("TakeLimit", protocol.queue.TakeLimitRequest(key=key.encode(), quantity=quantity))
        return Decision(answer.allowed, answer.limit, answer.remaining, answer.reset_after, answer.retry_after)

    def close_limit(self, key, ms):
        self._ask("CloseLimit", protocol.queue.CloseLimitRequest(key=key.encode(), retry_after_ms=ms))

    def set_setting(self, key, value):
        self._ask("SetSetting", protocol.queue.SetSettingRequest(key=key, value=value))

    def get_setting(self, key):
        return self._ask("GetSetting", protocol.queue.SettingRequest(key=key)).value

    def list_settings(self, prefix=""):
        found = self._ask("ListSettings", protocol.queue.ListSettingsRequest(prefix=prefix)).settings
        return {setting.key: setting.value for setting in found}

    def del_setting(self, key):
        self._ask("RemoveSetting", protocol.queue.SettingRequest(key=key))

    def consume(self, queue, credit):
        return GrpcStream(self, queue, credit)


class GrpcStream:
    """`Consume` as a stream of requests and a thread that reads the responses."""

    def __init__(self, adapter, queue, credit):
        self.requests = queues.Queue()
        self.messages = queues.Queue()
        self.results = queues.Queue()
        subscribe = protocol.queue.Subscribe(queue=queue, credit=credit)
        self.requests.put(protocol.queue.ConsumeRequest(subscribe=subscribe))
        metadata = [("tidegate-namespace", adapter.namespace)] if adapter.namespace else []
        self.call = adapter.stub.Consume(iter(self.requests.get, None), metadata=metadata)
        self.subscribed = threading.Event()
        self.error = None
        threading.Thread(target=self._read, daemon=True).start()
        assert self.subscribed.wait(10)
        if self.error:
            raise self.error

    def _read(self):
        try:
            for response in self.call:
                kind = response.WhichOneof("response")
                if kind == "messages":
                    for message in response.messages.messages:
                        self.messages.put(GrpcQueues.message(message))
                elif kind == "results":
                    self.results.put([GrpcQueues._result(result) for result in response.results.results])
                else:
                    self.subscribed.set()
        except grpc.RpcError as error:
            code = dict(error.trailing_metadata() or ()).get("tidegate-code", error.code().name)
            self.error = Refused(code, error.details())
            self.subscribed.set()

    def next(self, timeout_s=10):
        try:
            return self.messages.get(timeout=timeout_s)
        except queues.Empty:
            return None

    def credit(self, count):
        self.requests.put(protocol.queue.ConsumeRequest(credit=count))

    def ack(self, queue, receipt):
        self.requests.put(protocol.queue.ConsumeRequest(ack=protocol.queue.Receipts(receipts=[receipt])))
        (result,) = self.results.get(timeout=10)
        assert not isinstance(result, Refused), result

    def close(self):
        self.call.cancel()
        self.requests.put(None)


QUEUE_TRANSPORTS = {"resp2": RespQueues, "resp3": Resp3Queues, "http": HttpQueues, "grpc": GrpcQueues}
