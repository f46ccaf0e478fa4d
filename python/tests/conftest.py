"""The server, limiters and names that tests ask for. How a server is started is that of tests/wire."""

import itertools

import pytest
from server import Server

import tidegate

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The one server that tests share: each uses names of its own."""
    server = Server(tmp_path_factory.mktemp("shared"))
    yield server
    status = server.stop()
    server.process.stdout.close()
    assert status == 0, server.log()


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
        server.process.wait()
        server.process.stdout.close()


def url_of(server):
    return "redis://{}:{}".format(*server.resp)


@pytest.fixture
def url(server):
    return url_of(server)


@pytest.fixture
def name():
    """A name that no other test uses: an entity, a resource, a queue, a namespace."""
    return f"t{next(_numbers)}"


@pytest.fixture
async def limiter(url, name):
    """In a namespace of the test's own."""
    async with tidegate.Limiter(url, namespace=name, actor="tester") as limiter:
        yield limiter


@pytest.fixture
def sync_limiter(url, name):
    with tidegate.SyncLimiter(url, namespace=name, actor="tester") as limiter:
        yield limiter
