"""One thread for each client, which follows the daemon's log of changes and tells jobs what has become of them."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ._errors import FsubError, Gone, Refused
from ._http import PAUSE, Http, Lost, Query, jitter

if TYPE_CHECKING:
    from ._jobs import Job

EVENTS = "bind,start,suspend,resume,requeue,invalid-depend,end"
LINGER = 5.0  # seconds that the connection stays when there is nothing to wait for
MOST_STATES = 100_000  # jobs in one question
LONGEST_PAUSE = 5.0


class Follower:
    """Tells jobs of their events. The thread runs while there are jobs that have not ended, and begins with the mark of the first one's submission.

    `lock` is of all jobs of the client, too. Any thread may call these methods. Nobody's code is called with the lock held."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.lock = threading.Condition()
        self._watched: Dict[int, List[Job]] = {}  # by number: of one there may be several futures
        self._submitting = 0
        self._early: List[Mapping[str, Any]] = []  # events of jobs whose numbers the submitter may not know yet
        self._mark = 0
        self._thread: Optional[threading.Thread] = None
        self._sock: Optional[socket.socket] = None
        self._timer: Optional[threading.Timer] = None
        self._user = ""
        self._closed = False
        _followers.add(self)

    # Submissions.

    def begin(self) -> None:
        """A submission begins: what happens to jobs that nobody knows is kept until its end."""
        with self.lock:
            self._submitting += 1

    def end(self, jobs: Sequence[Job]) -> None:
        """It has ended, with these jobs. From now on they are told of their events."""
        ended: List[Job] = []
        with self.lock:
            for job in jobs:
                self._watched.setdefault(job.id, []).append(job)
            for event in self._early:
                ended += self._tell(event, keep=False)
            self._submitting -= 1
            if not self._submitting:
                self._early.clear()
            marks = [job.mark for job in jobs if job.mark and not job.over]
            if self._thread is None and marks:
                self._start(min(marks))
        _finish(ended)
        unmarked = [job for job in jobs if not job.mark]
        if unmarked:  # they may have been submitted before, under the same key
            self.watch(unmarked)

    def watch(self, jobs: Sequence[Job]) -> None:
        """Has jobs be told of their events, whenever they were submitted, and reads what has become of them until now."""
        with self.lock:
            if self._thread is None and not self._closed:
                self._start(self._newest())
            for job in jobs:
                if not job.over and job not in self._watched.get(job.id, []):
                    self._watched.setdefault(job.id, []).append(job)
        self._read(jobs)

    def _start(self, mark: int) -> None:
        if self._closed:
            return
        self._mark = mark
        self._thread = threading.Thread(target=self._run, name="fsub-events", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread. Those who wait are told that the client is closed."""
        with self.lock:
            self._closed = True
            thread, timer = self._thread, self._timer
        if timer is not None:
            timer.cancel()
        self._fail(FsubError("the client was closed before the job had ended"))
        self._hang_up()
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    def _fail(self, error: FsubError) -> None:
        with self.lock:
            jobs = self._all()
            self._watched.clear()
        for job in jobs:
            job.abandon(error)

    def _all(self) -> List[Job]:
        return [job for same in self._watched.values() for job in same]

    def _drop(self, job: Job) -> None:
        """Job is not told of anything any more."""
        left = [j for j in self._watched.get(job.id, []) if j is not job]
        if left:
            self._watched[job.id] = left
        else:
            self._watched.pop(job.id, None)

    def _hang_up(self) -> None:
        with self.lock:
            sock = self._sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    # The thread.

    def _run(self) -> None:
        pause = PAUSE
        while True:
            with self.lock:
                if self._closed or not (self._watched or self._submitting):  # the next who waits starts another thread
                    self._thread = None
                    return
            begun = time.monotonic()
            try:
                self._follow()
            except Gone:
                self._catch_up()
            except Refused as err:  # a token that was revoked, for one: nothing will come any more
                self._fail(err)
            except (FsubError, Lost, OSError, http.client.HTTPException, ValueError):
                pass
            pause = PAUSE if time.monotonic() - begun > LONGEST_PAUSE else min(pause * 2, LONGEST_PAUSE)
            if not self._closed and self._watched:
                time.sleep(pause * jitter())

    def _follow(self) -> None:
        """Reads events until the connection breaks."""
        self._user = self._user or str(self._http.get("/fed/v1/caller")["user"])
        query: Query = {"after": self._mark, "follow": 1, "where": ["user=" + self._user, "event=" + EVENTS]}
        connection, response, sock = self._http.open("/fed/v1/events", query)
        try:
            with self.lock:
                self._sock = sock
            rest = b""
            while not self._closed:
                part = response.read1(1 << 18)
                if not part:
                    return
                lines = (rest + part).split(b"\n")
                rest = lines.pop()
                ended: List[Job] = []
                with self.lock:
                    for line in lines:
                        ended += self._line(line)
                    if not self._watched and self._timer is None:
                        self._timer = threading.Timer(LINGER, self._idle)
                        self._timer.daemon = True
                        self._timer.start()
                _finish(ended)
        finally:
            with self.lock:
                self._sock = None
            response.close()
            connection.close()

    def _idle(self) -> None:
        with self.lock:
            self._timer = None
            busy = bool(self._watched or self._submitting)
        if not busy:
            self._hang_up()

    def _line(self, line: bytes) -> List[Job]:
        if not line:
            return []
        event = json.loads(line)
        if "event" in event:
            return self._tell(event, keep=bool(self._submitting))
        self._mark = int(event["mark"])
        return []

    def _tell(self, event: Mapping[str, Any], keep: bool) -> List[Job]:
        """Tells the jobs that an event is about. It returns those that have ended by it."""
        ended: List[Job] = []
        known = False
        for number in {event.get("array_job_id", 0), event.get("job_id", 0)}:
            for job in list(self._watched.get(number, ())):
                known = True
                ended += job.told(event)
                if job.over:
                    self._drop(job)
        if keep and not known:
            self._early.append(event)
        return ended

    def _catch_up(self) -> None:
        """The log does not go back so far any more: the states of all that is watched are read once."""
        try:
            mark = self._newest()
            with self.lock:
                jobs, self._mark = self._all(), mark
            self._read(jobs)
        except FsubError:
            pass

    def _newest(self) -> int:
        text, _ = self._http.whole("GET", "/fed/v1/events")
        return int(json.loads(text.splitlines()[-1])["mark"])

    def _read(self, jobs: Iterable[Job]) -> None:
        """Reads what has become of jobs."""
        waiting: Dict[int, List[Job]] = {}
        for job in jobs:
            waiting.setdefault(job.id, []).append(job)
        numbers = list(waiting)
        for i in range(0, len(numbers), MOST_STATES):
            ended: List[Job] = []
            states = self._states(numbers[i : i + MOST_STATES])
            with self.lock:
                for state in states:
                    for job in waiting.pop(state["job_id"]):
                        ended += job.found(state)
                        if job.over:
                            self._drop(job)
            _finish(ended)
        for n, unknown in waiting.items():
            for job in unknown:
                with self.lock:
                    self._drop(job)
                job.abandon(Gone(f"the daemon knows no job {n}, or not any more"))

    def _states(self, numbers: List[int]) -> List[Dict[str, Any]]:
        try:
            answer = self._http.post("/fed/v1/jobs/states", {"jobs": numbers, "tasks": True}, repeat=True)
        except Gone:  # an older daemon
            return [state for n in numbers for state in _state_of(self._http, n)]
        states: List[Dict[str, Any]] = answer["states"]
        return states

    def forked(self) -> None:
        """In a child process there are the jobs, and neither the thread nor the connection, whose other end is the parent's."""
        sock, self._sock = self._sock, None
        self._thread = self._timer = None
        if sock is not None:
            os.close(sock.detach())
        self._http.forked()


def _finish(jobs: List[Job]) -> None:
    for job in jobs:
        job.finish()


def _state_of(http: Http, number: int) -> List[Dict[str, Any]]:
    """What POST /fed/v1/jobs/states would say of a job."""
    try:
        record = http.get(f"/fed/v1/job/{number}")
    except Gone:
        return []
    job = record["job"]
    tasks = [
        {"tasks": str(t["array_task_id"]), "state": t["state"], "exit_status": t.get("exit_status", 0), "site": t.get("site", "")}
        for t in record.get("tasks") or []
    ]
    for gone in (job.get("array") or {}).get("cancelled") or []:
        tasks.append({"tasks": gone["tasks"], "state": "CANCELLED"})
    return [{**{k: job.get(k) for k in ("job_id", "state", "reason", "site", "exit_status")}, "tasks": tasks}]


# After a fork the child has the jobs, and neither the thread nor the connections.

_followers: weakref.WeakSet[Follower] = weakref.WeakSet()
_held: List[Follower] = []


def _before_fork() -> None:
    _held.extend(_followers)
    for f in _held:
        f.lock.acquire()


def _after_fork() -> None:
    for f in _held:
        f.lock.release()
    _held.clear()


def _in_child() -> None:
    for f in _held:
        f.forked()
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
