# TorchX: a heterogeneous job with a component per replica; state from sacct's default columns, logs by the job's ID, retries by
# "scontrol requeue" from within the job.
import logging

from torchx.runner import get_runner
from torchx.schedulers.api import Stream
from torchx.specs import AppDef, AppState, Resource, Role
from torchx.version import __version__

from show import command, shown, until, version

logging.disable(logging.WARNING)
version("torchx", __version__)
runner = get_runner("bed")


def run(script, replicas=1, retries=0):
    role = Role(name="sh", image="", entrypoint="sh", args=["-c", script], num_replicas=replicas, max_retries=retries,
                resource=Resource(cpu=1, gpu=0, memMB=100))
    return runner.run(AppDef(name="app", roles=[role]), "slurm", {"time": "5"})


def ends(handle, state, seconds=90):
    status = until(lambda: (s := runner.status(handle)) and s.is_terminal() and s, "%s ends" % handle, seconds)
    assert status.state == state, status
    return status


def log(handle, replica):
    return "".join(runner.log_lines(handle, "sh", replica, streams=Stream.STDOUT)).strip()


one = run("echo hello $SLURM_JOB_ID")
shown("submit")
ends(one, AppState.SUCCEEDED)
assert log(one, 0) == "hello " + one.split("/")[-1], log(one, 0)
shown("poll")
ends(run("exit 3"), AppState.FAILED)
shown("fail")

het = run("echo component $SLURM_HET_GROUP_ID$SLURM_PROCID of $SLURM_JOB_ID", replicas=2)
status = ends(het, AppState.SUCCEEDED)
assert [r.id for r in status.roles[0].replicas] == [0, 1], status
assert all(log(het, k) for k in (0, 1)), [log(het, k) for k in (0, 1)]
shown("het")

again = run("test $SLURM_RESTART_COUNT", retries=1)
ends(again, AppState.SUCCEEDED, 180)
shown("requeue")

slow = run("sleep 600")
number = slow.split("/")[-1]
until(lambda: runner.status(slow).state == AppState.RUNNING, "it runs")
runner.cancel(slow)
# TorchX itself does not know the words "CANCELLED by UID" that sacct has
until(lambda: command("sacct", "-X", "-n", "-P", "-o", "State", "-j", number).startswith("CANCELLED"), "it is cancelled")
shown("cancel")
