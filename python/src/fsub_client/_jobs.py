"""Jobs, as futures."""

from __future__ import annotations

import concurrent.futures
import functools
import logging
import queue
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Set,
    Tuple,
    Union,
)

from . import _html
from ._errors import FsubError, JobFailed
from ._ranges import Ranges

if TYPE_CHECKING:
    import asyncio

    from . import models
    from ._client import Client

STARTED = ("CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING")


@dataclass(frozen=True)
class End:
    """How a job has ended."""

    job_id: int
    state: str  # COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY ...
    exit_status: int = 0  # as wait(2) gives it
    reason: str = ""
    site: str = ""
    task: Optional[int] = None  # its index, of a task of an array

    @property
    def exit_code(self) -> int:
        return self.exit_status >> 8

    @property
    def signal(self) -> int:
        return self.exit_status & 0x7F


@dataclass(frozen=True)
class Forecast:
    """When and where a job that waits is expected to start. What is not known is None."""

    start_p50: Optional[datetime]
    start_p90: Optional[datetime]
    site: str
    cost: Optional[float]  # dollars


class Job(concurrent.futures.Future[Any]):
    """A job, or one task of an array. It is done when the job has ended, for good or ill.

    `result()` is what the job's function has returned; of a job that is no function it is an `End`. It raises what the function has raised, `JobFailed` of a job
    that ended otherwise than COMPLETED, and `CancelledError` of one that was cancelled. `await job` is the same in asyncio."""

    def __init__(self, client: Client, number: int, mark: int = 0, task: Optional[int] = None) -> None:
        super().__init__()
        self._condition = client._follower.lock  # one for all: a condition takes a kilobyte
        self.client = client
        self.id = number
        self.mark = mark
        self.task = task
        self.state = "PENDING"
        self.site = ""
        self.reason = ""
        self.end: Optional[End] = None
        self.over = False  # it has ended; done() follows at once
        self.started = False  # it is known to have run, if only for a moment
        self._tell: Tuple[Callable[[Job], object], ...] = ()
        self._load: Optional[Callable[[], Any]] = None
        self._loaded: Optional[concurrent.futures.Future[Any]] = None

    @property
    def ref(self) -> str:
        """The job as Slurm's commands name it."""
        return str(self.id) if self.task is None else f"{self.id}_{self.task}"

    # What the follower tells, with the lock held.

    def told(self, event: Mapping[str, Any]) -> List[Job]:
        if self.over:
            return []
        self.state = event.get("state") or self.state
        if self.state == "CONFIGURING":  # nothing says when its nodes are ready
            self.state = "RUNNING"
        self.started = self.started or self.state in STARTED or bool(event.get("exit_status"))
        self.site, self.reason = event.get("site", ""), event.get("reason", "")
        if event["event"] == "end":
            self.over = True
            self.end = End(self.id, self.state, event.get("exit_status") or 0, self.reason, self.site, self.task)
            return [self]
        if self.state in STARTED and not self.running():
            self.set_running_or_notify_cancel()
        return [self] if self._tell else []

    def found(self, state: Mapping[str, Any]) -> List[Job]:
        """The same, of what was read of its state."""
        return self.told(_as_event(state))

    def finish(self) -> None:
        """Tells those who want to know that it has changed, and makes it done if it has ended. The lock is not held."""
        for tell in self._tell:
            try:
                tell(self)
            except Exception:
                logging.getLogger("fsub_client").exception("a callback of job %s failed", self.ref)
        if not self.over:
            return
        try:
            if self.state == "CANCELLED":
                self.set_exception(concurrent.futures.CancelledError(f"job {self.ref} was cancelled"))
            else:
                self.set_result(self.end)
        except concurrent.futures.InvalidStateError:
            pass

    def abandon(self, error: FsubError) -> None:
        """Nothing more will be known of it."""
        with self._condition:
            if self.over:
                return
            self.over = True
        try:
            self.set_exception(error)
        except concurrent.futures.InvalidStateError:
            pass

    def add_change_callback(self, fn: Callable[[Job], object]) -> None:
        """Has fn called with the job when its state may have changed, and now: in the client's thread, which it must not hold up. Changes that come together are
        told once: `started` says of a job that has ended whether it ran."""
        with self._condition:
            self._tell += (fn,)
        fn(self)

    # The future.

    def cancelled(self) -> bool:
        return self.over and self.state == "CANCELLED"

    def cancel(self) -> bool:
        """Cancels the job, whether it waits or runs. It is done when it has ended. False: it had ended before."""
        return not self.over and self.client.cancel([self]) == [None]

    def wait(self, timeout: Optional[float] = None) -> End:
        """Waits for the end and tells of it, whatever it was. It raises TimeoutError after so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while not self.done():
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise concurrent.futures.TimeoutError()
                self._condition.wait(left)
        if self.end is None:
            error = super().exception(0)
            assert error is not None
            raise error
        return self.end

    def result(self, timeout: Optional[float] = None) -> Any:
        self.wait(timeout)
        return self._outcome().result(0)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        self.wait(timeout)
        return self._outcome().exception(0)

    def _outcome(self) -> concurrent.futures.Future[Any]:
        """What it has come to: loaded once, by who asks first."""
        if self._loaded is None:
            outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()
            error = super().exception(0)
            try:
                if error is not None:
                    raise error
                outcome.set_result(self.client._result_of(self) if self._load is None else self._load())
            except BaseException as err:
                outcome.set_exception(err)
            self._loaded = outcome
        return self._loaded

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    async def _awaited(self) -> Any:
        import asyncio

        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def tell(_: object) -> None:
            try:
                loop.call_soon_threadsafe(_set, over)
            except RuntimeError:  # the loop is closed: nobody waits any more
                pass

        self.add_done_callback(tell)
        try:
            await over
        except asyncio.CancelledError:
            if self.client.cancel_awaited:
                threading.Thread(target=self.cancel, daemon=True).start()
            raise
        return self.result(0)

    # What the daemon says of it.

    @property
    def cost(self) -> float:
        """Dollars that it has come to so far."""
        record = self.record()
        if record.spending is not None:
            return record.spending.so_far_usd
        return record.job.cost_usd if record.job is not None else 0.0

    def record(self) -> models.JobRecord:
        """All that the daemon has written down of it."""
        from . import models

        return models.JobRecord.from_json(self.client.http.get(f"/fed/v1/job/{self._number()}"))

    def explain(self) -> models.Explanation:
        """Why it is where it is. `summary` is that in a few lines."""
        from . import models

        return models.Explanation.from_json(self.client.http.get(f"/fed/v1/job/{self._number()}/explain"))

    def forecast(self) -> Forecast:
        """When and where it is expected to start; of a job that has started, when and where it did."""
        said = self.explain()
        if said.start is not None:
            return Forecast(said.start.start, said.start.within, said.start.site, said.start.price)
        started = said.job.start_time if said.job is not None else None
        return Forecast(started, started, said.job.site if said.job is not None else "", None)

    def _number(self) -> int:
        """The number of the job that a task has become, if it has become one; else the array's."""
        if self.task is None:
            return self.id
        for task in self.client.http.get(f"/fed/v1/job/{self.id}").get("tasks") or []:
            if task["array_task_id"] == self.task:
                return int(task.get("task_job_id") or self.id)
        return self.id

    def logs(self, follow: bool = False, stderr: bool = False) -> Iterator[str]:
        """What it has written, line by line. With follow it goes on until the job has ended."""
        from . import _logs

        return _logs.lines(self, follow, stderr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ref} {self.state}{' at ' + self.site if self.site else ''}>"

    def _repr_html_(self) -> str:
        return _html.job(self)


_ENDS = frozenset(
    "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY REQUEUED".split()
)


def _set(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


class Array(Job):
    """An array of jobs: a future for all of it, and a sequence of those of its tasks.

    Of the functions of `Client.map` `result()` is the list of what they have returned. Else it is an `End`, that of a task which has failed, if any has."""

    def __init__(self, client: Client, number: int, mark: int, indices: Ranges) -> None:
        super().__init__(client, number, mark)
        self.indices = indices
        self._tasks: Dict[int, Job] = {}  # made when somebody wants them
        self._ended: Set[int] = set()
        self._left = len(indices)
        self._worst: Optional[End] = None
        self._told = False
        self._load_task: Optional[Callable[[Job], Any]] = None

    @property
    def tasks(self) -> List[Job]:
        """Its tasks, in the order of their indices."""
        with self._condition:
            new = not self._tasks
            if new:
                self._tasks = {i: self._made(i) for i in self.indices}
        if new and self._told:
            self.client._follower.watch([self])
        return list(self._tasks.values())

    def _made(self, index: int) -> Job:
        task = Job(self.client, self.id, self.mark, index)
        if self._load_task is not None:
            task._load = functools.partial(self._load_task, task)
        return task

    def __iter__(self) -> Iterator[Job]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, position: int) -> Job:
        return self.tasks[position]

    def told(self, event: Mapping[str, Any]) -> List[Job]:
        self._told = True
        index, many = event.get("array_task_id"), event.get("array_tasks")
        if index is None and not many:  # the array itself: with its end, that of all tasks of which nothing was said
            return self._rest(event) if event["event"] == "end" else []
        ended: List[Job] = []
        for i in (index,) if index is not None else Ranges(str(many)):
            ended += self._task_told(i, event)
        return ended + self._count()

    def found(self, state: Mapping[str, Any]) -> List[Job]:
        self._told = True
        ended: List[Job] = []
        for some in state.get("tasks") or []:
            event = _as_event(some)
            for i in Ranges(some["tasks"]):
                ended += self._task_told(i, event)
        if state["state"] in _ENDS:
            return ended + self._rest(_as_event(state))
        return ended + self._count()

    def _rest(self, event: Mapping[str, Any]) -> List[Job]:
        ended: List[Job] = []
        for i in self.indices:
            if i not in self._ended:
                ended += self._task_told(i, event)
        return ended + self._count()

    def _task_told(self, index: int, event: Mapping[str, Any]) -> List[Job]:
        task = self._tasks.get(index)
        ended = task.told(event) if task is not None else []
        if event["event"] == "end" and index not in self._ended:
            self._ended.add(index)
            self._left -= 1
            if event["state"] != "COMPLETED" and self._worst is None:
                self._worst = End(self.id, event["state"], event.get("exit_status") or 0, event.get("reason", ""), event.get("site", ""), index)
        elif self.state == "PENDING" and event["state"] in STARTED:
            self.state, self.started = "RUNNING", True
            self.set_running_or_notify_cancel()
        return ended

    def _count(self) -> List[Job]:
        """The array has ended with the last of its tasks."""
        if self._left > 0 or self.over:
            return []
        self.over = True
        worst = self._worst
        self.state = worst.state if worst is not None else "COMPLETED"
        self.end = worst or End(self.id, "COMPLETED")
        return [self]

    def abandon(self, error: FsubError) -> None:
        for task in list(self._tasks.values()):
            task.abandon(error)
        super().abandon(error)

    def logs(self, follow: bool = False, stderr: bool = False) -> Iterator[str]:
        raise FsubError(f"job {self.id} is an array", detail="read the logs of one of its tasks")

    def _repr_html_(self) -> str:
        return _html.progress(f"array {self.id}", counts(self.tasks))


def _as_event(state: Mapping[str, Any]) -> Dict[str, Any]:
    """A state that was read, as the event that says so."""
    ended = state["state"] in _ENDS
    return {
        "event": "end" if ended else "found",
        "state": state["state"],
        "exit_status": state.get("exit_status"),
        "site": state.get("site") or "",
        "reason": state.get("reason") or "",
    }


def counts(jobs: Iterable[Job]) -> Dict[str, int]:
    """How many jobs there are in each state."""
    out: Dict[str, int] = {}
    for job in jobs:
        out[job.state] = out.get(job.state, 0) + 1
    return out


def _single(jobs: Iterable[Job]) -> List[Job]:
    """Jobs, with the tasks of arrays in their place."""
    out: List[Job] = []
    for job in jobs:
        out.extend(job.tasks if isinstance(job, Array) else [job])
    return out


def as_completed(jobs: Iterable[Job], timeout: Optional[float] = None) -> Iterator[Job]:
    """Yields jobs as they end, each once; of arrays their tasks. It raises TimeoutError after so many seconds."""
    until = None if timeout is None else time.monotonic() + timeout
    waiting = _single(jobs)
    ended: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in waiting:
        job.add_done_callback(ended.put)  # type: ignore[arg-type]
    for _ in range(len(waiting)):
        try:
            yield ended.get(timeout=None if until is None else max(until - time.monotonic(), 0))
        except queue.Empty:
            raise concurrent.futures.TimeoutError() from None


async def as_completed_async(jobs: Iterable[Job]) -> AsyncIterator[Job]:
    """The same for asyncio."""
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Queue[Job] = asyncio.Queue()

    def tell(job: Any) -> None:
        try:
            loop.call_soon_threadsafe(ended.put_nowait, job)
        except RuntimeError:
            pass

    waiting = _single(jobs)
    for job in waiting:
        job.add_done_callback(tell)
    for _ in range(len(waiting)):
        yield await ended.get()


JobOrNumber = Union[Job, int]


def failed(job: Job, detail: str = "") -> JobFailed:
    """The error of a job that has ended badly."""
    end = job.end
    assert end is not None
    how = "" if end.state != "FAILED" else f" with exit code {end.exit_code}" if end.exit_code else f" by signal {end.signal}" if end.signal else ""
    why = f" ({end.reason})" if end.reason and end.reason != "None" else ""
    return JobFailed(f"job {job.ref} has ended {end.state}{how}{why}", detail, job, end)
