# dask-jobqueue: a cluster whose workers are jobs. They call back to this program, at the name that the sites have for this machine.
import os

import dask_jobqueue
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

from show import HERE, command, shown, until, version

version("dask-jobqueue", dask_jobqueue.__version__)
cluster = SLURMCluster(
    cores=1, processes=1, memory="300MiB", walltime="00:05:00", local_directory="/tmp", log_directory="log",
    worker_extra_args=["--interface", "eth0"],
    scheduler_options={"host": "0.0.0.0", "port": 8786, "contact_address": "tcp://%s:8786" % HERE, "dashboard_address": None})
cluster.scale(jobs=2)
client = Client("tcp://127.0.0.1:8786")
client.wait_for_workers(2, timeout=120)
shown("submit")
assert client.submit(sum, range(10)).result(timeout=60) == 45
assert client.gather(client.map(lambda x: x * x, range(20))) == [x * x for x in range(20)]
shown("work")
ids = [w.job_id for w in cluster.workers.values()]
states = command("squeue", "-h", "-o", "%i %T", "-j", ",".join(ids)).splitlines()
assert sorted(states) == sorted(i + " RUNNING" for i in ids), states
shown("poll")


def jobs_left():
    return command("squeue", "-h", "--me", "-o", "%i %T").splitlines()


client.run(lambda: os.kill(os.getpid(), 9), workers=[next(iter(client.scheduler_info()["workers"]))], on_error="ignore")
until(lambda: len(cluster.scheduler.workers) < 2, "the scheduler misses a worker that was killed")
shown("fail")

cluster.scale(0)
until(lambda: not jobs_left(), "no job is left")
states = set(command("sacct", "-X", "-n", "-P", "-o", "State", "-j", ",".join(ids)).splitlines())
assert any(s.startswith("CANCELLED") for s in states), states
shown("cancel")
client.close()
cluster.close()
