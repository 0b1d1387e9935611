# executorlib on pysqa: futures as jobs by pysqa's own template (--get-user-env=L), states by number from squeue's %A.
import subprocess
import os
from importlib.metadata import version as number

from executorlib import SlurmClusterExecutor
from pysqa import QueueAdapter

from show import command, shown, until, version

version("executorlib", number("executorlib") + " with pysqa " + number("pysqa"))


def plus(a, b):
    return a + b


def wrong():
    raise ValueError("on purpose")


RESOURCES = {"partition": "main", "cores": 1, "run_time_max": 300}
with SlurmClusterExecutor(cache_directory="cache", resource_dict=RESOURCES, refresh_rate=0.5) as exe:
    first = exe.submit(plus, 1, 2)
    shown("submit")
    assert first.result(timeout=300) == 3
    shown("poll")
    second = exe.submit(plus, exe.submit(plus, 3, 4), 5)
    assert second.result(timeout=300) == 12
    shown("depend")
    bad = exe.submit(wrong)
    try:
        bad.result(timeout=300)
    except ValueError as e:
        assert "on purpose" in str(e)
        shown("fail")

qa = QueueAdapter(queue_type="slurm")
job = qa.submit_job(job_name="slow", working_directory=os.path.abspath("slow"), cores=1, command="sleep 600", run_time_max=300, partition="main")
until(lambda: qa.get_status_of_job(process_id=job) == "running", "slow runs")
assert job in list(qa.get_status_of_my_jobs().jobid)
shown("queue")
qa.delete_job(process_id=job)
until(lambda: qa.get_status_of_job(process_id=job) is None, "slow is gone")
assert command("sacct", "-X", "-n", "-P", "-o", "State", "-j", str(job)).startswith("CANCELLED")
shown("cancel")
