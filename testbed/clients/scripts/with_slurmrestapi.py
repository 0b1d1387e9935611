# slurmrestapi: a client of slurmrestd that was made from its OpenAPI document, with types for all that it reads.
import getpass
import os
from importlib.metadata import version as number

import slurmrestapi as rest

from show import command, forwarder, shown, until, version

version("slurmrestapi", number("slurmrestapi"))


if "FSUB_SOCKET" in os.environ:
    config = rest.Configuration(host=forwarder(os.environ["FSUB_SOCKET"]))
else:  # a site's own
    token = command("scontrol", "token").strip().removeprefix("SLURM_JWT=")
    config = rest.Configuration(host=os.environ["SLURMRESTD"], api_key={"user": getpass.getuser(), "token": token})
client = rest.ApiClient(config)
slurm, slurmdb = rest.SlurmApi(client), rest.SlurmdbApi(client)


def submit(script, **more):
    job = rest.V0042JobDescMsg(
        script="#!/bin/sh\n" + script + "\n", name="rest", partition="main", current_working_directory=os.getcwd(), environment=["PATH=/bin:/usr/bin"],
        memory_per_node=rest.V0042Uint64NoValStruct(set=True, number=100), time_limit=rest.V0042Uint32NoValStruct(set=True, number=5), **more)
    return slurm.slurm_v0042_post_job_submit(rest.V0042JobSubmitReq(job=job)).job_id


def state(job):
    return slurm.slurm_v0042_get_job(str(job)).jobs[0].job_state[0]


assert slurm.slurm_v0042_get_ping().pings[0].pinged == "UP"
shown("ping")
nodes = slurm.slurm_v0042_get_nodes().nodes
partitions = slurm.slurm_v0042_get_partitions().partitions
assert nodes and "main" in [p.name for p in partitions] and nodes[0].cpus > 0
shown("nodes")
job = submit("echo hello")
shown("submit")
until(lambda: state(job) == "COMPLETED", "job ends")
assert job in [j.job_id for j in slurm.slurm_v0042_get_jobs().jobs]
shown("poll")
bad = submit("exit 3")
until(lambda: state(bad) == "FAILED", "job fails")
assert slurm.slurm_v0042_get_job(str(bad)).jobs[0].exit_code.return_code.number == 3
shown("fail")
array = submit("sleep 1", array="0-2")
until(lambda: all(j.job_state[0] == "COMPLETED" for j in slurm.slurm_v0042_get_job(str(array)).jobs), "tasks end")
assert sorted(j.array_task_id.number for j in slurm.slurm_v0042_get_job(str(array)).jobs) == [0, 1, 2]
shown("array")
slow = submit("sleep 600")
until(lambda: state(slow) == "RUNNING", "slow runs")
slurm.slurm_v0042_post_job(str(slow), rest.V0042JobDescMsg(comment="changed"))
assert slurm.slurm_v0042_get_job(str(slow)).jobs[0].comment == "changed"
shown("update")
slurm.slurm_v0042_delete_job(str(slow))
until(lambda: state(slow) == "CANCELLED", "slow is cancelled")
shown("cancel")
until(lambda: [j.state.current[0] for j in slurmdb.slurmdb_v0042_get_job(str(slow)).jobs] == ["CANCELLED"], "account")
shown("account")
