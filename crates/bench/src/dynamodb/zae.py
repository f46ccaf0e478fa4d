"""zae-limiter's synchronous client at a pace: asks as it is due, with as many threads as wait for the table at once.

Prints `asking` right before the first one, and at the end a line of JSON: [[entity, due_s, sent_s, answered_s, granted], ...].
"""

import concurrent.futures
import itertools
import json
import random
import sys
import threading
import time

from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository

THREADS = 32
GRACE_S = 5.0

endpoint, table, region, resource, entities, rate, seconds, burst, per_minute = sys.argv[1:]
entities, rate, seconds = int(entities), int(rate), float(seconds)
repository = SyncRepository.connect("default", stack=table, region=region, endpoint_url=endpoint)
limiter = SyncRateLimiter(repository=repository)
limiter.set_resource_defaults(resource, [Limit.custom("rpm", int(burst), int(per_minute), 60)])


def acquire(entity):
    try:
        with limiter.acquire(f"key-{entity:06}", resource, {"rpm": 1}):
            return 1
    except RateLimitExceeded:
        return 0
    except Exception as error:  # Counted, and one of them shown.
        failures.append(repr(error))
        return -1


failures = []
acquire(0)
print("asking", flush=True)
time.sleep(0.2)

numbers, lock = itertools.count(), threading.Lock()
total, draw, started = int(rate * seconds), random.Random(7), time.monotonic()
seen = []


def work():
    while True:
        with lock:
            number = next(numbers)
            entity = draw.randrange(entities)
        due = number / rate
        if number >= total:
            return
        wait = due - (time.monotonic() - started)
        if wait > 0:
            time.sleep(wait)
        sent = time.monotonic() - started
        # What it has not reached by then is not asked: it cannot carry the rate.
        if sent > seconds + GRACE_S:
            return
        granted = acquire(entity)
        seen.append([entity, due, sent, time.monotonic() - started, granted])


with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
    for future in [threads.submit(work) for _ in range(THREADS)]:
        future.result()
print(failures[:1], file=sys.stderr)
print(json.dumps(seen), flush=True)
