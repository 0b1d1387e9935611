# simple_slurm: scripts on sbatch's standard input, the queue as one CSV, cancelling by scancel.
import datetime
import os
from importlib.metadata import version as number

from simple_slurm import Slurm
from simple_slurm.squeue import SlurmSqueueWrapper

from show import command, shown, until, version

version("simple-slurm", number("simple-slurm"))
BASE = dict(cpus_per_task=1, mem="100M", time=datetime.timedelta(minutes=5))


def state(job):
    return command("sacct", "-X", "-n", "-P", "-o", "State", "-j", str(job)).split("\n")


def ends(job, *want):
    until(lambda: all(s and s.split()[0] in want for s in state(job)[:-1]) and state(job)[:-1], "%s is %s" % (job, want))


good = Slurm(output="good-%j.out", **BASE).sbatch("echo hello")
shown("submit")
ends(good, "COMPLETED")
until(lambda: os.path.exists("good-%d.out" % good), "output")
assert open("good-%d.out" % good).read() == "hello\n"
shown("poll")
ends(Slurm(**BASE).sbatch("exit 3"), "FAILED")
shown("fail")
array = Slurm(array=range(2, 5), output=Slurm.JOB_ARRAY_MASTER_ID + "_" + Slurm.JOB_ARRAY_ID + ".txt", **BASE).sbatch("echo " + Slurm.SLURM_ARRAY_TASK_ID)
ends(array, "COMPLETED")
assert len(state(array)) == 4
assert [open("%d_%d.txt" % (array, t)).read() for t in (2, 3, 4)] == ["2\n", "3\n", "4\n"]
shown("array")
ends(Slurm(dependency=dict(afterok=good), **BASE).sbatch("true"), "COMPLETED")
shown("depend")
slow = Slurm(**BASE)
job = slow.sbatch("sleep 600")
until(lambda: state(job)[0] == "RUNNING", "slow runs")
slow.squeue.update_squeue()
assert str(job) in [str(k) for k in slow.squeue.jobs], slow.squeue.jobs
shown("queue")
slow.scancel.cancel_job(job)
ends(job, "CANCELLED")
shown("cancel")
