"""What PSI/J's own tests do not ask of an executor."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import List

import psij
import pytest

PATIENCE = timedelta(minutes=2)


@pytest.fixture
def executor() -> psij.JobExecutor:
    return psij.JobExecutor.get_instance("fsub")


def test_states(executor: psij.JobExecutor, tmp_path: Path) -> None:
    seen: List[psij.JobState] = []
    executor.set_job_status_callback(lambda job, status: seen.append(status.state))
    out = tmp_path / "out"
    job = psij.Job(psij.JobSpec("/bin/sh", ["-c", 'wc -l <"$PSIJ_NODEFILE"; echo $FSUB_GROUP; exit 4'], stdout_path=out, directory=tmp_path))
    assert job.spec is not None
    job.spec.resources = psij.ResourceSpecV1(process_count=2, memory=200 << 20)
    job.spec.attributes = psij.JobAttributes(duration=timedelta(minutes=3), custom_attributes={"fsub.group": "from/psij"})
    executor.submit(job)
    status = job.wait(PATIENCE)
    assert status is not None and (status.state, status.exit_code) == (psij.JobState.FAILED, 4)
    assert seen == [psij.JobState.QUEUED, psij.JobState.ACTIVE, psij.JobState.FAILED]
    assert out.read_text().split() == ["2", "from/psij"]


def test_cancel_and_attach(executor: psij.JobExecutor) -> None:
    job = psij.Job(psij.JobSpec("/bin/sleep", ["1000"], attributes=psij.JobAttributes(custom_attributes={"slurm.hold": True})))
    executor.submit(job)
    assert job.native_id is not None and job.native_id in executor.list()
    other = psij.Job()
    psij.JobExecutor.get_instance("fsub").attach(other, job.native_id)
    job.cancel()
    assert [j.wait(PATIENCE).state for j in (job, other)] == [psij.JobState.CANCELED] * 2
    job.cancel()


def test_refused(executor: psij.JobExecutor) -> None:
    spec = psij.JobSpec("/bin/date", attributes=psij.JobAttributes(custom_attributes={"fsub.no-such": 1}))
    with pytest.raises(psij.InvalidJobException, match="no-such"):
        executor.submit(psij.Job(spec))
    begun = time.monotonic()
    with pytest.raises(psij.SubmitException):
        executor.attach(psij.Job(), "4000000000")
    assert time.monotonic() - begun < 30
