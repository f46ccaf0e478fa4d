"""Messages, against the real server: none is lost, however a loop is left."""

import asyncio
import concurrent.futures

import pytest
from conftest import url_of

import tidegate
from tidegate.protocol import consume

PATIENCE_S = 10
BACKOFF = {"initial_ms": 1, "max_ms": 1, "jitter": 0}


@pytest.fixture
async def queue(limiter, name):
    await limiter.queues.create(name, backoff=BACKOFF)
    return limiter.queue(name)


async def counted(limiter, queue, **expected):
    """Waits until the queue's figures are these."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        stats = await limiter.queues.stats(queue.name)
        found = {name: stats[name] for name in expected}
        if found == expected:
            return
        assert asyncio.get_running_loop().time() < deadline, f"{found}, not {expected}"
        await asyncio.sleep(0.01)


async def test_a_message_comes_as_it_was_sent(queue):
    id = await queue.enqueue(
        b"\xff\x00 any bytes", headers={"kind": "welcome"}, fairness_key="tenant-7", weight=3, cost=2
    )
    [message] = await queue.receive(wait=PATIENCE_S)
    assert (message.id, message.payload, message.headers) == (id, b"\xff\x00 any bytes", {"kind": "welcome"})
    assert (message.fairness_key, message.weight, message.cost) == ("tenant-7", 3, 2)
    assert message.throttle_keys == [] and message.dead is None and message.queue == queue.name
    await message.ack()
    assert message.answered
    with pytest.raises(tidegate.NotFound):
        await message.ack()


async def test_an_empty_queue(queue):
    assert await queue.receive() == []
    assert [message async for message in queue.consume(idle=0.01)] == []


async def test_no_such_queue(limiter):
    with pytest.raises(tidegate.NotFound) as refused:
        await limiter.queue("nowhere").enqueue(b"x")
    assert refused.value.code == "queue_not_found" and refused.value.hint
    with pytest.raises(tidegate.NotFound):
        async for _ in limiter.queue("nowhere").consume():
            pass


async def test_consuming_more_than_the_credit(queue):
    for number in range(20):
        await queue.enqueue(str(number))
    seen = []
    async for message in queue.consume(credit=3, idle=PATIENCE_S):
        seen.append(int(message.text()))
        await message.ack()
        if len(seen) == 20:
            break
    assert seen == list(range(20))


async def test_tasks_may_answer_while_the_loop_waits_for_more(queue):
    for number in range(10):
        await queue.enqueue(str(number))
    seen = []

    async def handle(message):
        # All that may be in hand is: more comes only if these answers make room, while the loop is reading.
        while len(in_hand) < 2:
            await asyncio.sleep(0)
        seen.append(message.text())
        await message.ack()

    in_hand = []
    async with queue.consume(credit=2, idle=PATIENCE_S) as messages:
        tasks = []
        async for message in messages:
            in_hand.append(message)
            tasks.append(asyncio.create_task(handle(message)))
            if len(tasks) == 10:
                break
        await asyncio.gather(*tasks)
    assert sorted(seen, key=int) == [str(number) for number in range(10)]


async def enter_and_leave(queue, how):
    """Takes three messages in hand, answers one, and leaves the loop that way."""
    async for message in queue.consume(credit=3):
        if message.text() == "0":
            await message.ack()
        elif message.text() == "2":
            if how == "exception":
                raise KeyError("no")
            if how == "cancelled in the block":
                asyncio.current_task().cancel()
                await asyncio.sleep(0)
            if how == "break":
                break


@pytest.mark.parametrize("how", ["break", "exception", "cancelled in the block", "cancelled while waiting"])
async def test_leaving_the_loop_gives_back_what_was_not_answered(limiter, queue, how):
    for number in range(3):
        await queue.enqueue(str(number))
    task = asyncio.create_task(enter_and_leave(queue, how))
    if how == "cancelled while waiting":
        await counted(limiter, queue, in_flight=2)
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await counted(limiter, queue, in_flight=0, ready=2)
    again = await queue.receive(count=3)
    # Given back is no failed attempt.
    assert [(message.text(), message.attempts) for message in again] == [("1", 0), ("2", 0)]


async def test_a_receive_that_is_cancelled_loses_nothing(limiter, queue):
    waiting = asyncio.create_task(queue.receive(wait=PATIENCE_S))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await queue.enqueue(b"x")
    await counted(limiter, queue, in_flight=0, ready=1)
    [message] = await queue.receive(wait=PATIENCE_S)
    assert message.attempts == 0


async def test_nack_release_extend_and_dead_letters(limiter, name):
    await limiter.queues.create(name, max_attempts=2, backoff=BACKOFF)
    queue = limiter.queue(name)
    await queue.enqueue(b"x")
    [message] = await queue.receive(wait=PATIENCE_S)
    await message.extend(60)
    await message.release()
    [message] = await queue.receive(wait=PATIENCE_S)
    assert message.attempts == 0
    await message.nack(error="no luck", delay=0)
    [message] = await queue.receive(wait=PATIENCE_S)
    assert message.attempts == 1
    await message.nack()
    dead = limiter.queue(f"{name}.dlq")
    [message] = await dead.receive(wait=PATIENCE_S)
    assert (message.dead.queue, message.dead.attempts) == (name, 2)
    await message.release()
    assert await limiter.queues.redrive(dead.name) == 1
    await counted(limiter, queue, ready=1)


async def test_a_message_in_a_block_answers_itself(limiter, queue):
    await queue.enqueue(b"good")
    await queue.enqueue(b"bad")
    async for message in queue.consume(credit=1, idle=0.5):
        try:
            async with message:
                if message.text() == "bad" and message.attempts == 0:
                    raise KeyError("no")
        except KeyError:
            pass
    await counted(limiter, queue, in_flight=0, ready=0, delayed=0)


async def test_limits_of_throttle_keys(limiter, queue):
    await limiter.keys.set("smtp", burst=1, count=1, period=3600)
    assert (await limiter.keys.get("smtp"))["burst"] == 1
    await queue.enqueue(b"a", throttle_keys=["smtp"])
    await queue.enqueue(b"b", throttle_keys=["smtp"])
    [message] = await queue.receive(wait=PATIENCE_S)
    assert message.throttle_keys == ["smtp"]
    assert await queue.receive() == []
    assert not (await limiter.keys.take("smtp")).allowed
    await limiter.keys.delete("smtp")
    [message] = await queue.receive(wait=PATIENCE_S)
    assert message.payload == b"b" and await limiter.keys.list() == []


async def test_queues_are_made_and_looked_at(limiter, name):
    await limiter.queues.create(name, weight=2)
    with pytest.raises(tidegate.Conflict):
        await limiter.queues.create(name)
    assert await limiter.queues.update(name, weight=5)
    await limiter.queue(name).enqueue(b"x", fairness_key="t")
    assert [flow["fairness_key"] for flow in await limiter.queues.flows(name)] == ["t"]
    await limiter.queues.pause(name)
    assert await limiter.queue(name).receive() == []
    await limiter.queues.resume(name)
    assert await limiter.queues.purge(name) == 1
    assert name in [queue["name"] for queue in await limiter.queues.list()]
    await limiter.queues.delete(name)
    with pytest.raises(tidegate.NotFound):
        await limiter.queues.inspect(name)


async def test_a_silent_connection_is_kept_alive(start_server, monkeypatch):
    monkeypatch.setattr(consume, "HEARTBEAT", 0.05)
    server = start_server("--resp-idle-timeout-ms=400")
    async with tidegate.Limiter(url_of(server)) as limiter:
        await limiter.queues.create("q")

        async def late():
            await asyncio.sleep(1.2)
            async with tidegate.Limiter(url_of(server)) as other:
                await other.queue("q").enqueue(b"x")

        task = asyncio.create_task(late())
        async for message in limiter.queue("q").consume(idle=PATIENCE_S):
            await message.ack()
            break
        await task


async def test_a_queue_that_is_deleted_ends_the_loop(limiter, queue):
    await queue.enqueue(b"x")
    with pytest.raises(tidegate.NotFound) as caught:
        async for message in queue.consume(idle=PATIENCE_S):
            await message.ack()
            await limiter.queues.delete(queue.name)
    assert caught.value.code == "queue_not_found"


def test_threads_hear_that_their_queue_is_deleted(sync_limiter, name):
    sync_limiter.queues.create(name)
    queue = sync_limiter.queue(name)
    queue.enqueue(b"x")
    with pytest.raises(tidegate.NotFound):
        for message in queue.consume(idle=PATIENCE_S):
            message.ack()
            sync_limiter.queues.delete(name)


async def test_a_server_that_stops_ends_the_loop(start_server):
    server = start_server()
    async with tidegate.Limiter(url_of(server)) as limiter:
        await limiter.queues.create("q")
        await limiter.queue("q").enqueue(b"x")
        with pytest.raises(ConnectionError):
            async for _ in limiter.queue("q").consume():
                server.kill()


def test_threads(sync_limiter, name):
    sync_limiter.queues.create(name)
    queue = sync_limiter.queue(name)
    for number in range(20):
        queue.enqueue(str(number))
    with concurrent.futures.ThreadPoolExecutor(4) as pool, queue.consume(credit=3, idle=PATIENCE_S) as messages:
        answered = []
        for message in messages:
            answered.append(pool.submit(message.ack))
            if len(answered) == 20:
                break
        for future in answered:
            future.result()
    assert sync_limiter.queues.stats(name)["ready"] == 0


def test_threads_leaving_the_loop(sync_limiter, name):
    sync_limiter.queues.create(name, backoff=BACKOFF)
    queue = sync_limiter.queue(name)
    queue.enqueue(b"x")
    for _ in queue.consume():
        break
    [message] = queue.receive(wait=PATIENCE_S)
    assert message.attempts == 0
    with pytest.raises(KeyError), message:
        raise KeyError("no")
    with queue.receive(wait=PATIENCE_S)[0] as message:
        assert message.attempts == 1
    assert list(queue.consume(idle=0.01)) == []


def test_another_thread_ends_a_loop(sync_limiter, name):
    sync_limiter.queues.create(name)
    with concurrent.futures.ThreadPoolExecutor() as pool, sync_limiter.queue(name).consume() as messages:
        reading = pool.submit(list, messages)
        with pytest.raises(concurrent.futures.TimeoutError):
            reading.result(timeout=0.05)
        messages.close()
        assert reading.result(timeout=PATIENCE_S) == []
