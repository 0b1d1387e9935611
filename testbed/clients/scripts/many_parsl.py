# many_parsl.py TASKS: a workflow of many tasks by Parsl, in two pilot jobs.
import os
import sys

import parsl
from parsl import bash_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@bash_app
def one(path):
    return f": >{path}"


os.mkdir("out")
out = os.path.abspath("out")
provider = SlurmProvider(nodes_per_block=1, cores_per_node=1, init_blocks=2, max_blocks=2, walltime="00:30:00", exclusive=False, launcher=SrunLauncher())
executor = HighThroughputExecutor(label="bed", provider=provider, max_workers_per_node=1, encrypted=False)
with parsl.load(Config(executors=[executor], strategy="none", usage_tracking=0)):
    assert all(f.result() == 0 for f in [one(f"{out}/{n}") for n in range(int(sys.argv[1]))])
