# Toil: a workflow whose jobs are jobs of Slurm; states and exit codes by sacct, running ones by squeue.
import os

from toil.common import Toil
from toil.job import Job
from toil.leader import FailedJobsException
from toil.version import baseVersion

from show import shown, version


def number(job, n):
    return n


def total(job, numbers):
    return sum(numbers)


def tree(job):
    return job.addFollowOnJobFn(total, [job.addChildJobFn(number, n).rv() for n in range(4)]).rv()


def fail(job):
    raise RuntimeError("on purpose")


def run(function, store):
    options = Job.Runner.getDefaultOptions(os.path.abspath(store))
    options.batchSystem, options.retryCount, options.clean, options.logLevel = "slurm", 0, "always", "WARNING"
    options.defaultMemory, options.defaultCores, options.defaultDisk, options.statePollingWait = "100M", 1, "10M", 1
    options.disableCaching, options.workDir, options.coordinationDir = True, "/tmp", "/tmp"
    with Toil(options) as toil:
        return toil.start(Job.wrapJobFn(function))


if __name__ == "__main__":  # jobs read this file as well
    version("toil", baseVersion)
    assert run(tree, "tree.store") == 6
    shown("submit")
    shown("poll")
    shown("depend")
    try:
        run(fail, "fail.store")
        raise SystemExit("a job that failed went unnoticed")
    except FailedJobsException:
        shown("fail")
