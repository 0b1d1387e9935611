"""A concurrent.futures.Executor whose calls are jobs."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import threading
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from . import _options
from ._batch import MOST, ArrayCall, Call, send
from ._calls import Calls
from ._client import Client
from ._errors import FsubError
from ._jobs import Job
from ._ranges import Ranges


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs. Options are those of `Client.submit`, and are the same for all.

    `map` makes one array; `submit` a job for each call, which are for work of minutes: a Slurm job takes a second or more to start and end. `submit` returns at once: calls that
    come while others are being sent go together in one request. What is refused raises from `result()`, and `id` waits for the number. With `array` each call is an array, which goes with others, too. With `key` each call is a request;
    `key="run-7"` gives them the keys run-7-1, run-7-2 ... in order, so that a program which starts again and makes the same calls submits nothing twice."""

    def __init__(self, client: Optional[Client] = None, **options: Any) -> None:
        self._own = client is None
        self.client = client or Client()
        self._options = options
        self._jobs: List[Job] = []
        self._over = False
        self._calls = 0
        self._forget()

    def _forget(self) -> None:
        """Nothing waits to be sent. In a child process: what does is the parent's."""
        self._process = os.getpid()
        self._waiting: List[Call] = []
        self._changed = threading.Condition()
        self._sender: Optional[threading.Thread] = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Job:
        self._check()
        fn = functools.partial(fn, **kwargs) if kwargs else fn
        job: Job
        if "key" in self._options:
            job = self.client.submit(fn, *args, **self._keyed())
        else:
            job = self._queue(fn, args)
        self._jobs = [j for j in self._jobs if not j.over] if len(self._jobs) % 1000 == 999 else self._jobs
        self._jobs.append(job)
        return job

    def _queue(self, fn: Callable[..., Any], args: Any) -> Job:
        """A call that is sent soon."""
        packed = Calls(fn, [args], os.urandom(16).hex(), self._options)
        options = {k: v for k, v in self._options.items() if k != "array_limit"}
        request = _options.request(_options.merged(packed.options, options), packed.script)
        array = self._options.get("array")
        call = Call(self.client, packed, request) if array is None else ArrayCall(self.client, packed, request, Ranges(str(array)))
        if self._process != os.getpid():
            self._forget()
        with self._changed:
            while len(self._waiting) >= 2 * MOST:
                self._changed.wait()
            self._waiting.append(call)
            if self._sender is None:
                self._sender = threading.Thread(target=self._send, name="fsub-submit")  # no daemon: the process ends when all are sent
                self._sender.start()
        return call

    def _send(self) -> None:
        """Sends what waits, in order, until nothing does."""
        while True:
            with self._changed:
                calls, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                self._changed.notify_all()
                if not calls:
                    self._sender = None
                    return
            send(self.client, calls)

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1, **_: Any) -> Iterator[Any]:
        """The results in order. Chunks do not matter: all calls are one array."""
        self._check()
        until = None if timeout is None else time.monotonic() + timeout
        calls = list(zip(*iterables))
        if not calls:
            return iter(())
        array = self.client.map(fn, *zip(*calls), **self._keyed())
        self._jobs.append(array)
        return (task.result(None if until is None else max(until - time.monotonic(), 0)) for task in array.tasks)

    def _keyed(self) -> Dict[str, Any]:
        """The options of one call. Under the key of the Executor itself all of its calls would be one job: the n-th has KEY-n."""
        options = dict(self._options)
        if options.get("key"):
            self._calls += 1
            options["key"] = f"{options['key']}-{self._calls}"
        return options

    def _check(self) -> None:
        if self._over:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._over = True
        if cancel_futures:
            for job in self._jobs:
                if isinstance(job, Call):
                    job.sent()
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
