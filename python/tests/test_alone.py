"""What needs no daemon."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import fsub_client as fsub
from fsub_client import _options, _where
from fsub_client._errors import FsubError
from fsub_client._ranges import Ranges


def test_import_loads_nothing() -> None:
    """The package depends on nothing, and what is not used is not loaded."""
    code = "import sys; before = set(sys.modules); import fsub_client; print(sorted(m for m in set(sys.modules) - before if '.' not in m))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "asyncio" not in out and "http" not in out and "ssl" not in out, out


def test_names() -> None:
    for name in fsub.__all__:
        assert getattr(fsub, name) is not None
    with pytest.raises(AttributeError):
        fsub.no_such_name  # noqa: B018


def test_arguments() -> None:
    assert _options.arguments(
        {"gpus": 1, "time": "2h", "requeue": True, "hold": False, "qos": None, "fed_sites": ["a", "b"], "fed_stage_in": ["x", "y -> z"], "nice": -5, "time_min": timedelta(days=1, seconds=1)}
    ) == ["--gpus=1", "--time=0-02:00:00", "--requeue", "--fed-sites=a,b", "--fed-stage-in=x", "--fed-stage-in=y -> z", "--nice=-5", "--time-min=1-00:00:01"]
    assert _options.arguments({"time": "2:30:00", "time_min": 90}) == ["--time=2:30:00", "--time-min=90"]
    assert _options.arguments({"begin": datetime(2030, 1, 2, 3, 4)}) == ["--begin=2030-01-02T03:04:00"]
    assert _options.merged({"fed_stage_in": ["a"], "output": "x"}, {"fed_stage_in": "b", "output": "y"}) == {"fed_stage_in": ["a", "b"], "output": "y"}


def test_ranges() -> None:
    assert list(Ranges("0-9:3,20%4")) == [0, 3, 6, 9, 20] and len(Ranges("0-99999%5")) == 100000


def test_where(here: Path) -> None:
    env = {"HOME": str(here), "FSUB_CLIENT_FILE": str(here / "client.yaml")}
    assert _where.find({**env, "FSUB_SOCKET": "/a,tls://h:1#AB"}).addresses == (_where.Unix("/a"), _where.Server("h", 1, "ab"))
    assert _where.find({**env, "FSUB_SERVER": "h,[::1]:7", "FSUB_TOKEN": "t"}) == _where.Where((_where.Server("h", 6829), _where.Server("::1", 7)), "t")
    (here / "client.yaml").write_text("# all\nserver:\n  - login1#ff\n  - 'login2:7'\nca_file: /ca # here\nmunge: alpha\n")
    found = _where.find(env) if not Path(_where.DEFAULT_SOCKET).exists() else _where.find({**env, "FSUB_SERVER": "login1#ff,login2:7"})
    assert found.addresses == (_where.Server("login1", 6829, "ff"), _where.Server("login2", 7)) and found.ca_file == "/ca" and found.munge == "alpha"
    login = here / ".config/fsub/login.yaml"
    login.parent.mkdir(parents=True)
    login.write_text("server: [login1]\ntoken: secret\n")
    login.chmod(0o644)
    with pytest.raises(FsubError, match="others may read"):
        _where.find({**env, "FSUB_SERVER": "login1"})
    login.chmod(0o600)
    assert _where.find({**env, "FSUB_SERVER": "login1"}).token == "secret"
    assert _where.find({**env, "FSUB_SERVER": "elsewhere"}).token == ""  # a token goes to no other server


def test_models() -> None:
    event = fsub.models.Event.from_json({"event": "end", "job_id": 7, "time": "2026-11-29T17:00:01.123456789Z", "from": "RUNNING", "new": [1]})
    assert event.time == datetime(2026, 11, 29, 17, 0, 1, 123456, timezone.utc)
    assert (event.from_, event.array_task_id, event.extra) == ("RUNNING", None, {"new": [1]})
    with pytest.raises(AttributeError):
        event.job_id = 8  # type: ignore[misc]


def test_started() -> None:
    """What has come at once is told once, and yet nobody loses that a job ran."""
    client = fsub.Client(socket="/nowhere")
    for events, want in (
        ([{"event": "start", "state": "RUNNING", "site": "a"}, {"event": "end", "state": "FAILED", "exit_status": 256}], True),
        ([{"event": "end", "state": "FAILED", "exit_status": 9}], True),
        ([{"event": "bind", "state": "PENDING", "site": "a"}, {"event": "end", "state": "CANCELLED"}], False),
    ):
        job = fsub.Job(client, 1)
        for event in events:
            job.told(event)
        assert (job.over, job.started) == (True, want)
