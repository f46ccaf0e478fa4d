"""How a block is left decides what becomes of its lease. Over a link that records, so that every moment can be had."""

import asyncio
import logging

import pytest

import tidegate
from tidegate import errors
from tidegate.aio.lease import Acquiring
from tidegate.aio.link import Link
from tidegate.protocol import lease as commands
from tidegate.sync.lease import SyncAcquiring
from tidegate.target import Target

GRANTED = [1, b"0f", 0, 1000, []]


class Recording(Link):
    """Answers an acquire when `open_gate` is set, and everything else at once; `failing` is raised for those."""

    def __init__(self):
        super().__init__(Target("", "default", None, None, 1.0))
        self.sent = []
        self.open_gate = asyncio.Event()
        self.open_gate.set()
        self.failing = None

    async def call(self, command):
        line = " ".join(map(str, command.words))
        if command.words[0] == "ACQUIRE":
            self.sent.append(line)
            await self.open_gate.wait()
            return command.decode(GRANTED)
        # What is cancelled by now is not sent.
        await asyncio.sleep(0)
        self.sent.append(line)
        if self.failing:
            raise self.failing
        return command.decode(b"OK")


def acquire(link):
    return Acquiring(link, commands.acquire("a", "r"))


async def test_normally_it_settles():
    link = Recording()
    async with acquire(link) as lease:
        await lease.adjust(tpm=312)
        await lease.adjust({"t.in": -5})
        await lease.extend(60)
    assert link.sent[1:] == [
        "LEASE ADJUST 0f tpm 312",
        "LEASE ADJUST 0f t.in -5",
        "LEASE EXTEND 0f 60000",
        "LEASE SETTLE 0f",
    ]


async def test_a_lease_is_ended_once():
    link = Recording()
    async with acquire(link) as lease:
        await lease.settle(tpm=812)
    async with acquire(link) as lease:
        await lease.release()
    assert link.sent == ["ACQUIRE a r", "LEASE SETTLE 0f tpm 812", "ACQUIRE a r", "LEASE RELEASE 0f"]


async def test_an_exception_releases():
    link = Recording()
    with pytest.raises(KeyError):
        async with acquire(link):
            raise KeyError("no")
    assert link.sent[-1] == "LEASE RELEASE 0f"


async def test_a_cancelled_task_releases_even_if_cancelled_again():
    link = Recording()
    inside = asyncio.Event()

    async def work():
        async with acquire(link):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await link.close()
    assert link.sent[-1] == "LEASE RELEASE 0f"


async def test_an_acquire_that_is_cancelled_under_way_is_released_once_granted():
    link = Recording()
    link.open_gate.clear()
    task = asyncio.create_task(acquire(link).__aenter__())
    while not link.sent:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert link.sent == ["ACQUIRE a r"]
    link.open_gate.set()
    await link.close()
    assert link.sent == ["ACQUIRE a r", "LEASE RELEASE 0f"]


async def test_a_settle_that_did_not_arrive_is_not_turned_into_a_release():
    link = Recording()
    link.failing = errors.Unreachable("gone")
    with pytest.raises(ConnectionError):
        async with acquire(link) as lease:
            await lease.settle(tpm=812)
    assert link.sent[-1] == "LEASE SETTLE 0f tpm 812"


async def test_a_settle_that_was_refused_is():
    link = Recording()
    link.failing = errors.Refused("unknown_limit", "no")
    with pytest.raises(tidegate.Refused):
        async with acquire(link) as lease:
            await lease.settle(tmp=812)
    assert link.sent[-1] == "LEASE RELEASE 0f"


@pytest.mark.parametrize("failing", [errors.NotFound("lease_not_found", "gone"), errors.Unreachable("gone")])
async def test_trouble_on_the_way_out_hides_nothing(failing, caplog):
    link = Recording()
    link.failing = failing
    async with acquire(link):
        result = "kept"
    assert result == "kept"
    with pytest.raises(KeyError):
        async with acquire(link):
            raise KeyError("no")
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


async def test_a_lease_can_be_awaited_and_ended_by_hand():
    link = Recording()
    lease = await acquire(link)
    assert link.sent == ["ACQUIRE a r"] and lease.id == "0f"
    await lease.release()


class SyncRecording:
    def __init__(self):
        self.sent = []

    def call(self, command):
        self.sent.append(" ".join(map(str, command.words)))
        return command.decode(GRANTED if command.words[0] == "ACQUIRE" else b"OK")


@pytest.mark.parametrize("error", [None, KeyError, KeyboardInterrupt, SystemExit])
def test_threads_likewise(error):
    link = SyncRecording()
    try:
        with SyncAcquiring(link, commands.acquire("a", "r")):
            if error:
                raise error
    except BaseException as raised:
        assert type(raised) is error
    assert link.sent == ["ACQUIRE a r", "LEASE RELEASE 0f" if error else "LEASE SETTLE 0f"]
