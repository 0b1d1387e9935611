# PSI/J: its queue polling thread asks squeue for exactly three columns; attributes become directives.
from datetime import timedelta
from pathlib import Path

import psij
from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1

from show import shown, version

version("psij-python", psij.__version__)
config = psij.JobExecutorConfig()
executor = JobExecutor.get_instance("slurm", config=psij.executors.batch.slurm.SlurmExecutorConfig(queue_polling_interval=1, initial_queue_polling_delay=1))


def job(executable, *args, **more):
    attributes = JobAttributes(duration=timedelta(minutes=5), custom_attributes=more.pop("custom", None))
    spec = JobSpec(executable, list(args), directory=Path.cwd(), attributes=attributes, **more)
    j = Job(spec)
    executor.submit(j)
    return j


def end(j, state):
    status = j.wait(timeout=timedelta(seconds=120))
    assert status is not None and status.state == state, (j.native_id, status)
    return status


good = job("/bin/hostname", stdout_path=Path("out.txt").absolute())
shown("submit")
end(good, JobState.COMPLETED)
assert Path("out.txt").read_text().strip()
shown("poll")
bad = job("/bin/sh", "-c", "exit 7")
assert end(bad, JobState.FAILED).exit_code == 7
shown("fail")
slow = job("/bin/sleep", "600")
slow.wait(timeout=timedelta(seconds=60), target_states=[JobState.ACTIVE])
slow.cancel()
end(slow, JobState.CANCELED)
shown("cancel")
after = job("/bin/true", custom={"slurm.dependency": "afterok:" + good.native_id})
end(after, JobState.COMPLETED)
shown("depend")
wide = job("/bin/sh", "-c", "echo $SLURM_PROCID >> ranks", resources=ResourceSpecV1(node_count=2, processes_per_node=2), launcher="srun")
end(wide, JobState.COMPLETED)
assert sorted(Path("ranks").read_text().split()) == list("0123"), Path("ranks").read_text()
shown("srun")
