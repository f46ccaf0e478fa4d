"""HTTP: refusals with a stable code and a hint, batches, and the pages for operators."""

import json

import httpx
import openapi_spec_validator
import pytest

from frames import Raw
from metrics import samples

LIMIT = {"max_burst": 2, "count_per_period": 1, "period": 3600}


@pytest.fixture
def http(server):
    with httpx.Client(base_url=server.url, timeout=10) as client:
        yield client


def refusal(answer):
    """The body of a refusal has this form and no other."""
    assert answer.headers["content-type"].startswith("application/json")
    body = answer.json()
    assert set(body) == {"error"} and set(body["error"]) == {"code", "message", "hint"}
    assert all(isinstance(text, str) and text for text in body["error"].values())
    return answer.status_code, body["error"]["code"]


def test_allowed_and_denied_are_both_200(http, key):
    body = {"key": key.decode(), **LIMIT, "max_burst": 1}
    for allowed, retry_after in ((True, 0), (False, 3600)):
        answer = http.post("/throttle", json=body)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json() == {
            "allowed": allowed,
            "limit": 1,
            "remaining": 0,
            "reset_after": 3600,
            "retry_after": retry_after,
        }


def test_a_null_quantity_is_an_omitted_one(http, key):
    answer = http.post("/throttle", json={"key": key.decode(), **LIMIT, "quantity": None})
    assert answer.json()["remaining"] == 1


def test_the_content_type_may_have_parameters(http, key):
    content = json.dumps({"key": key.decode(), **LIMIT})
    answer = http.post("/throttle", content=content, headers={"Content-Type": "application/json; charset=utf-8"})
    assert answer.status_code == 200


BAD_BODIES = {
    "not JSON": b"{key",
    "empty": b"",
    "not an object": b"[1, 2]",
    "no key": b'{"max_burst": 1, "count_per_period": 1, "period": 1}',
    "key is a number": b'{"key": 1, "max_burst": 1, "count_per_period": 1, "period": 1}',
    "burst is text": b'{"key": "k", "max_burst": "x", "count_per_period": 1, "period": 1}',
    "burst is a fraction": b'{"key": "k", "max_burst": 1.5, "count_per_period": 1, "period": 1}',
    "not UTF-8": b'{"key": "\xff", "max_burst": 1, "count_per_period": 1, "period": 1}',
    "deep": b"[" * 10_000,
}


@pytest.mark.parametrize("content", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_body_that_cannot_be_read_is_400(http, content):
    answer = http.post("/throttle", content=content, headers={"Content-Type": "application/json"})
    assert refusal(answer) == (400, "invalid_request")


@pytest.mark.parametrize(
    "change, code",
    [
        ({"max_burst": 0}, "invalid_limit"),
        ({"count_per_period": -1}, "invalid_limit"),
        ({"period": 0}, "invalid_limit"),
        ({"quantity": -1}, "invalid_quantity"),
        ({"key": "k" * 1025}, "key_too_long"),
    ],
)
def test_bad_input_is_400_with_a_stable_code(http, change, code):
    assert refusal(http.post("/throttle", json={"key": "k", **LIMIT, **change})) == (400, code)


def test_a_limit_that_is_half_there_is_refused(http):
    status, code = refusal(http.post("/throttle", json={"key": "k", "max_burst": 1}))
    assert status == 400 and code in ("limit_required", "invalid_limit", "invalid_request")


def test_a_namespace_that_makes_no_sense_is_refused(http):
    answer = http.post("/throttle", json={"key": "k", **LIMIT}, headers={"Tidegate-Namespace": "a b/c" * 100})
    assert refusal(answer) == (400, "invalid_namespace")


def test_json_is_read_whatever_curl_calls_it(http, key):
    """`curl --data` without a header says that it sends a form."""
    content = json.dumps({"key": key.decode(), **LIMIT})
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert http.post("/throttle", content=content, headers=form).json()["remaining"] == 1


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "gzip"}, {"Content-Type": "application/grpc"}, {"Content-Type": "application/grpc-web"}],
    ids=str,
)
def test_a_form_of_body_that_is_not_spoken_is_415(http, headers):
    answer = http.post("/throttle", content=b"\x1f\x8b", headers={"Content-Type": "application/json"} | headers)
    assert refusal(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", ["/", "/throttle/nothing", "/Throttle", "/throttle/../etc/passwd"])
def test_another_path_is_404(http, path):
    assert refusal(http.post(path, json={})) == (404, "not_found")


@pytest.mark.parametrize("method, path", [("GET", "/throttle"), ("DELETE", "/throttle/batch"), ("POST", "/health")])
def test_another_method_is_405(http, method, path):
    answer = http.request(method, path)
    assert refusal(answer) == (405, "method_not_allowed")
    assert answer.headers["allow"]


def test_a_body_over_the_limit_is_413(http):
    answer = http.post("/throttle", json={"key": "k" * 3_000_000, **LIMIT})
    assert refusal(answer) == (413, "body_too_large")


def test_a_body_that_says_it_is_huge_is_413_before_it_comes(server):
    with Raw(server.http) as raw:
        raw.send(
            b"POST /throttle HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100000000000\r\n\r\n{"
        )
        assert raw.read_exactly(12) == b"HTTP/1.1 413"


def test_garbage_is_not_http_and_stops_nobody(server, http):
    with Raw(server.http) as raw:
        raw.send(b"\x16\x03\x01garbage\r\n\r\n")
        assert b"200 OK" not in raw.read_to_end()
    assert http.get("/health").status_code == 200


def test_a_batch_answers_each_request_in_order(http, key):
    good = {"key": key.decode(), **LIMIT}
    requests = [good, {**good, "quantity": -1}, good, {**good, "max_burst": 0}, good]
    answer = http.post("/throttle/batch", json={"requests": requests})
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [result.get("allowed") for result in results] == [True, None, True, None, False]
    assert [result.get("remaining") for result in results] == [1, None, 0, None, 0]
    assert results[1]["error"]["code"] == "invalid_quantity"
    assert results[3]["error"]["code"] == "invalid_limit"


def test_an_empty_batch_has_no_results(http):
    assert http.post("/throttle/batch", json={"requests": []}).json() == {"results": []}


def test_a_batch_over_the_limit_is_refused_whole(http, key):
    requests = [{"key": key.decode(), **LIMIT}] * 1001
    assert refusal(http.post("/throttle/batch", json={"requests": requests})) == (400, "batch_too_large")
    assert http.post("/throttle/peek", json={"key": key.decode(), **LIMIT}).json()["remaining"] == 2


def test_reset_takes_one_key_or_several(http, key):
    keys = [f"{key.decode()}{number}" for number in range(3)]
    for name in keys:
        http.post("/throttle", json={"key": name, **LIMIT})
    assert http.post("/throttle/reset", json={"key": keys[0]}).json() == {"reset": 1}
    assert http.post("/throttle/reset", json={"keys": keys}).json() == {"reset": 2}
    assert refusal(http.post("/throttle/reset", json={})) == (400, "invalid_request")


def test_health_and_readiness(http):
    assert http.get("/health").json() == {"status": "ok"}
    assert http.get("/ready").json() == {"status": "ready"}


def test_the_token_is_asked_for_where_one_is_set(start_server, key):
    server = start_server(env={"TIDEGATE_AUTH_TOKEN": "open-sesame"})
    body = {"key": key.decode(), **LIMIT}
    with httpx.Client(base_url=server.url) as http:
        assert refusal(http.post("/throttle", json=body)) == (401, "unauthenticated")
        wrong = http.post("/throttle", json=body, headers={"Authorization": "Bearer wrong"})
        assert refusal(wrong) == (401, "unauthenticated")
        right = http.post("/throttle", json=body, headers={"Authorization": "Bearer open-sesame"})
        assert right.json()["remaining"] == 1
        assert http.get("/health").status_code == 200
    assert "open-sesame" not in server.log()


def test_requests_are_counted_by_transport_and_outcome(server, http, key):
    def counted(**labels):
        found = samples(server, "tidegate_requests_total")
        return sum(value for have, value in found if labels.items() <= have.items())

    before = counted(transport="http")
    for _ in range(3):
        http.post("/throttle", json={"key": key.decode(), **LIMIT})
    assert counted(transport="http") == before + 3
    outcomes = {have["outcome"] for have, _ in samples(server, "tidegate_requests_total")}
    assert len(outcomes) >= 2


def test_the_most_denied_keys_are_shown(server, http, key):
    for _ in range(5):
        http.post("/throttle", json={"key": key.decode(), **LIMIT, "max_burst": 1})
    found = [have for have, _ in samples(server, "tidegate_top_denied") if have.get("key") == key.decode()]
    assert found


def test_the_openapi_document_is_valid(http):
    openapi_spec_validator.validate(http.get("/openapi.json").json())


def test_every_path_of_the_openapi_document_answers(http):
    document = http.get("/openapi.json").json()
    assert {"/throttle", "/throttle/batch", "/health", "/ready", "/metrics"} <= set(document["paths"])
    for path, operations in document["paths"].items():
        for method in operations:
            answer = http.request(method.upper(), path)
            assert answer.status_code in (200, 400, 404, 415), (method, path)
            # What a path names may not be there, or nothing be set for it; but the path is.
            assert answer.status_code != 404 or answer.json()["error"]["code"] != "not_found", (method, path)
            assert operations[method]["responses"].keys() & {str(answer.status_code), "default"}, (method, path)
