"""pytest plug-in: submitit's own tests of its executor for this machine are run with the one for Slurm, the others as they are."""
from submitit import AutoExecutor, conftest
from submitit.local import local
from submitit.slurm.slurm import SlurmJob


class Executor(local.LocalExecutor):
    def __new__(cls, folder, max_num_timeout=3):
        made = AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=max_num_timeout)
        update = made.update_parameters

        def in_minutes(**options):  # Slurm's unit of time limits
            if "timeout_min" in options:
                options["timeout_min"] = max(1, round(options["timeout_min"]))
            if "signal_delay_s" in options:
                options["slurm_signal_delay_s"] = options.pop("signal_delay_s")
            update(**options)

        made.update_parameters = in_minutes
        made.update_parameters(timeout_min=5, slurm_mem="100M")
        return made


LOCAL = local.LocalExecutor
USED = ("local.test_local", "core.test_utils", "test_helpers", "test_pickle")
SlurmJob.watcher._delay_s = 2


def pytest_runtest_setup(item):
    used = item.module.__name__.endswith(USED)
    local.LocalExecutor = conftest.LocalExecutor = Executor if used else LOCAL
    if hasattr(item.module, "LocalExecutor"):
        item.module.LocalExecutor = local.LocalExecutor
