# clusterfutures: a script each, squeue of all its numbers in all states, results in files.
import os
from concurrent.futures import as_completed

import cfut

from show import shown, version

version("clusterfutures", cfut.__version__)
SETUP = ["#SBATCH -p main", "#SBATCH --mem=100M", "#SBATCH -t 5"]


def square(n):
    return n * n


def wrong(n):
    raise ValueError("on purpose")


def die():
    os._exit(3)


with cfut.SlurmExecutor(additional_setup_lines=SETUP) as executor:
    futures = [executor.submit(square, n) for n in range(3)]
    shown("submit")
    assert sorted(f.result(timeout=300) for f in as_completed(futures, timeout=300)) == [0, 1, 4]
    shown("poll")
    assert list(executor.map(square, [5, 6])) == [25, 36]
    shown("map")
    try:
        executor.submit(wrong, 1).result(timeout=300)
    except cfut.RemoteException as e:
        assert "on purpose" in str(e)
        shown("fail")
    try:
        executor.submit(die).result(timeout=300)
    except cfut.JobDied:
        shown("die")
