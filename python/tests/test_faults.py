"""Lost answers, a daemon that is killed, forks, a log that no longer goes back."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import List

import pytest

import fsub_client as fsub


class Cutting:
    """A proxy that passes requests on and, for the first of each kind, not the answer."""

    def __init__(self, path: Path, cuts: int) -> None:
        self.path, self.left = str(path), cuts
        self.seen: List[bytes] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(os.environ["FSUB_SOCKET"])
            threading.Thread(target=self.forward, args=(here, there), daemon=True).start()
            threading.Thread(target=self.back, args=(there, here), daemon=True).start()

    def forward(self, here: socket.socket, there: socket.socket) -> None:
        try:
            while True:
                data = here.recv(1 << 16)
                if not data:
                    break
                if data.startswith(b"POST"):
                    self.seen.append(data.split(b"\r\n")[0])
                there.sendall(data)
        except OSError:
            pass
        there.close()

    def back(self, there: socket.socket, here: socket.socket) -> None:
        try:
            while True:
                data = there.recv(1 << 16)
                if not data:
                    break
                if b'"job_id":' in data and b'"event"' not in data and self.left:
                    self.left -= 1
                    break
                here.sendall(data)
        except OSError:
            pass
        here.shutdown(socket.SHUT_RDWR)
        there.close()


def test_lost_answer(here: Path) -> None:
    """A submission whose answer is lost is sent again, and is one job."""
    short = Path(f"/tmp/fsub-cut-{os.getpid()}")
    proxy = Cutting(short, 3)
    try:
        with fsub.Client(socket=str(short)) as client:
            name = f"lost{time.time_ns()}"
            job = client.submit(wrap="true", job_name=name, output="/dev/null")
            assert job.result(60).state == "COMPLETED"
            assert proxy.left == 0 and proxy.seen.count(b"POST /fed/v1/job HTTP/1.1") == 4
            found = [j.job_id for state in ("PENDING", "RUNNING", "COMPLETED") for j in client.jobs(f"name={name}", f"state={state}")]
            assert found == [job.id]
    finally:
        short.unlink()


def test_nobody_answers() -> None:
    with fsub.Client(socket="/nonexistent/socket", patience=0.3) as client:
        with pytest.raises(fsub.Unavailable, match="nothing was sent"):
            client.cancel([1])
        with pytest.raises(fsub.Unavailable, match="repeat it with key="):
            client.submit(wrap="true")


def test_killed_daemon(client: fsub.Client) -> None:
    """Each end is seen once while the daemon is killed again and again."""
    array = client.submit(wrap="sleep 0.2", array="0-39", output="/dev/null")
    seen: List[int] = []
    for n, task in enumerate(fsub.as_completed(array, timeout=240)):
        seen.append(task.task or 0)
        if n in (3, 17):
            os.kill(int(Path(os.environ["FSUB_TEST_PID"]).read_text()), signal.SIGKILL)
    assert sorted(seen) == list(range(40))
    assert array.result(60).state == "COMPLETED"


def test_trimmed_log(client: fsub.Client) -> None:
    """Where the log does not go back so far, the states are read once."""
    jobs = [client.submit(wrap="true", output="/dev/null", hold=True) for _ in range(2)]
    array = client.submit(wrap="true", output="/dev/null", array="0-2", hold=True)
    follower = client._follower
    with follower.lock:
        follower._mark = 10**12  # no log has come so far: the answer is 410
    follower._hang_up()
    assert client.release([*jobs, array]) == [None] * 3
    assert [j.result(60).state for j in jobs] == ["COMPLETED"] * 2
    assert [t.result(60).state for t in array] == ["COMPLETED"] * 3


def test_fork(client: fsub.Client) -> None:
    """The child goes on with the jobs of its parent, and disturbs nothing."""
    job = client.submit(wrap="true", hold=True, output="/dev/null")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            mine = client.submit(wrap="true", output="/dev/null")
            assert mine.result(60).state == "COMPLETED"
            assert client.release([job]) == [None] and job.result(60).state == "COMPLETED"
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert job.result(60).state == "COMPLETED"


def test_threads(client: fsub.Client) -> None:
    """Jobs of many threads, which end before their submitters know their numbers."""
    ends: List[str] = []

    def run() -> None:
        for _ in range(5):
            ends.append(client.submit(wrap="true", output="/dev/null").result(120).state)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert ends == ["COMPLETED"] * 20


def test_closed() -> None:
    client = fsub.Client()
    job = client.submit(wrap="true", hold=True, output="/dev/null")
    client.cancel([job])
    other = client.submit(wrap="true", hold=True, output="/dev/null")
    job.wait(60)
    threading.Timer(0.2, client.close).start()
    with pytest.raises(fsub.FsubError, match="closed"):
        other.result(60)
    with fsub.Client() as again:
        assert again.cancel([other.id]) == [None]
