"""Waiting for something to become true: no bare sleeps, always a deadline."""

import time

PATIENCE_S = 30.0
PAUSE_S = 0.01


def eventually(condition, what, within_s=PATIENCE_S):
    """Returns the first truthy result of the condition, or fails naming what did not happen."""
    deadline = time.monotonic() + within_s
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {what}")
        time.sleep(PAUSE_S)


def throughout(condition, what, for_s):
    """Fails as soon as the condition is false during that time."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        assert condition(), what
        time.sleep(PAUSE_S)
