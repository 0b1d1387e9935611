# QToolKit, which drives Slurm for jobflow-remote: "scontrol show job -o" for one job, squeue for many, "scancel -v".
from importlib.metadata import version as number

from qtoolkit.core.data_objects import CancelStatus, QState, SubmissionStatus
from qtoolkit.host.local import LocalHost
from qtoolkit.io.slurm import SlurmIO
from qtoolkit.manager import QueueManager

from show import shown, until, version

version("qtoolkit", number("qtoolkit"))
queue = QueueManager(SlurmIO(), LocalHost())


def submit(commands, **options):
    result = queue.submit(commands, options={"time": "00:05:00", "mem_per_cpu": 100, "job_name": "q", **options}, work_dir=".")
    assert result.status == SubmissionStatus.SUCCESSFUL, result
    return result.job_id


def ends(job, *states):
    def state():
        j = queue.get_job(job)
        return j is not None and j.state in states and j

    return until(state, "%s is %s" % (job, states))


good = submit(["echo hello"])
shown("submit")
job = ends(good, QState.DONE)
assert job.name == "q" and job.queue_name == "main" and job.info.time_limit == 300, job
shown("poll")
ends(submit(["exit 3"]), QState.FAILED)
shown("fail")
slow = submit(["sleep 600"])
ends(slow, QState.RUNNING)
listed = queue.get_jobs_list(jobs=[slow])
assert [j.job_id for j in listed] == [slow] and listed[0].state == QState.RUNNING, listed
shown("queue")
result = queue.cancel(slow)
assert result.status == CancelStatus.SUCCESSFUL and result.job_id == slow, result
until(lambda: not queue.get_jobs_list(jobs=[slow]), "slow is cancelled")
shown("cancel")
