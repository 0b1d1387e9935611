"""The client."""

from __future__ import annotations

import os
import shlex
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Union, overload
from urllib.parse import parse_qsl, urlsplit

from . import _options, _where
from ._errors import FsubError, Refused, of_answer
from ._follow import Follower
from ._http import Http
from ._jobs import Array, Job, failed
from ._ranges import Ranges

if TYPE_CHECKING:
    from . import models
    from ._calls import Calls
    from ._group import Group

What = Union[str, "os.PathLike[str]", Sequence[str], Callable[..., Any], None]


class Client:
    """Speaks to one federation, as the user of this process.

    Without arguments it finds the daemon as the command `fed` does: FSUB_SOCKET, FSUB_SERVER with FSUB_TOKEN, the socket at its usual place, what `fsub login` has written.
    `patience` is how many seconds a call is repeated while the daemon does not answer, or takes nothing; `cancel_awaited` has a job end when the asyncio task is cancelled
    that awaits it. A client may be used by several threads. Close it, or use it in a with statement, to end its thread."""

    def __init__(
        self,
        *,
        socket: Optional[str] = None,
        server: Optional[str] = None,
        token: Optional[str] = None,
        patience: float = 60.0,
        timeout: float = 30.0,
        cancel_awaited: bool = False,
    ) -> None:
        self.cancel_awaited = cancel_awaited
        self.http = Http(_where.find(os.environ, socket, server, token), patience, timeout)
        self._follower = Follower(self.http)
        self._finalize = weakref.finalize(self, _close, self._follower, self.http)
        self._finalize.atexit = False

    def close(self) -> None:
        """Ends the client's thread and connections. Jobs go on; who waits for one gets an error."""
        self._finalize()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Submissions.

    @overload
    def submit(self, what: What = None, *args: Any, key: Optional[str] = None, array: Union[str, int], **options: Any) -> Array: ...

    @overload
    def submit(self, what: What = None, *args: Any, key: Optional[str] = None, **options: Any) -> Job: ...

    def submit(self, what: What = None, *args: Any, key: Optional[str] = None, **options: Any) -> Job:
        """Submits a job: a script's path, with its arguments; the text of a script; a list of words to run; or a function, with its arguments.

        Options are sbatch's, with _ for -, and those that begin with fed_: `gpus=1, time="2h", array="0-9", fed_max_cost=5`. With `array` the answer is an `Array`. A
        submission that is repeated under the same `key` makes no second job."""
        key = key or os.urandom(16).hex()
        if callable(what):
            return self._submit_calls(what, [args], key, options, single=True)
        script, path = self._script(what, args, options)
        return self._send(_options.request(options, script, path, [str(a) for a in args]), key)

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], key: Optional[str] = None, **options: Any) -> Array:
        """Runs a function once for each element, as the tasks of one array: their futures, in order."""
        calls = list(zip(*iterables))
        if not calls:
            raise FsubError("there is nothing to map the function over")
        array = self._submit_calls(fn, calls, key or os.urandom(16).hex(), options, single=False)
        assert isinstance(array, Array)
        return array

    def test(self, what: What = None, *args: Any, **options: Any) -> models.SubmitResponse:
        """What would become of a job if it were submitted now: `message` is what sbatch --test-only says, `place` where and for how much."""
        from . import models

        script, path = self._script(what, args, options)
        body = _options.request(options, script, path, [str(a) for a in args], test_only=True)
        return models.SubmitResponse.from_json(self.http.post("/fed/v1/job", body, repeat=True))

    @staticmethod
    def _script(what: What, args: Sequence[Any], options: Dict[str, Any]) -> tuple[str, str]:
        """A script's text and its path, if it has one."""
        if what is None:
            if "wrap" not in options:
                raise FsubError("there is nothing to submit", detail="give a script, a list of words, a function, or wrap=COMMAND")
            return "", ""
        if callable(what):
            raise FsubError("a function is not a script")
        if isinstance(what, (list, tuple)):
            if args:
                raise FsubError("a list of words takes no further arguments", detail="put them into the list")
            options.setdefault("job_name", os.path.basename(str(what[0])))
            return f"#!/bin/sh\nexec {shlex.join(str(w) for w in what)}\n", ""
        if isinstance(what, str) and ("\n" in what or what.startswith("#!")):
            if args:
                raise FsubError("the text of a script takes no arguments", detail="give the path of a file")
            return what, ""
        path = os.path.abspath(os.fspath(what))  # type: ignore[arg-type]
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
                return f.read((4 << 20) + 1), path
        except OSError as err:
            raise FsubError(f"{what}: {err.strerror}", detail="a script is a path, or a text that begins with #!; words to run are a list") from err

    def _submit_calls(self, fn: Callable[..., Any], calls: Sequence[Sequence[Any]], key: str, options: Dict[str, Any], single: bool) -> Job:
        from ._calls import Calls

        packed = Calls(fn, calls, key, options)
        if not single:
            options = {**options, "array": f"0-{len(calls) - 1}" + (f"%{options['array_limit']}" if options.get("array_limit") else "")}
        options.pop("array_limit", None)
        return self._send(_options.request(_options.merged(packed.options, options), packed.script), key, packed)

    def _send(self, body: Dict[str, Any], key: str, packed: Optional[Calls] = None) -> Job:
        """Submits a job. Its events are followed from before it on."""
        self._follower.begin()
        jobs: List[Job] = []
        try:
            answer = self.http.post("/fed/v1/job", body, key=key)
            if answer.get("error"):
                raise of_answer(400, answer)
            number, mark = int(answer["job_id"]), int(answer.get("mark") or 0)
            array = answer.get("array")
            job = Array(self, number, mark, Ranges(array)) if array else Job(self, number, mark)
            if packed is not None:
                packed.loads(job)
            jobs.append(job)
        finally:
            self._follower.end(jobs)
        for text in (answer.get("warnings") or []) + ([answer["note"]] if answer.get("note") else []):
            warnings.warn(text, stacklevel=4)
        return job

    def group(self, name: str, cancel: bool = False) -> Group:
        """A label of jobs: submit, count, wait for and cancel all of them. In a with statement its end waits for all that were submitted through it; with `cancel`
        an exception there cancels them first."""
        from ._group import Group

        return Group(self, name, cancel)

    # Jobs that are there.

    def job(self, number: Union[int, str]) -> Job:
        """A job by its number, or a task as 17_3: its state is read at once."""
        text, _, task = str(number).partition("_")
        record = self.http.get(f"/fed/v1/job/{int(text)}")
        array = record["job"].get("array")
        job: Job
        if array and not record["job"].get("array_part"):
            job = Array(self, int(text), 0, Ranges(f"{array['min']}-{array['max']}:{array.get('step') or 1}"))
        else:
            job = Job(self, int(text))
        self._follower.watch([job])
        if task:
            if not isinstance(job, Array) or int(task) not in job.indices:
                raise Refused(f"job {text} has no task {task}")
            return next(t for t in job.tasks if t.task == int(task))
        return job

    def jobs(self, *where: str, sort: str = "id", fields: str = "") -> Iterator[models.JobLine]:
        """The jobs that conditions choose, of all users, page by page: those that have not ended, unless a state says so. Conditions are those of fed job list --where."""
        from . import models

        path = "/fed/v1/jobs"
        query: Dict[str, Any] = {"where": list(where), "sort": sort, "fields": fields, "limit": 1000}
        while True:
            text, headers = self.http.whole("GET", path, query)
            for line in _parsed(text):
                yield models.JobLine.from_json(line)
            following = [part for part in headers.get("link", "").split(",") if 'rel="next"' in part]
            if not following:
                return
            split = urlsplit(following[0].partition("<")[2].partition(">")[0])
            path, query = split.path, {}
            for name, value in parse_qsl(split.query):
                query[name] = [*query[name], value] if name in query else [value]

    def summary(self, by: str = "state", *where: str) -> List[models.JobCount]:
        """How many jobs there are of each state, site, user, account or group."""
        from . import models

        return [models.JobCount.from_json(c) for c in self.http.get("/fed/v1/summary", {"by": by, "where": list(where)})]

    def sites(self) -> List[models.Site]:
        """The members of the federation."""
        from . import models

        return [models.Site.from_json(s) for s in self.http.get("/fed/v1/sites")]

    # Changes.

    def cancel(self, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        """Cancels jobs, whether they wait or run. For each there is what stands against it, or None."""
        return self._act("cancel", jobs)

    def hold(self, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        """Keeps jobs that wait from starting."""
        return self._act("hold", jobs)

    def release(self, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        """Lets held jobs go."""
        return self._act("release", jobs)

    def requeue(self, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        """Stops jobs and queues them again. The future of one that had ended stays as it is."""
        return self._act("requeue", jobs)

    def _act(self, verb: str, jobs: Iterable[Union[Job, int]]) -> List[Optional[FsubError]]:
        refs = [{"id": j} if isinstance(j, int) else {"id": j.id} if j.task is None else {"id": j.id, "tasks": str(j.task)} for j in jobs]
        out: List[Optional[FsubError]] = []
        for i in range(0, len(refs), 10_000):
            answer = self.http.post(f"/fed/v1/jobs/{verb}", {"jobs": refs[i : i + 10_000]}, repeat=verb == "cancel")
            out += [of_answer(400, r) if r.get("error") else None for r in answer["results"]]
        return out

    def _result_of(self, job: Job) -> Any:
        end = job.end
        if end is None or end.state != "COMPLETED":
            raise failed(job)
        return end


def _parsed(text: bytes) -> Any:
    import json

    return json.loads(text or b"[]")


def _close(follower: Follower, http: Http) -> None:
    follower.close()
    http.close()
