# Parsl: a pilot job per block, whose workers call back to this program; blocks are followed by squeue or sacct.
import parsl
from parsl import bash_app, python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.jobs.states import JobState
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider

from show import command, shown, until, version

version("parsl", parsl.__version__)
provider = SlurmProvider(nodes_per_block=1, cores_per_node=1, init_blocks=1, max_blocks=1, walltime="00:05:00", exclusive=False, launcher=SrunLauncher())


@python_app
def square(x):
    return x * x


@python_app
def fail():
    raise ValueError("on purpose")


@bash_app
def where(stdout="where.txt"):
    return "echo $SLURM_JOB_ID"


executor = HighThroughputExecutor(label="bed", provider=provider, max_workers_per_node=1, encrypted=False)
with parsl.load(Config(executors=[executor], strategy="none", usage_tracking=0)):
    assert [square(i).result(timeout=120) for i in range(4)] == [0, 1, 4, 9]
    shown("submit")
    where().result(timeout=60)
    pilot = open("where.txt").read().strip()
    assert provider.status([pilot])[0].state == JobState.RUNNING, provider.status([pilot])
    shown("poll")
    try:
        fail().result(timeout=60)
        raise SystemExit("a task that failed gave a result")
    except ValueError:
        pass
    executor.scale_in(1)
    until(lambda: command("squeue", "-h", "--me") == "", "the pilot is cancelled")
    shown("cancel")

bad = provider.submit("exit 3", 1, "bad")
until(lambda: provider.status([bad])[0].state == JobState.FAILED, "a block that fails is seen as failed")
shown("fail")
good = provider.submit("true", 1, "good")
until(lambda: provider.status([good])[0].state == JobState.COMPLETED, "a block that ends is seen as completed")
