from __future__ import annotations

import concurrent.futures
import time
from datetime import timedelta
from pathlib import Path

import pytest

import fsub_client as fsub


def test_script(client: fsub.Client, here: Path) -> None:
    (here / "x.sh").write_text('#!/bin/sh\n#SBATCH --output=out --time=5\necho "$1" "$SLURM_JOB_NAME" $SLURM_CPUS_PER_TASK\n')
    job = client.submit("x.sh", "two words", cpus_per_task=2, fed_sites="near")
    end = job.result(60)
    assert (end.state, end.exit_code, end.site) == ("COMPLETED", 0, "near")
    assert (here / "out").read_text() == "two words x.sh 2\n"
    assert job.done() and not job.cancelled() and job.exception() is None
    assert list(job.logs()) == ["two words x.sh 2"]
    assert job.cost >= 0
    record = job.record()
    assert record.job is not None and record.job.state == "COMPLETED" and record.job.end_time is not None
    assert "near" in job.explain().summary
    assert "COMPLETED" in job._repr_html_()


@pytest.mark.parametrize("what", [["sh", "-c", "echo 'a b'; exit 3"], "#!/bin/sh\necho 'a b'\nexit 3\n", None])
def test_other_forms(client: fsub.Client, what: object) -> None:
    options = {"wrap": "echo 'a b'; exit 3"} if what is None else {}
    job = client.submit(what, output="out", time="90s", **options)  # type: ignore[call-overload]
    with pytest.raises(fsub.JobFailed) as failed:
        job.result(60)
    assert failed.value.end.exit_code == 3 and failed.value.job is job and "exit code 3" in str(failed.value)
    assert list(job.logs()) == ["a b"]
    assert job.wait(1).state == "FAILED"


def test_refusals(client: fsub.Client) -> None:
    with pytest.raises(fsub.Refused, match="no-such-option"):
        client.submit(wrap="true", no_such_option=1)
    with pytest.raises(fsub.Refused) as refused:
        client.submit(wrap="true", nodes=64)
    assert refused.value.number and "node configuration" in refused.value.text and refused.value.detail
    with pytest.raises(fsub.Gone):
        client.job(4_000_000_000)
    with pytest.raises(fsub.FsubError, match="No such file"):
        client.submit("no-such-script.sh")


def test_array(client: fsub.Client) -> None:
    array = client.submit("#!/bin/sh\nexit $((SLURM_ARRAY_TASK_ID == 3))\n", array="1-5", output="/dev/null")
    ended = {job.task: job.wait(1).state for job in fsub.as_completed(array, timeout=60)}
    assert ended == {1: "COMPLETED", 2: "COMPLETED", 3: "FAILED", 4: "COMPLETED", 5: "COMPLETED"}
    with pytest.raises(fsub.JobFailed, match="_3|FAILED"):
        array.result(60)
    assert array[2].ref == f"{array.id}_3" and len(array) == 5
    again = client.job(array.id)
    assert isinstance(again, fsub.Array) and [t.wait(10).exit_code for t in again] == [0, 0, 1, 0, 0]
    assert client.job(f"{array.id}_3").wait(10).state == "FAILED"
    assert "4 COMPLETED" in array._repr_html_()


def test_directive_array(client: fsub.Client) -> None:
    array = client.submit("#!/bin/sh\n#SBATCH -a 0-1 -o /dev/null\ntrue\n")
    assert isinstance(array, fsub.Array)
    done, left = concurrent.futures.wait(array.tasks, 60)
    assert len(done) == 2 and not left
    assert sorted(t.task or 0 for t in concurrent.futures.as_completed(array.tasks)) == [0, 1]


def test_cancel(client: fsub.Client) -> None:
    job = client.submit(wrap="sleep 1000", hold=True, output="/dev/null")
    assert not job.done() and job.forecast().start_p50 is None
    assert job.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        job.result(60)
    assert job.cancelled() and not job.cancel()
    running = client.submit(wrap="sleep 1000", output="/dev/null")
    while not running.running():
        assert not running.done()
        time.sleep(0.05)
    assert running.cancel() and running.wait(60).state == "CANCELLED"
    with pytest.raises(concurrent.futures.TimeoutError):
        client.submit(wrap="true", hold=True, output="/dev/null").result(0.1)


def test_dependency(client: fsub.Client, here: Path) -> None:
    first = client.submit(wrap="echo 1 >>out", hold=True, output="/dev/null", time=timedelta(minutes=3))
    second = client.submit(wrap="echo 2 >>out", dependency=[first], output="/dev/null")
    assert client.release([first]) == [None]
    assert second.result(60).state == "COMPLETED" and (here / "out").read_text() == "1\n2\n"


def test_key(client: fsub.Client) -> None:
    a = client.submit(wrap="true", key=f"k{time.time_ns()}", output="/dev/null")
    assert a.result(60).state == "COMPLETED"
    key = f"l{time.time_ns()}"
    jobs = [client.submit(wrap="true", key=key, output="/dev/null") for _ in range(3)]
    assert len({j.id for j in jobs}) == 1
    assert [j.result(60).state for j in jobs] == ["COMPLETED"] * 3


def test_group(client: fsub.Client) -> None:
    name = f"g{time.time_ns()}"
    with client.group(name) as group:
        group.submit(wrap="true", output="/dev/null")
        group.submit(wrap="true", array="0-3", output="/dev/null")
    assert group.counts() == {"COMPLETED": 5}
    assert "5 COMPLETED" in group._repr_html_()
    group.wait(10)
    held = client.group(name)
    job = held.submit(wrap="true", hold=True, output="/dev/null")
    with pytest.raises(concurrent.futures.TimeoutError):
        held.wait(0.2)
    assert [line.job_id for line in client.jobs(f"group={name}")] == [job.id]
    held.cancel()
    held.wait(60)
    assert job.wait(60).state == "CANCELLED"
    with pytest.raises(ZeroDivisionError):
        with client.group(name, cancel=True) as broken:
            left = broken.submit(wrap="true", hold=True, output="/dev/null")
            1 / 0
    assert left.wait(60).state == "CANCELLED"


def test_follow_logs(client: fsub.Client) -> None:
    job = client.submit("#!/bin/sh\nfor i in 1 2 3; do echo line $i; sleep 0.3; done\nprintf end\n")
    assert list(job.logs(follow=True)) == ["line 1", "line 2", "line 3", "end"]


def test_lists(client: fsub.Client) -> None:
    jobs = [client.submit(wrap="true", hold=True, output="/dev/null") for _ in range(3)]
    assert {j.id for j in jobs} <= {line.job_id for line in client.jobs("state=PENDING")}
    assert any(c.state == "PENDING" and c.tasks >= 3 for c in client.summary())
    assert [s.name for s in client.sites()] == ["far", "near"] and not client.sites()[0].extra
    assert "to start at" in client.test(wrap="true").message
    assert client.cancel(jobs) == [None, None, None]
