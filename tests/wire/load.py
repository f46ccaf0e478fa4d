"""Work in threads beside a test, and what they count together."""

import contextlib
import threading


@contextlib.contextmanager
def working(*works):
    """Runs each in a thread of its own, with an event that tells it to stop; fails if one of them has failed."""
    stop, failures = threading.Event(), []

    def run(work):
        try:
            work(stop)
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


class Gauge:
    """A number that threads change together, and the most that it has been."""

    def __init__(self):
        self.lock, self.value, self.most = threading.Lock(), 0, 0

    def add(self, amount):
        with self.lock:
            self.value += amount
            self.most = max(self.most, self.value)
            return self.value
