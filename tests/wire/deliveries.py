"""Receiving what is due. Limits that are in a table are asked first, so it may come a moment after it is asked for."""

from polling import eventually


def received(ledger, queue, count=1):
    """So many messages, and no more at the same time."""
    got = []

    def all_came():
        got.extend(ledger.receive(queue, count=10, wait_ms=200))
        return len(got) >= count

    eventually(all_came, f"{count} messages of {queue}")
    assert len(got) == count, got
    assert ledger.receive(queue, count=10) == []
    return got
