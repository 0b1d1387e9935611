"""Groups of jobs."""

from __future__ import annotations

import concurrent.futures
import json
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional

from . import _html
from ._jobs import Array, Job

if TYPE_CHECKING:
    from ._client import Client, What
    from ._http import Query


class Group:
    """A label of jobs, of one client or of many: what jobs of the group submit is in it, too."""

    def __init__(self, client: Client, name: str, cancel: bool) -> None:
        self.client, self.name = client, name
        self.jobs: List[Job] = []  # that were submitted through this object
        self._cancel = cancel

    def submit(self, what: What = None, *args: Any, **options: Any) -> Job:
        """Client.submit, into the group."""
        job: Job = self.client.submit(what, *args, **{"group": self.name, **options})
        self.jobs.append(job)
        return job

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **options: Any) -> Array:
        """Client.map, into the group."""
        array = self.client.map(fn, *iterables, **{"group": self.name, **options})
        self.jobs.append(array)
        return array

    def counts(self) -> Dict[str, int]:
        """How many tasks of the group are in each state, those that have ended lately included."""
        from ._jobs import _ENDS

        found = self.client.summary("state", f"group={self.name}")
        found += self.client.summary("state", f"group={self.name}", "state=" + ",".join(sorted(_ENDS - {"REQUEUED"})))
        return {c.state: c.tasks for c in found if c.state}

    def cancel(self) -> None:
        """Cancels all jobs of the group that the caller may cancel, and what they submit meanwhile."""
        self._operate("cancel")

    def hold(self) -> None:
        """Keeps what waits of the group from starting."""
        self._operate("hold")

    def release(self) -> None:
        """Lets what is held of the group go."""
        self._operate("release")

    def _operate(self, verb: str) -> None:
        http = self.client.http
        for _ in range(2):
            done = http.post("/fed/v1/operations", {"verb": verb, "where": [f"group={self.name}"]}, repeat=True)
            http.post(f"/fed/v1/operation/{done['id']}/told", None, repeat=True)  # the next one is not the same
            if not done.get("ended"):  # else it may have been an earlier one
                return

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits until no job of the group is left, those that jobs submit and those of other clients included. It raises TimeoutError after so many seconds.

        It counts, then follows the ends of the group until so many have come, and counts again."""
        until = None if timeout is None else time.monotonic() + timeout
        http = self.client.http
        while True:
            text, _ = http.whole("GET", "/fed/v1/events")
            mark = json.loads(text.splitlines()[-1])["mark"]
            left = sum(c.tasks for c in self.client.summary("state", f"group={self.name}"))
            if not left:
                return
            self._ends(mark, left, until)

    def _ends(self, mark: int, left: int, until: Optional[float]) -> None:
        """Reads so many ends of jobs of the group."""
        query: Query = {"after": mark, "follow": 1, "where": [f"group={self.name}", "event=end"]}
        connection, response, sock = self.client.http.open("/fed/v1/events", query)
        try:
            while left > 0:
                if until is not None:
                    sock.settimeout(max(until - time.monotonic(), 0.001))
                line = response.readline()
                if not line:
                    return
                left -= "event" in json.loads(line)
        except OSError as err:
            if until is not None and time.monotonic() >= until:
                raise concurrent.futures.TimeoutError() from err
        finally:
            response.close()
            connection.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            if self._cancel:
                self.cancel()
            return
        for job in self.jobs:
            job.wait()

    def __repr__(self) -> str:
        return f"<Group {self.name}>"

    def _repr_html_(self) -> str:
        return _html.progress(f"group {self.name}", self.counts())
