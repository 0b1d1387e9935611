"""Submissions that go together in one request."""

from __future__ import annotations

import json
import threading
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ._errors import FsubError, Refused
from ._http import encode
from ._jobs import Array, Job
from ._ranges import Ranges

if TYPE_CHECKING:
    from ._calls import Calls
    from ._client import Client

MOST = 1000  # jobs in one request


class Call(Job):
    """A job whose number is not known yet: what asks for it waits until the submission is answered."""

    def __init__(self, client: Client, packed: Calls, request: Dict[str, Any], *more: Any) -> None:
        self._answered = threading.Event()
        self._error: Optional[FsubError] = None
        super().__init__(client, 0, *more)
        self.request, self.key = request, packed.key
        packed.loads(self)

    def sent(self) -> bool:
        """Waits for the answer to the submission, and tells whether there is a job."""
        self._answered.wait()
        return self._number_known != 0

    @property
    def id(self) -> int:  # pyright: ignore
        if not self._answered.is_set():
            self._answered.wait()
        if self._error is not None:
            raise self._error
        return self._number_known

    @id.setter
    def id(self, number: int) -> None:
        self._number_known = number
        if number:
            self.request = {}
            self._answered.set()

    def refuse(self, error: FsubError) -> None:
        """There is no job, or nobody knows."""
        self._error, self.request = error, {}
        self.abandon(error)
        self._answered.set()

    def cancel(self) -> bool:
        return self.sent() and super().cancel()

    def __repr__(self) -> str:
        return super().__repr__() if self._number_known else f"<{type(self).__name__} {'not submitted' if self.over else 'being submitted'}>"


class ArrayCall(Call, Array):
    """An array whose number is not known yet."""

    def __init__(self, client: Client, packed: Calls, request: Dict[str, Any], indices: Ranges) -> None:
        super().__init__(client, packed, request, 0, indices)

    @property
    def tasks(self) -> List[Job]:
        _ = self.id  # known before the lock is held that its sender needs
        return super().tasks


def send(client: Client, calls: List[Call]) -> None:
    """Submits calls, and tells each what has come of it. They are one batch; where the daemon refuses that because of some of them, each is sent by itself."""
    try:
        if len(calls) > 1:
            try:
                return _together(client, calls)
            except Refused:
                pass
        for call in calls:
            _alone(client, call)
    except BaseException as err:
        for call in calls:
            if not call._number_known and not call.over:
                call.refuse(err if isinstance(err, FsubError) else FsubError(f"the submission failed: {err!r}"))
        if not isinstance(err, Exception):
            raise


def _together(client: Client, calls: List[Call]) -> None:
    lines = []
    environment: Any = None
    name = ""
    for i, call in enumerate(calls):
        entry = {**call.request, "payload": dict(call.request["payload"])}
        if entry["payload"]["environment"] == environment:
            del entry["payload"]["environment"]
            entry["payload_of"] = name
        else:
            environment = entry["payload"]["environment"]
            name = entry["name"] = f"e{i}"
        lines.append(encode(entry))
    client._follower.begin()
    known: List[Job] = []
    try:
        text, _ = client.http.whole("POST", "/fed/v1/jobs/submit", body=b"\n".join(lines), key=calls[0].key + "-batch")
        *jobs, last = [json.loads(line) for line in text.splitlines()]
        if last.get("jobs") != len(calls) or len(jobs) != len(calls):
            raise FsubError("the daemon's answer to a batch was cut")
        for call, job in zip(calls, jobs):
            call.mark, call.id = int(last.get("mark") or 0), int(job["job_id"])
            known.append(call)
    finally:
        client._follower.end(known)
    for text in {t for job in jobs for t in (job.get("warnings") or []) + ([job["note"]] if job.get("note") else [])}:
        warnings.warn(text)


def _alone(client: Client, call: Call) -> None:
    client._follower.begin()
    known: List[Job] = []
    try:
        answer = client.http.post("/fed/v1/job", call.request, key=call.key)
        call.mark, call.id = int(answer.get("mark") or 0), int(answer["job_id"])
        known.append(call)
    except FsubError as err:
        call.refuse(err)
    finally:
        client._follower.end(known)
