"""pytest plug-in: PSI/J looks at Slurm's queue every second, and not every 30."""
from psij.executors.batch.slurm import SlurmExecutorConfig, SlurmJobExecutor

init = SlurmJobExecutor.__init__


def quick(self, url=None, config=None):
    init(self, url, config or SlurmExecutorConfig(queue_polling_interval=1, initial_queue_polling_delay=1))


SlurmJobExecutor.__init__ = quick
