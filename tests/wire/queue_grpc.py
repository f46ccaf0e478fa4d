"""The Queue door over gRPC, with grpcio."""

import queue as queues
import threading

import grpc
from google.protobuf import json_format

import protocol
from clients import Grpc
from decision import Decision, Refused
from queue_message import Message


def amounts(cost):
    """Amounts of limits."""
    return [protocol.ledger.Amount(limit=limit, amount=amount) for limit, amount in (cost or {}).items()]


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
        for entity, resource, cost in fields.get("entity_charges", []):
            message.entity_charges.add(entity=entity, resource=resource, cost=amounts(cost))
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
            charges=[
                (charge.entity, charge.resource, amount.limit, amount.amount)
                for charge in message.entity_charges
                for amount in charge.cost
            ],
        )

    def receive(self, queue, count=1, wait_ms=0):
        request = protocol.queue.ReceiveRequest(queue=queue, max=count, wait_ms=wait_ms)
        return [self.message(message) for message in self._ask("Receive", request).messages]

    def _settle(self, method, request):
        outcomes = [self._result(result) for result in self._ask(method, request).results]
        return [outcome if isinstance(outcome, Refused) else None for outcome in outcomes]

    def ack(self, queue, *receipts, cost=None):
        request = protocol.queue.AckRequest(queue=queue, receipts=receipts, cost=amounts(cost))
        return self._settle("Ack", request)

    def release(self, queue, *receipts):
        return self._settle("Release", protocol.queue.ReleaseRequest(queue=queue, receipts=receipts))

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None, cost=None):
        request = protocol.queue.NackRequest(queue=queue)
        for receipt in receipts:
            item = request.items.add(receipt=receipt, delay_ms=delay_ms, error=error, cost=amounts(cost))
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
        request = protocol.named_limit.SetLimitRequest(key=key.encode(), burst=burst, count=count, period_s=period)
        return self._limit(self._ask("SetLimit", request))

    def get_limit(self, key):
        return self._limit(self._ask("GetLimit", protocol.named_limit.LimitRequest(key=key.encode())))

    def list_limits(self):
        return [self._limit(limit) for limit in self._ask("ListLimits", protocol.named_limit.ListLimitsRequest()).limits]

    def del_limit(self, key):
        self._ask("RemoveLimit", protocol.named_limit.LimitRequest(key=key.encode()))

    def take_limit(self, key, quantity=1):
        answer = self._ask("TakeLimit", protocol.named_limit.TakeLimitRequest(key=key.encode(), quantity=quantity))
        return Decision(answer.allowed, answer.limit, answer.remaining, answer.reset_after, answer.retry_after)

    def close_limit(self, key, ms):
        self._ask("CloseLimit", protocol.named_limit.CloseLimitRequest(key=key.encode(), retry_after_ms=ms))

    def set_setting(self, key, value):
        self._ask("SetSetting", protocol.named_limit.SetSettingRequest(key=key, value=value))

    def get_setting(self, key):
        return self._ask("GetSetting", protocol.named_limit.SettingRequest(key=key)).value

    def list_settings(self, prefix=""):
        found = self._ask("ListSettings", protocol.named_limit.ListSettingsRequest(prefix=prefix)).settings
        return {setting.key: setting.value for setting in found}

    def del_setting(self, key):
        self._ask("RemoveSetting", protocol.named_limit.SettingRequest(key=key))

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
            self.messages.put(None)

    def next(self, timeout_s=10):
        """The next message, or None."""
        try:
            message = self.messages.get(timeout=timeout_s)
        except queues.Empty:
            return None
        if message is None:
            raise self.error
        return message

    def credit(self, count):
        self.requests.put(protocol.queue.ConsumeRequest(credit=count))

    def ack(self, queue, receipt):
        self.requests.put(protocol.queue.ConsumeRequest(ack=protocol.queue.Receipts(receipts=[receipt])))
        (result,) = self.results.get(timeout=10)
        assert not isinstance(result, Refused), result

    def close(self):
        self.call.cancel()
        self.requests.put(None)
