"""What the scripts tell the test: which program of which version, and what of it was seen to work."""
import os
import socket
import subprocess
import threading
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


def forwarder(path):
    """A port of this machine's that is a unix socket, for clients that know no sockets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source, sink):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def serve():
        while True:
            here, _ = listener.accept()
            there = socket.socket(socket.AF_UNIX)
            there.connect(path)
            threading.Thread(target=copy, args=(here, there), daemon=True).start()
            threading.Thread(target=copy, args=(there, here), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return "http://127.0.0.1:%d" % listener.getsockname()[1]
