"""Reading GET /metrics with Prometheus's own parsers."""

import httpx
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser


def families(server):
    answer = httpx.get(server.url + "/metrics", timeout=10)
    assert answer.status_code == 200
    is_open = "openmetrics" in answer.headers["content-type"]
    parse = openmetrics_parser if is_open else parser
    return list(parse.text_string_to_metric_families(answer.text))


def samples(server, name):
    """The (labels, value) pairs of one metric."""
    return [
        (sample.labels, sample.value)
        for family in families(server)
        for sample in family.samples
        if sample.name == name
    ]


def value(server, name):
    """The value of a metric without labels."""
    (found,) = samples(server, name)
    return found[1]
