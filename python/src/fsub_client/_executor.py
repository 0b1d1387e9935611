"""A concurrent.futures.Executor whose calls are jobs."""

from __future__ import annotations

import concurrent.futures
import time
from typing import Any, Callable, Iterable, Iterator, List, Optional

from ._client import Client
from ._errors import FsubError
from ._jobs import Job


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs. Options are those of `Client.submit`, and are the same for all.

    `map` makes one array; `submit` a job for each call, which are for work of minutes: a Slurm job takes a second or more to start and end."""

    def __init__(self, client: Optional[Client] = None, **options: Any) -> None:
        self._own = client is None
        self.client = client or Client()
        self._options = options
        self._jobs: List[Job] = []
        self._over = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Job:
        import functools

        self._check()
        job: Job = self.client.submit(functools.partial(fn, **kwargs) if kwargs else fn, *args, **dict(self._options))
        self._jobs = [j for j in self._jobs if not j.over] if len(self._jobs) % 1000 == 999 else self._jobs
        self._jobs.append(job)
        return job

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1, **_: Any) -> Iterator[Any]:
        """The results in order. Chunks do not matter: all calls are one array."""
        self._check()
        until = None if timeout is None else time.monotonic() + timeout
        calls = list(zip(*iterables))
        if not calls:
            return iter(())
        array = self.client.map(fn, *zip(*calls), **dict(self._options))
        self._jobs.append(array)
        return (task.result(None if until is None else max(until - time.monotonic(), 0)) for task in array.tasks)

    def _check(self) -> None:
        if self._over:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._over = True
        left = [j for j in self._jobs if not j.over]
        if cancel_futures and left:
            self.client.cancel(left)
        if wait:
            for job in left:
                try:
                    job.wait()
                except FsubError:
                    pass
            if self._own:
                self.client.close()
