"""gRPC: both services, batch and stream, health and reflection, on the HTTP port."""

import queue

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from decision import I32_MAX
from protocol import ask, ask_grpc, throttlecrab, throttlecrab_grpc

SERVICES = {"throttlecrab.RateLimiter", "tidegate.v1.Ask"}


@pytest.fixture
def channel(server):
    with grpc.insecure_channel("{}:{}".format(*server.http)) as channel:
        yield channel


@pytest.fixture
def stub(channel):
    return ask_grpc.AskStub(channel)


def request(key, **changes):
    return ask.ThrottleRequest(**({"key": key, "max_burst": 2, "count_per_period": 1, "period": 3600} | changes))


def outcome(result):
    """What a result of a batch or stream says, in short."""
    if result.WhichOneof("outcome") == "error":
        assert result.error.message and result.error.hint
        return result.error.code
    return result.decision.allowed, result.decision.remaining


MIXED = [{}, {"quantity": -1}, {}, {"max_burst": 0}, {}]
MIXED_OUTCOMES = [(True, 1), "invalid_quantity", (True, 0), "invalid_limit", (False, 0)]


def test_a_batch_answers_each_request_in_order(stub, key):
    batch = ask.ThrottleBatchRequest(requests=[request(key, **changes) for changes in MIXED])
    assert [outcome(result) for result in stub.ThrottleBatch(batch, timeout=10).results] == MIXED_OUTCOMES


def test_a_stream_answers_each_request_in_order_and_goes_on_after_a_refusal(stub, key):
    requests = (request(key, **changes) for changes in MIXED)
    assert [outcome(result) for result in stub.ThrottleStream(requests, timeout=10)] == MIXED_OUTCOMES


def test_a_stream_answers_before_it_ends(stub, key):
    """Each answer comes while the next question is still unasked."""
    to_send = queue.Queue()
    stream = stub.ThrottleStream(iter(to_send.get, None), timeout=10)
    for left in reversed(range(100)):
        to_send.put(request(key, max_burst=100))
        assert outcome(next(stream)) == (True, left)
    to_send.put(None)
    assert list(stream) == []


def test_numbers_beyond_32_bits_saturate_for_throttlecrab(channel, key):
    stub = throttlecrab_grpc.RateLimiterStub(channel)
    longest = {"max_burst": 2, "count_per_period": 1, "period": I32_MAX}
    answer = stub.Throttle(throttlecrab.ThrottleRequest(key=key.decode(), quantity=2, **longest), timeout=10)
    assert answer.allowed and answer.reset_after == I32_MAX


@pytest.mark.parametrize(
    "changes, code",
    [({"max_burst": 0}, "invalid_limit"), ({"quantity": -1}, "invalid_quantity"), ({"key": b"k" * 1025}, "key_too_long")],
)
def test_a_refusal_is_invalid_argument_with_its_code(stub, key, changes, code):
    with pytest.raises(grpc.RpcError) as error:
        stub.Throttle(request(**({"key": key} | changes)), timeout=10)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert dict(error.value.trailing_metadata())["tidegate-code"] == code


def test_another_method_is_unimplemented(channel):
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary("/tidegate.v1.Ask/Nothing")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_the_token_is_asked_for_where_one_is_set(start_server, key):
    server = start_server(env={"TIDEGATE_AUTH_TOKEN": "sesame"})
    with grpc.insecure_channel("{}:{}".format(*server.http)) as channel:
        stub = ask_grpc.AskStub(channel)
        with pytest.raises(grpc.RpcError) as error:
            stub.Throttle(request(key), timeout=10)
        assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert stub.Throttle(request(key), timeout=10, metadata=[("authorization", "Bearer sesame")]).allowed


@pytest.mark.parametrize("service", ["", *sorted(SERVICES)])
def test_health_says_serving(channel, service):
    health = health_pb2_grpc.HealthStub(channel)
    answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_health_of_an_unknown_service_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as error:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="nothing"), timeout=10)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_reflection_tells_the_services_and_their_messages(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    assert SERVICES <= set(database.get_services())
    pool = DescriptorPool(database)
    methods = {method.name for method in pool.FindServiceByName("tidegate.v1.Ask").methods}
    assert {"Throttle", "Peek", "ThrottleBatch", "ThrottleStream", "Reset", "Clear"} <= methods
    fields = pool.FindMessageTypeByName("throttlecrab.ThrottleResponse").fields_by_name
    assert {name: field.number for name, field in fields.items()} == {
        "allowed": 1,
        "limit": 2,
        "remaining": 3,
        "retry_after": 4,
        "reset_after": 5,
    }


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_answers_in_both_versions(channel, version):
    """The two differ in name only, so one set of messages serves for both."""
    call = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    (answer,) = call(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=10)
    assert SERVICES <= {service.name for service in answer.list_services_response.service}
