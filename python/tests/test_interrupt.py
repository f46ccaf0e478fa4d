"""Ctrl-C in a program of its own: what it held is given back before it ends."""

import signal
import subprocess
import sys

import pytest

import tidegate
from tidegate import Limit

# A shell that runs this in the background has it ignore Ctrl-C, and a child inherits that.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

ASYNCIO = """
import asyncio, sys, tidegate

async def main():
    async with tidegate.Limiter(sys.argv[1], namespace=sys.argv[2]) as limiter:
        async with limiter.acquire("acme", "gpt-4", consume={"tpm": 500}):
            print("holds", flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
"""

THREADS = """
import sys, time, tidegate

with tidegate.SyncLimiter(sys.argv[1], namespace=sys.argv[2]) as limiter:
    with limiter.acquire("acme", "gpt-4", consume={"tpm": 500}):
        print("holds", flush=True)
        time.sleep(600)
"""

CONSUMER = """
import asyncio, sys, tidegate

async def main():
    async with tidegate.Limiter(sys.argv[1], namespace=sys.argv[2]) as limiter:
        async for message in limiter.queue("q").consume():
            print("holds", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("source", [ASYNCIO, THREADS, CONSUMER], ids=["asyncio", "threads", "consumer"])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_what_was_held(sync_limiter, url, name, source, ending):
    sync_limiter.limits.set([Limit.per("tpm", 1, 3600, burst=1000)], resource="gpt-4")
    sync_limiter.queues.create("q")
    sync_limiter.queue("q").enqueue(b"x", charges=[tidegate.Charge("acme", "gpt-4", {"tpm": 500})])
    if source is not CONSUMER:
        [message] = sync_limiter.queue("q").receive(wait=10)
        message.ack(cost={"tpm": 0})
    program = subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C + source, url, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with program:
        try:
            assert program.stdout.readline() == "holds\n"
            assert held(sync_limiter) == 500
            program.send_signal(ending)
            program.wait(timeout=30)
        finally:
            program.kill()
    assert program.returncode != 0
    if ending is signal.SIGKILL and source is not CONSUMER:
        # Only its time can tell that nobody will end it.
        assert held(sync_limiter) == 500
    elif source is CONSUMER:
        [message] = sync_limiter.queue("q").receive(wait=10)
        assert message.attempts == 0
    else:
        assert held(sync_limiter) == 0


def held(limiter):
    [status] = limiter.available("acme", "gpt-4", {"tpm": 0}).statuses
    return 1000 - status.available
