# Hydra's submitit launcher: a sweep is an array, and its results come back by the ID of each task.
import sys
from importlib.metadata import version as number

import hydra

from show import command, shown, version


@hydra.main(version_base="1.1", config_path=None, config_name=None)
def main(config):
    if config.get("x") == 99:
        raise ValueError("on purpose")
    with open("point.txt", "w") as f:
        f.write(str(config.x))
    return config.x


if __name__ == "__main__":
    import glob
    import os
    import subprocess

    if len(sys.argv) > 1:
        main()
        raise SystemExit
    version("hydra-submitit-launcher", number("hydra-submitit-launcher"))

    def sweep(points):
        return subprocess.run(
            [sys.executable, __file__, "-m", "hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=5", "hydra.launcher.mem_gb=1",
             "hydra.launcher.partition=main", "+x=" + points], capture_output=True, text=True)

    p = sweep("1,2,3")
    assert p.returncode == 0, p.stderr
    assert sorted(open(f).read() for f in glob.glob("multirun/*/*/*/point.txt")) == ["1", "2", "3"]
    shown("submit")
    shown("poll")
    ids = command("sacct", "-X", "-n", "-P", "-o", "JobID", "-u", os.environ["USER"], "--name", "with_hydra").split()
    assert len(ids) == 3 and len({i.split("_")[0] for i in ids}) == 1 and all("_" in i for i in ids), ids
    shown("array")
    p = sweep("1,99")
    assert p.returncode != 0 and "on purpose" in p.stderr, p.stderr
    shown("fail")
