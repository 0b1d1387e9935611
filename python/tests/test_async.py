from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

import fsub_client as fsub


def connections() -> int:
    names = [os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd")]
    return sum(os.readlink(n).startswith("socket:") for n in names if os.path.lexists(n))


def settled(what: object, want: int) -> None:
    until = time.monotonic() + 10
    while what() > want and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.01)
    assert what() <= want  # type: ignore[operator]


def test_await() -> None:
    async def main() -> None:
        async with fsub.AsyncClient() as client:
            job = await client.submit(wrap="echo hello", output="out")
            assert (await job).state == "COMPLETED"
            assert [line async for line in client.logs(job, follow=True)] == ["hello"]
            array = await client.submit(wrap="true", array="0-3", output="/dev/null")
            assert sorted([t.task async for t in client.as_completed(array)]) == [0, 1, 2, 3]
            assert (await asyncio.wrap_future(array)).state == "COMPLETED"
            assert await client.cost(job) >= 0 and (await client.explain(job)).summary
            assert await asyncio.gather(*array.tasks)

    asyncio.run(main())


@pytest.mark.parametrize("cancels", [False, True])
def test_cancelled_task(cancels: bool) -> None:
    """It leaves neither thread nor connection; the job only by choice."""

    async def main(client: fsub.Client) -> fsub.Job:
        job = client.submit(wrap="sleep 1000", hold=True, output="/dev/null")

        async def wait() -> None:
            await job

        tasks = [asyncio.create_task(wait()) for _ in range(20)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        assert all(isinstance(r, asyncio.CancelledError) for r in await asyncio.gather(*tasks, return_exceptions=True))
        return job

    threads, sockets = threading.active_count(), connections()
    with fsub.Client(cancel_awaited=cancels) as client:
        job = asyncio.run(main(client))
        if cancels:
            assert job.wait(60).state == "CANCELLED"
        else:
            assert not job.done() and client.cancel([job]) == [None] and job.wait(60)
    settled(threading.active_count, threads)
    settled(connections, sockets)


def test_cancelled_call() -> None:
    """A task that is cancelled in the middle of a call, here one that follows a log."""

    async def main() -> None:
        async with fsub.AsyncClient() as client:
            job = await client.submit(wrap="sleep 1000", hold=True, output="/dev/null")

            async def read() -> None:
                async for _ in client.logs(job, follow=True):
                    pass

            task = asyncio.create_task(read())
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.cancel([job])

    threads, sockets = threading.active_count(), connections()
    asyncio.run(main())
    settled(threading.active_count, threads)
    settled(connections, sockets)
