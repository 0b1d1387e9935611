# signac-flow: scripts from templates on sbatch's standard input, job states by name from squeue's %100j, bundles.
import os
import re
import subprocess
import sys
from importlib.metadata import version as number

from show import command, shown, until, version

version("signac-flow", number("signac-flow"))
with open("project.py", "w") as f:
    f.write("""
import signac, flow, time
class Project(flow.FlowProject): pass
@Project.label
def squared(job): return job.isfile("square")
@Project.post(squared)
@Project.operation(directives={"walltime": 0.05})
def square(job):
    time.sleep(15)
    open(job.fn("square"), "w").write(str(job.sp.n ** 2))
@Project.pre(squared)
@Project.post.isfile("cube")
@Project.operation(cmd=True, directives={"walltime": 0.05})
def cube(job):
    return "test -e " + job.fn("square") + " && touch " + job.fn("cube")
if __name__ == "__main__":
    project = signac.init_project()
    for n in range(4): project.open_job({"n": n}).init()
    Project().main()
""")
# A login machine and the sites have no name that flow knows a template for.
ENV = {**os.environ, "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}


def project(*args):
    p = subprocess.run([sys.executable, "project.py", *args], capture_output=True, text=True, env=ENV)
    assert p.returncode == 0, (args, p.stdout, p.stderr)
    return p.stdout + p.stderr


def count(name):
    return sum(name in files for _, _, files in os.walk("workspace"))


def idle():
    return not command("squeue", "-h", "--me", "-o", "%i").strip()


project("submit", "-o", "square")
shown("submit")
status = project("status", "--detailed")
assert len(re.findall(r"square \[[QA]\]", status)) == 4, status
again = project("submit", "-o", "square")
assert "Submitting" not in again, again
shown("queue")
until(lambda: count("square") == 4 and idle(), "squares")
shown("poll")
project("submit", "-o", "cube", "--bundle", "4", "--parallel")
until(lambda: count("cube") == 4 and idle(), "cubes")
shown("bundle")
