"""The endpoints, tables and nodes that tests ask for."""

import itertools
import os

import pytest
from endpoints import Endpoint
from nodes import Node
from python_client import AsyncPython, Python
from shared_table import Table
from store import CREDENTIALS

_numbers = itertools.count(1)

# boto3 and the library under test look here.
os.environ.update(CREDENTIALS)


@pytest.fixture(scope="session")
def moto():
    endpoint = Endpoint.moto()
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="session")
def emulator():
    endpoint = Endpoint.emulator()
    yield endpoint
    endpoint.close()


@pytest.fixture(params=["moto", "emulator"])
def shared(request):
    """A table of the test's own where zae-limiter takes part, on each of the two."""
    endpoint = request.getfixturevalue(request.param)
    yield Table(endpoint)
    endpoint.proxy.clear()


@pytest.fixture
def pythons(shared):
    """zae-limiter on that table, synchronous and asynchronous."""
    clients = [Python(shared), AsyncPython(shared)]
    yield clients
    for client in clients:
        client.close()


@pytest.fixture
def table(emulator):
    """A table of the test's own on the emulator."""
    yield Table(emulator)
    emulator.proxy.clear()


@pytest.fixture
def start_node(tmp_path):
    """Starts servers on a table; those that still run are ended after the test."""
    started = []

    def start(table, *args, **kwargs):
        node = Node(tmp_path / f"node-{len(started)}", table, *args, **kwargs)
        started.append(node)
        return node

    yield start
    for node in started:
        if node.is_running():
            node.kill()


@pytest.fixture
def entity():
    """An entity that no other test uses."""
    return f"entity-{next(_numbers)}"
