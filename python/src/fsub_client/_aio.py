"""The client for asyncio: the calls of `Client` in threads, which end with the task that waits for them."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Iterable, Iterator, List, Optional, TypeVar, Union

from ._client import Client, What
from ._errors import FsubError
from ._http import Abort
from ._jobs import Array, Forecast, Job, as_completed_async

if TYPE_CHECKING:
    from . import models

T = TypeVar("T")


class AsyncClient:
    """`Client` for asyncio. Its jobs are those of `Client`: await them.

    A task that is cancelled while it calls leaves neither thread nor connection behind; a submission that it has begun may have been done. A job that it awaits goes on, unless
    the client was made with cancel_awaited."""

    def __init__(self, client: Optional[Client] = None, **options: Any) -> None:
        self._own = client is None
        self.client = client or Client(**options)
        self._threads = concurrent.futures.ThreadPoolExecutor(16, "fsub")

    async def close(self) -> None:
        """Ends its threads and, unless it was given, its client."""
        self._threads.shutdown(wait=False)
        if self._own:
            await asyncio.get_running_loop().run_in_executor(None, self.client.close)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        abort = Abort()

        def run() -> T:
            self.client.http.abort_with(abort)
            try:
                return fn(*args, **kwargs)
            finally:
                self.client.http.abort_with(None)

        call = asyncio.get_running_loop().run_in_executor(self._threads, run)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            abort.abort()
            call.add_done_callback(lambda c: c.cancelled() or c.exception())  # nobody asks for it
            raise

    async def submit(self, what: What = None, *args: Any, **options: Any) -> Job:
        return await self._call(self.client.submit, what, *args, **options)

    async def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **options: Any) -> Array:
        return await self._call(self.client.map, fn, *iterables, **options)

    async def job(self, number: Union[int, str]) -> Job:
        return await self._call(self.client.job, number)

    async def cancel(self, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        return await self._call(self.client.cancel, jobs)

    async def explain(self, job: Job) -> models.Explanation:
        return await self._call(job.explain)

    async def forecast(self, job: Job) -> Forecast:
        return await self._call(job.forecast)

    async def cost(self, job: Job) -> float:
        return await self._call(lambda: job.cost)

    async def summary(self, by: str = "state", *where: str) -> List[models.JobCount]:
        return await self._call(self.client.summary, by, *where)

    async def jobs(self, *where: str) -> AsyncIterator[models.JobLine]:
        lines = self.client.jobs(*where)
        async for line in self._each(lines):
            yield line

    async def logs(self, job: Job, follow: bool = False, stderr: bool = False) -> AsyncIterator[str]:
        async for line in self._each(job.logs(follow, stderr)):
            yield line

    def as_completed(self, jobs: Iterable[Job]) -> AsyncIterator[Job]:
        """Jobs as they end, each once; of arrays their tasks."""
        return as_completed_async(jobs)

    async def _each(self, items: Iterator[T]) -> AsyncIterator[T]:
        over = object()
        while True:
            item: Any = await self._call(next, items, over)
            if item is over:
                return
            yield item
