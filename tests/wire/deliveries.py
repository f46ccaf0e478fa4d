"""Receiving what is due. On the embedded store it comes with the first receive; limits that are in a table are asked first, so
there it may come a moment after it is asked for."""

import store
from polling import eventually

# How a receive is asked that is to bring something.
SOON = {"wait_ms": 5_000} if store.ON_DYNAMODB else {}


def received(ledger, queue, count=1):
    """So many messages, and no more at the same time."""
    got = []

    def all_came():
        got.extend(ledger.receive(queue, count=10, **({"wait_ms": 200} if store.ON_DYNAMODB else {})))
        return len(got) >= count

    if store.ON_DYNAMODB:
        eventually(all_came, f"{count} messages of {queue}")
    else:
        all_came()
    assert len(got) == count, got
    assert ledger.receive(queue, count=10) == []
    return got
