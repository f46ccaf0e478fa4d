"""One adapter per transport, over a client that people use. All of them ask and answer in the same form."""

import grpc
import httpx
import redis

import protocol
from decision import I32_MAX, I64_MAX, NEVER, U32_MAX, Decision, Refused
from frames import Raw, frame, read_frame

ALL_OPERATIONS = frozenset({"throttle", "peek", "reset", "clear"})


class Adapter:
    """What the conformance script needs to know of a transport besides how to ask."""

    operations = ALL_OPERATIONS
    takes_any_bytes = True
    largest_number = I64_MAX
    largest_reply = I64_MAX

    def __init__(self, server, namespace=None):
        self.server = server
        self.namespace = namespace

    def close(self):
        """Ends its connection."""
        raise NotImplementedError


class Resp(Adapter):
    """redis-py."""

    protocol = 2

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        host, port = server.resp
        self.redis = redis.Redis(
            host=host,
            port=port,
            # What it sends SELECT with, on every connection: a pipeline has one of its own.
            db=namespace or 0,
            protocol=self.protocol,
            socket_timeout=10,
            single_connection_client=True,
        )

    def close(self):
        self.redis.close()

    def _call(self, *words):
        try:
            return self.redis.execute_command(*words)
        except redis.ResponseError as error:
            raise Refused(str(error).split(":")[0], str(error)) from None

    def _decide(self, command, key, limit, quantity):
        words = [command, key, *(limit.parts() if limit else ())]
        allowed, *numbers = self._call(*words, *([] if quantity is None else [quantity]))
        assert allowed in (0, 1)
        return Decision(allowed == 1, *numbers)

    def throttle(self, key, limit=None, quantity=None):
        return self._decide("THROTTLE", key, limit, quantity)

    def peek(self, key, limit=None, quantity=None):
        return self._decide("THROTTLE.PEEK", key, limit, quantity)

    def reset(self, *keys):
        return self._call("THROTTLE.RESET", *keys)

    def clear(self):
        return self._call("THROTTLE.CLEAR")


class Resp3(Resp):
    protocol = 3


class Http(Adapter):
    """httpx."""

    takes_any_bytes = False

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        headers = {"Tidegate-Namespace": namespace} if namespace else {}
        self.http = httpx.Client(base_url=server.url, timeout=10, headers=headers)

    def close(self):
        self.http.close()

    def _post(self, path, body):
        answer = self.http.post(path, json=body)
        if answer.status_code == 200:
            return answer.json()
        error = answer.json()["error"]
        raise Refused(error["code"], f"{error['message']}; {error['hint']}")

    def _decide(self, path, key, limit, quantity):
        body = {"key": key.decode()}
        if limit:
            body |= {"max_burst": limit.burst, "count_per_period": limit.count, "period": limit.period}
        if quantity is not None:
            body["quantity"] = quantity
        return Decision(**self._post(path, body))

    def throttle(self, key, limit=None, quantity=None):
        return self._decide("/throttle", key, limit, quantity)

    def peek(self, key, limit=None, quantity=None):
        return self._decide("/throttle/peek", key, limit, quantity)

    def reset(self, *keys):
        return self._post("/throttle/reset", {"keys": [key.decode() for key in keys]})["reset"]

    def clear(self):
        return self._post("/throttle/clear", {})["cleared"]


class Grpc(Adapter):
    """What both gRPC services share."""

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        self.channel = grpc.insecure_channel("{}:{}".format(*server.http))

    def close(self):
        self.channel.close()

    def _metadata(self):
        return [("tidegate-namespace", self.namespace)] if self.namespace else []

    def _call(self, method, request):
        try:
            return method(request, timeout=20, metadata=self._metadata())
        except grpc.RpcError as error:
            code = dict(error.trailing_metadata() or ()).get("tidegate-code", error.code().name)
            raise Refused(code, error.details()) from None

    def _decide(self, method, request, key, limit, quantity):
        request.key = key
        if limit:
            request.max_burst, request.count_per_period, request.period = limit.parts()
        if quantity is not None:
            request.quantity = quantity
        answer = self._call(method, request)
        return Decision(answer.allowed, answer.limit, answer.remaining, answer.reset_after, answer.retry_after)


class GrpcThrottlecrab(Grpc):
    """grpcio, with throttlecrab's service."""

    operations = frozenset({"throttle"})
    takes_any_bytes = False
    largest_number = I32_MAX
    largest_reply = I32_MAX

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        self.stub = protocol.throttlecrab_grpc.RateLimiterStub(self.channel)

    def throttle(self, key, limit=None, quantity=None):
        request = protocol.throttlecrab.ThrottleRequest()
        return self._decide(self.stub.Throttle, request, key.decode(), limit, quantity)


class GrpcTidegate(Grpc):
    """grpcio, with Tidegate's own service."""

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        self.stub = protocol.ask_grpc.AskStub(self.channel)

    def throttle(self, key, limit=None, quantity=None):
        return self._decide(self.stub.Throttle, protocol.ask.ThrottleRequest(), key, limit, quantity)

    def peek(self, key, limit=None, quantity=None):
        return self._decide(self.stub.Peek, protocol.ask.ThrottleRequest(), key, limit, quantity)

    def reset(self, *keys):
        return self._call(self.stub.Reset, protocol.ask.ResetRequest(keys=keys)).reset

    def clear(self):
        return self._call(self.stub.Clear, protocol.ask.ClearRequest()).cleared


class Msgpack(Adapter):
    """msgpack over a socket; requests and replies are maps."""

    largest_reply = U32_MAX
    COMMANDS = {"throttle": 1, "peek": 2, "reset": 3, "clear": 4}
    FIELDS = ("cmd", "key", "burst", "rate", "period", "quantity", "namespace")
    REPLY = ("ok", "allowed", "limit", "remaining", "retry_after", "reset_after", "error")

    def __init__(self, server, namespace=None):
        super().__init__(server, namespace)
        self.raw = Raw(server.msgpack)

    def close(self):
        self.raw.close()

    def encode(self, values):
        request = dict(zip(self.FIELDS, values))
        if self.namespace:
            request["namespace"] = self.namespace
        return request

    def decode(self, reply):
        assert isinstance(reply, dict), reply
        return reply

    def call(self, *values):
        self.raw.send(frame(self.encode(values)))
        reply = self.decode(read_frame(self.raw))
        if not reply["ok"]:
            raise Refused(reply["error"].split(":")[0], reply["error"])
        return reply

    def _decide(self, command, key, limit, quantity):
        values = [self.COMMANDS[command], key, *(limit.parts() if limit else ())]
        reply = self.call(*values, *([] if quantity is None else [quantity]))
        assert reply["allowed"] in (0, 1)
        never = not reply["allowed"] and reply["retry_after"] == U32_MAX
        return Decision(
            reply["allowed"] == 1,
            reply["limit"],
            reply["remaining"],
            reply["reset_after"],
            NEVER if never else reply["retry_after"],
        )

    def throttle(self, key, limit=None, quantity=None):
        return self._decide("throttle", key, limit, quantity)

    def peek(self, key, limit=None, quantity=None):
        return self._decide("peek", key, limit, quantity)

    def reset(self, *keys):
        """One key at a time; the count is told nowhere, so it is not compared."""
        for key in keys:
            self.call(self.COMMANDS["reset"], key)

    def clear(self):
        self.call(self.COMMANDS["clear"])


class MsgpackArray(Msgpack):
    """Requests and replies are arrays."""

    def encode(self, values):
        request = list(values)
        if self.namespace:
            unsaid = len(self.FIELDS) - 1 - len(request)
            request += [None] * unsaid + [self.namespace]
        return request

    def decode(self, reply):
        assert isinstance(reply, list), reply
        return dict(zip(self.REPLY, reply))


TRANSPORTS = {
    "resp2": Resp,
    "resp3": Resp3,
    "http": Http,
    "grpc-throttlecrab": GrpcThrottlecrab,
    "grpc-tidegate": GrpcTidegate,
    "msgpack-map": Msgpack,
    "msgpack-array": MsgpackArray,
}
