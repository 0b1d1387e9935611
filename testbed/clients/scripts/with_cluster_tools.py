# cluster_tools: pickled calls as jobs and arrays, squeue while they run, scontrol show job and sacct of one that fails, and limits from scontrol show config.
import getpass
import math
import os
import sys
from importlib.metadata import version as number

sys.modules.setdefault("pytest", None)  # or it looks at the queue once a minute
import cluster_tools
from cluster_tools.schedulers.cluster_executor import RemoteException
from cluster_tools.schedulers.slurm import SlurmExecutor

from show import shown, version

version("cluster-tools", number("cluster-tools"))
os.environ["USER"] = getpass.getuser()
with cluster_tools.get_executor("slurm", job_resources={"mem": "200M", "time": "00:05:00", "partition": "main"}, cfut_dir="cfut") as executor:
    assert executor.submit(math.factorial, 5).result(timeout=120) == 120
    shown("submit")
    assert list(executor.map(math.factorial, range(5))) == [1, 1, 2, 6, 24]
    shown("map")
    try:
        executor.submit(math.factorial, -1).result(timeout=120)
        raise SystemExit("a call that failed gave a result")
    except RemoteException as e:
        assert "not defined for negative values" in str(e), e
    shown("fail")
    assert 1000 < SlurmExecutor.get_max_array_size() < 2**32
    assert SlurmExecutor.get_number_of_submitted_jobs() == 0
    shown("limits")
