from __future__ import annotations

import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import fsub_client as fsub
from fsub_client._http import Http

pytest.importorskip("cloudpickle")


def divide(a: float, b: float) -> float:
    return a / b  # the line of the traceback


def where(path: str) -> tuple[str, bool]:
    return os.environ["SLURM_CLUSTER_NAME"], os.path.exists(path)


def test_function(client: fsub.Client, here: Path) -> None:
    assert client.submit(divide, 6, 3, cpus_per_task=1).result(60) == 2
    assert client.submit(lambda: {"a": (1, "ü")}).result(60) == {"a": (1, "ü")}
    assert client.submit(math.factorial, 5).result(60) == 120
    assert [p.name for p in (here / ".fsub").iterdir() if not p.name.startswith("lib-")] == []


@pytest.mark.parametrize("site", ["near", "far"])
def test_map(client: fsub.Client, here: Path, site: str) -> None:
    futures = client.map(divide, [6, 1, 5], [3, 0, 2], fed_sites=site)
    done = {f.task: f for f in fsub.as_completed(futures, timeout=120)}
    assert (done[0].result(), done[2].result()) == (2, 2.5)
    with pytest.raises(ZeroDivisionError) as failed:
        done[1].result()
    remote = str(failed.value.__cause__)
    assert f'File "{__file__}", line {divide.__code__.co_firstlineno + 1}, in divide' in remote
    assert done[1].end is not None and done[1].end.state == "FAILED" and done[1].end.site == site
    with pytest.raises(ZeroDivisionError):
        futures.result()
    (here / "seen").write_text("")
    assert client.submit(where, str(here / "seen"), fed_sites=site).result(120)[0] == site


def test_executor() -> None:
    with fsub.Executor(cpus_per_task=1) as executor:
        assert executor.submit(divide, 1, b=4).result(60) == 0.25
        assert list(executor.map(pow, [2, 3], [3, 2], timeout=60)) == [8, 9]
        held = fsub.Executor(executor.client, hold=True)
        waiting = held.submit(divide, 1, 1)
        held.shutdown(cancel_futures=True)
        assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        executor.submit(divide, 1, 1)


def test_executor_key() -> None:
    """The calls of an Executor have keys of their own, and a program that starts again gets the same jobs."""
    runs = []
    for _ in range(2):
        executor = fsub.Executor(hold=True, key="again")
        jobs = [executor.submit(divide, i, 1) for i in range(2)]
        runs.append([j.id for j in jobs])
    executor.client.cancel(jobs)
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]


def test_executor_sends_together(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that come while others are being sent are one request, in order; one that is refused spoils no other."""
    posted = []
    whole = Http.whole

    def slow(self: Http, method: str, path: str, *args: Any, **more: Any) -> Any:
        if path in ("/fed/v1/job", "/fed/v1/jobs/submit"):
            posted.append(path)
            if len(posted) == 1:
                go.wait(30)
        return whole(self, method, path, *args, **more)

    monkeypatch.setattr(Http, "whole", slow)
    go = threading.Event()
    executor = fsub.Executor(hold=True)
    try:
        jobs = [executor.submit(divide, i, 1) for i in range(20)]
        assert "being submitted" in repr(jobs[19])
        go.set()
        assert [j.id for j in jobs] == list(range(jobs[0].id, jobs[0].id + 20))
        assert len(posted) < 5 and posted[-1] == "/fed/v1/jobs/submit"
        go.clear()
        del posted[:]
        mixed = [executor.submit(divide, 1, 1)]
        for memory in ("1G", "lots", "1G"):
            executor._options["mem"] = memory
            mixed.append(executor.submit(divide, 1, 1))
        go.set()
        with pytest.raises(fsub.Refused, match="(?i)mem"):
            mixed[2].result(60)
        with pytest.raises(fsub.Refused):
            mixed[2].id
        assert not mixed[2].cancel() and mixed[0].id < mixed[1].id < mixed[3].id
        executor.client.release(mixed[:2] + mixed[3:])
        assert [mixed[i].result(60) for i in (0, 1, 3)] == [1, 1, 1]
    finally:
        go.set()
        executor.shutdown(cancel_futures=True)
    assert all(j.cancelled() for j in jobs)


def test_executor_sends_arrays_together(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With array= each call is an array, each task of which runs it; those that come while others are being sent are one request."""
    posted = []
    whole = Http.whole

    def slow(self: Http, method: str, path: str, *args: Any, **more: Any) -> Any:
        if path in ("/fed/v1/job", "/fed/v1/jobs/submit"):
            posted.append(path)
            if len(posted) == 1:
                go.wait(30)
        return whole(self, method, path, *args, **more)

    monkeypatch.setattr(Http, "whole", slow)
    go = threading.Event()
    with fsub.Executor(array="0-2:2") as executor:
        try:
            jobs = [executor.submit(divide, i, 1) for i in range(6)]
        finally:
            go.set()
        assert [j.result(120) for j in jobs] == [[i, i] for i in range(6)]
        assert len({j.id for j in jobs}) == 6 and [t.task for t in jobs[5]] == [0, 2]
    assert len(posted) <= 2 and "/fed/v1/jobs/submit" in posted  # the first request may have had some of them


def test_bad_results(client: fsub.Client) -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        client.submit(lambda: sys._getframe()).result(60)
    with pytest.raises(SystemExit):
        client.submit(sys.exit, 5).result(60)
    job = client.submit(os.kill, 0, 9)  # its process group: there is no result
    with pytest.raises(fsub.JobFailed):
        job.result(60)


def test_foreign_pickle(client: fsub.Client, here: Path) -> None:
    """What others could have written is not loaded."""
    job = client.submit(divide, 1, 1)
    job.wait(60)
    (out,) = here.glob(".fsub/*/out/0")
    out.chmod(0o666)
    with pytest.raises(fsub.FsubError, match="not a file of your own"):
        job.result()
    out.unlink()
    os.symlink("/etc/hostname", out)
    again = client.job(job.id)
    assert again.result(60).state == "COMPLETED"
