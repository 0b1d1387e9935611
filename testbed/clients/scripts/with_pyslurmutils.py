# pyslurmutils: jobs over slurmrestd with a token of its user, their states and their output.
import base64
import getpass
import json
import os
import time
from importlib.metadata import version as number

from pyslurmutils.client import SlurmScriptRestClient

from show import command, forwarder, shown, until, version

version("pyslurmutils", number("pyslurmutils"))


def made_up():
    """A token as the client wants to see one: on the socket the daemon knows its user from the kernel."""
    words = [{"alg": "HS256", "typ": "JWT"}, {"exp": int(time.time()) + 3600, "iat": int(time.time()), "sun": getpass.getuser()}]
    return ".".join(base64.urlsafe_b64encode(json.dumps(w).encode()).decode().rstrip("=") for w in words) + ".c2ln"


if "FSUB_SOCKET" in os.environ:
    url, token = forwarder(os.environ["FSUB_SOCKET"]), made_up()
else:
    url, token = os.environ["SLURMRESTD"], command("scontrol", "token").strip().removeprefix("SLURM_JWT=")
client = SlurmScriptRestClient(url=url, user_name=getpass.getuser(), token=token, api_version="v0.0.42", log_directory=os.getcwd(),
                               parameters={"partition": "main", "time_limit": 5, "memory_per_node": {"set": True, "number": 100}, "current_working_directory": os.getcwd()})

good = client.submit_script("#!/bin/sh\necho hello\n")
shown("submit")
assert client.wait_finished(good) == "COMPLETED"
shown("poll")
assert client.wait_finished(client.submit_script("#!/bin/sh\nexit 3\n")) == "FAILED"
shown("fail")
slow = client.submit_script("#!/bin/sh\nsleep 600\n")
until(lambda: client.get_status(slow) == "RUNNING", "slow runs")
assert slow in [j.job_id for j in client.get_all_job_properties()]
shown("queue")
client.cancel_job(slow)
until(lambda: client.get_status(slow).startswith("CANCELLED"), "slow is cancelled")
shown("cancel")
