"""Which transports a test runs on."""

import pytest

from clients import TRANSPORTS


def names(operation="throttle", **needs):
    """The transports that have the operation, and what else is needed of them."""
    return [
        name
        for name, adapter in TRANSPORTS.items()
        if operation in adapter.operations and all(getattr(adapter, need) == value for need, value in needs.items())
    ]


def on_each(operation="throttle", **needs):
    """Runs a test once for each of them; the test gets it as `transport`."""
    return pytest.mark.parametrize("transport", names(operation, **needs), indirect=True)
