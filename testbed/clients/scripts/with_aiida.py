# AiiDA: every command by "bash -l -c", squeue and sacct with formats of its own, detailed accounts of ended jobs.
import os
import shutil
import subprocess

commands = os.path.dirname(shutil.which("sbatch"))
os.environ["HOME"] = os.getcwd()
os.environ["AIIDA_PATH"] = os.getcwd()
# A login shell begins with PATH anew: what "fed shims install" says to write.
with open(".profile", "w") as f:
    f.write("export PATH=%s:$PATH\n" % commands)

from show import shown, version

subprocess.run(["verdi", "presto", "--non-interactive"], check=True, capture_output=True)

import aiida
from aiida import load_profile, orm
from aiida.engine import run_get_node
from aiida.plugins import CalculationFactory

version("aiida-core", aiida.__version__)
load_profile()
computer = orm.Computer(label="fed", hostname="localhost", transport_type="core.local", scheduler_type="core.slurm", workdir=os.getcwd() + "/work")
computer.set_default_mpiprocs_per_machine(1)
computer.store()
computer.configure(safe_interval=0, use_login_shell=True)
computer.set_minimum_job_poll_interval(1)


def calculate(executable, **options):
    code = orm.InstalledCode(label="c" + str(len(options)), computer=computer, filepath_executable=executable).store()
    builder = CalculationFactory("core.arithmetic.add").get_builder()
    builder.code, builder.x, builder.y = code, orm.Int(2), orm.Int(3)
    builder.metadata.options.update(dict(
        resources={"num_machines": 1, "num_mpiprocs_per_machine": 1}, queue_name="main", max_memory_kb=102400, max_wallclock_seconds=300, withmpi=False, **options))
    outputs, node = run_get_node(builder)
    return outputs, node


outputs, node = calculate("/bin/bash")
shown("submit")
assert node.is_finished_ok and outputs["sum"].value == 5, (node.exit_status, node.exit_message)
shown("poll")
account = node.get_detailed_job_info()
assert account["retval"] == 0 and node.get_job_id() in account["stdout"] and "COMPLETED" in account["stdout"], account
shown("account")
outputs, node = calculate("/bin/false")
assert not node.is_finished_ok and node.exit_status, node.exit_status
shown("fail")
