"""What everybody together was admitted of one limit, held against burst + rate x time at every step."""

import collections
import threading
import time


class Budget:
    """Begins with the first second of a full bucket. What is counted was taken before: so much time has passed at least."""

    def __init__(self, burst, per_minute):
        self.burst, self.rate = burst, per_minute / 60
        self.lock, self.total, self.by = threading.Lock(), 0, collections.Counter()
        self.started = time.monotonic()

    def allowed(self):
        return self.burst + self.rate * (time.monotonic() - self.started)

    def took(self, who, amount):
        with self.lock:
            self.total += amount
            self.by[who] += amount
            allowed = self.allowed()
            assert self.total <= allowed, f"{self.total} of {allowed:.1f}: {dict(self.by)}"

    def gives_back(self, who, amount):
        """Before it does: afterwards somebody else may have it already."""
        with self.lock:
            self.total -= amount
            self.by[who] -= amount
