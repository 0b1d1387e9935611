"""Functions as jobs: their pickles go to a directory below the working directory, and come back there.

    .fsub/lib-VERSION/run.py, cloudpickle/   what runs a call, for sites that have nothing but Python
    .fsub/KEY/in/calls                       the function and the arguments of each call
    .fsub/KEY/out/INDEX                      what has come of it

A site that sees the directory finds it there; to others fsub carries it (--fed-stage-in, --fed-stage-out). What comes back is unpickled only if it is a file of
the user's own that nobody else can write."""

from __future__ import annotations

import functools
import json
import os
import pickle
import shlex
import shutil
import stat
import struct
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence

from ._errors import FsubError, RemoteTraceback
from ._jobs import Array, Job, failed
from ._ranges import Ranges

if TYPE_CHECKING:
    from ._jobs import End

LATE = 10.0  # seconds until a network file system shows what a job has written


def _cloudpickle() -> Any:
    try:
        import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as err:
        raise FsubError("functions as jobs need cloudpickle", detail='pip install "fsub-client[callable]"') from err
    return cloudpickle


class Calls:
    """A function's calls as they are sent, and what has come of them."""

    def __init__(self, fn: Callable[..., Any], calls: Sequence[Any], key: str, options: Mapping[str, Any]) -> None:
        base = os.path.abspath(str(options.get("chdir") or os.getcwd()))
        self.key = key
        self.inside = f".fsub/{key}"
        self.dir = os.path.join(base, self.inside)
        lib = self._library(base)
        for name in ("", "in", "out"):
            os.makedirs(os.path.join(self.dir, name), mode=0o700, exist_ok=True)
        self._write(fn, calls)
        array = options.get("array")
        tasks = len(calls) if array is None else len(Ranges(str(array)))
        name = getattr(fn, "__name__", None) or type(getattr(fn, "func", fn)).__name__
        self.options: Dict[str, Any] = {
            "job_name": name.strip("<>"),
            "output": f"{self.inside}/log-%{'j' if array is None and tasks == 1 else 'a'}.txt",
            "fed_stage_in": [f"{self.inside}/in", lib],
            "fed_stage_out": [f"{self.inside}/out"],
        }
        python = " ".join(shlex.quote(p) for p in (sys.executable, "python%d.%d" % sys.version_info[:2], "python3") if p)
        self.script = (
            f"#!/bin/sh\nfor python in {python}; do\n"
            f'  command -v "$python" >/dev/null 2>&1 && exec "$python" {lib}/run.py {self.inside}\n'
            'done\necho "fsub: there is no Python on this node" >&2\nexit 127\n'
        )
        self._left = tasks

    @staticmethod
    def _library(base: str) -> str:
        """What runs a call, below base."""
        from . import __version__

        cloudpickle = _cloudpickle()
        inside = f".fsub/lib-{__version__}-{cloudpickle.__version__}"
        path = os.path.join(base, inside)
        if not os.path.exists(path):
            new = f"{path}.{os.getpid()}"
            os.makedirs(new, mode=0o700)
            with open(os.path.join(new, "run.py"), "wb") as f:
                f.write(_source())
            shutil.copytree(os.path.dirname(cloudpickle.__file__), os.path.join(new, "cloudpickle"), ignore=shutil.ignore_patterns("__pycache__"))
            try:
                os.rename(new, path)
            except OSError:  # another was faster
                shutil.rmtree(new)
        _own(path, stat.S_ISDIR)
        return inside

    def _write(self, fn: Callable[..., Any], calls: Sequence[Any]) -> None:
        """Writes a line of JSON, the places of the blobs as 64-bit numbers, then the blobs: the function and each call."""
        cloudpickle = _cloudpickle()
        here = os.getcwd()
        head = {"python": list(sys.version_info[:2]), "calls": len(calls), "path": [here] + [p for p in sys.path if p and p != here]}
        name = os.path.join(self.dir, "in", "calls")
        with open(name + ".new", "wb") as f:
            f.write(json.dumps(head).encode() + b"\n")
            table = f.tell()
            f.write(bytes(8 * (len(calls) + 2)))
            places = [0]
            for value in self._values(fn, calls):
                places.append(places[-1] + f.write(cloudpickle.dumps(value)))
            f.seek(table)
            f.write(struct.pack(f"<{len(places)}Q", *places))
        os.replace(name + ".new", name)

    @staticmethod
    def _values(fn: Callable[..., Any], calls: Sequence[Any]) -> Any:
        yield fn
        for args in calls:
            yield tuple(args), {}

    def loads(self, job: Job) -> None:
        """Has the job's result be what the function has returned."""
        if isinstance(job, Array):
            job._load_task = self._of_task
            job._load = functools.partial(_all, job)
        else:
            job._load = functools.partial(self._of, job, 0)

    def _of_task(self, task: Job) -> Any:
        return self._of(task, task.task or 0)

    def _of(self, job: Job, index: int) -> Any:
        """What has come of one call."""
        end = job.end
        assert end is not None
        path = os.path.join(self.dir, "out", str(index))
        text = self._read(path, end)
        if text is None:
            raise failed(job, self._log(job, index))
        good, value, trace = pickle.loads(text)
        self._forget(path)
        if good:
            return value
        if isinstance(value, BaseException):
            raise value from RemoteTraceback(trace)
        raise failed(job, trace)

    def _read(self, path: str, end: End) -> Any:
        """The bytes of a result; None: there is none, and the job has failed."""
        until = time.monotonic() + (LATE if end.state == "COMPLETED" else 1.0 if end.exit_code == 1 else 0.0)
        while True:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                break
            except FileNotFoundError:
                if time.monotonic() > until:
                    if end.state == "COMPLETED":
                        raise FsubError(f"the job has left no result at {path}") from None
                    return None
                time.sleep(0.05)
                os.listdir(os.path.dirname(path))  # a network file system looks again
        with open(fd, "rb") as f:
            _check(os.fstat(fd), path, stat.S_ISREG)
            return f.read()

    def _log(self, job: Job, index: int) -> str:
        """The end of what the job has written, for people."""
        name = os.path.join(self.dir, f"log-{index if job.task is not None else job.id}.txt")
        try:
            with open(name, encoding="utf-8", errors="replace") as f:
                return "its output ends:\n" + "".join(f.readlines()[-10:])
        except OSError:
            return ""

    def _forget(self, path: str) -> None:
        """Removes a result that was read, and the directory with the last."""
        try:
            os.unlink(path)
        except OSError:
            pass
        self._left -= 1
        if self._left == 0:
            shutil.rmtree(self.dir, ignore_errors=True)


def _all(array: Array) -> List[Any]:
    return [task.result() for task in array.tasks]


def _source() -> bytes:
    import pkgutil

    text = pkgutil.get_data("fsub_client", "_worker.py")
    assert text is not None
    return text


def _own(path: str, kind: Callable[[int], bool]) -> None:
    _check(os.lstat(path), path, kind)


def _check(st: os.stat_result, path: str, kind: Callable[[int], bool]) -> None:
    """Refuses what is not the user's own: who could write it could run code here."""
    if not kind(st.st_mode) or st.st_uid != os.geteuid() or st.st_mode & 0o022:
        raise FsubError(f"{path} is not a file of your own that nobody else can write", detail="its pickle is not loaded")
