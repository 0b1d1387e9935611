# submitit: the submit side writes a file by the ID that sbatch printed, the job reads it by its own.
import sys
import time

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError

from show import shown, version


def add(a, b):
    return a + b


def fail(text):
    raise ValueError(text)


def array_id():
    import os

    return os.environ["SLURM_ARRAY_JOB_ID"] + "_" + os.environ["SLURM_ARRAY_TASK_ID"]


version("submitit", submitit.__version__)
executor = submitit.SlurmExecutor(folder="log", python=sys.executable)
executor.update_parameters(time=5, mem="100M", use_srun=False)

job = executor.submit(add, 2, 3)
shown("submit")
assert job.result() == 5, job.stderr()
job.watcher.update()
assert job.done() and job.state == "COMPLETED", job.state
shown("poll")

bad = executor.submit(fail, "on purpose")
try:
    bad.result()
    raise SystemExit("a job that failed gave a result")
except FailedJobError as e:
    assert "on purpose" in str(e), e
shown("fail")

slow = executor.submit(time.sleep, 600)
while slow.state != "RUNNING":
    time.sleep(1)
    slow.watcher.update()
slow.cancel(check=False)
while not slow.done(force_check=True):
    time.sleep(1)
assert slow.state.startswith("CANCELLED"), slow.state
try:
    slow.result()
    raise SystemExit("a cancelled job gave a result")
except UncompletedJobError:
    pass
shown("cancel")

executor.update_parameters(array_parallelism=2)
jobs = executor.map_array(add, range(5), range(5))
assert [j.result() for j in jobs] == [0, 2, 4, 6, 8]
assert len({j.job_id.split("_")[0] for j in jobs}) == 1, jobs
with executor.batch():
    ids = [executor.submit(array_id) for _ in range(2)]
assert [j.result() for j in ids] == [j.job_id for j in ids]
shown("array")

executor.update_parameters(additional_parameters={"dependency": "afterok:" + job.job_id}, use_srun=True)
after = executor.submit(add, 1, 1)
assert after.result() == 2
shown("depend")
