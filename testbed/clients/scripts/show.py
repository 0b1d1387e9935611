"""What the scripts tell the test: which program of which version, and what of it was seen to work."""
import os
import subprocess
import time

# What jobs call this machine by: the sites know the login as "host"; a client at a site is where its jobs are.
HERE = "host" if "FSUB_SOCKET" in os.environ else "127.0.0.1"


def version(name, number):
    print("client", name, number, flush=True)


def shown(what):
    print("shown", what, flush=True)


def command(*args):
    """The output of one of Slurm's commands, for a look from outside of the program."""
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def until(ok, what, seconds=300):
    """Waits for something to become true, and returns it."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        if got := ok():
            return got
        time.sleep(0.3)
    raise SystemExit("not within %d s: %s" % (seconds, what))
