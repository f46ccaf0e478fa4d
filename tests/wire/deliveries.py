"""Receiving what is due: something of it comes with the first receive, also where limits are in a table that is asked first."""


def received(ledger, queue, count=1):
    """So many messages, and no more at the same time. From a table they may come one draw after another."""
    got = []
    while more := ledger.receive(queue, count=10):
        got.extend(more)
    assert len(got) == count, got
    return got
