# ipyparallel: its Slurm launcher submits an array of engines, which call back to the controller here.
import asyncio
import sys

import ipyparallel
from ipyparallel.cluster.launcher import SlurmEngineSetLauncher

from show import HERE, command, shown, until, version

version("ipyparallel", ipyparallel.__version__)
SlurmEngineSetLauncher.engine_cmd = [sys.executable, "-m", "ipyparallel.engine"]
cluster = ipyparallel.Cluster(
    controller_ip="*", controller_location=HERE, profile_dir="profile", n=2,
    engine_launcher_class=SlurmEngineSetLauncher)
cluster.start_cluster_sync(n=2)
info = asyncio.run(cluster.controller.get_connection_info())["client"]
info["location"] = "127.0.0.1"  # only the sites know this machine as "host"
client = ipyparallel.Client(connection_info=info)
client.wait_for_engines(2, timeout=300)
shown("submit")
view = client[:]
assert view.map_sync(lambda x: x * x, range(8)) == [x * x for x in range(8)]
# an engine may call back before the daemon has looked at its site
until(lambda: set(command("squeue", "-h", "--me", "-o", "%T").split()) == {"RUNNING"}, "all engines run")
shown("poll")
try:
    view.apply_sync(lambda: 1 / 0)
    raise SystemExit("a call that failed gave a result")
except ipyparallel.error.RemoteError:
    shown("fail")
job = command("squeue", "-h", "--me", "-o", "%A").split()[0]
client.close()
cluster.stop_engines_sync()
until(lambda: command("squeue", "-h", "--me") == "", "the engines are cancelled")
assert command("sacct", "-X", "-n", "-P", "-o", "State", "-j", job).startswith("CANCELLED")
cluster.stop_cluster_sync()
shown("cancel")
