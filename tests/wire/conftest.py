"""The servers, transports and keys that tests ask for."""

import itertools
import resource

import pytest

import store
from clients import TRANSPORTS
from ledger_clients import LEDGER_TRANSPORTS
from server import Server

_numbers = itertools.count()


def pytest_collection_modifyitems(items):
    """What cannot be the same on DynamoDB is said with its reason."""
    for item in items if store.ON_DYNAMODB else []:
        reason = store.NOT_ON_DYNAMODB.get(item.originalname)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def all_the_file_handles():
    """The server inherits this; holding 10,000 connections needs it on both sides."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The one server, with its defaults, that most tests share: each test uses keys of its own."""
    server = Server(tmp_path_factory.mktemp("shared"))
    yield server
    assert server.stop() == 0, server.log()


@pytest.fixture
def start_server(tmp_path):
    """Starts servers with flags of the test's own; those that still run are stopped after it."""
    started = []

    def start(*flags, **kwargs):
        server = Server(tmp_path / f"server-{len(started)}", *flags, **kwargs)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.is_running():
            server.kill()


@pytest.fixture
def key(request):
    """A key that no other test uses."""
    return f"{request.node.name}:{next(_numbers)}".encode()


@pytest.fixture
def transport(request, server):
    adapter = TRANSPORTS[request.param](server)
    yield adapter
    adapter.close()


@pytest.fixture
def namespace():
    """A namespace that no other test uses."""
    return f"ns-{next(_numbers)}"


@pytest.fixture(params=list(LEDGER_TRANSPORTS))
def ledger(request, server, namespace):
    """Each transport, in a namespace of the test's own: what is set for the system is set for nobody else."""
    adapter = LEDGER_TRANSPORTS[request.param](server, namespace)
    yield adapter
    adapter.close()
