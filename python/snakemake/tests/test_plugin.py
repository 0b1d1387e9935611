"""Snakemake's own tests for executors, and a rule that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import snakemake.common.tests
from snakemake_executor_plugin_fsub import ExecutorSettings


class TestWorkflows(snakemake.common.tests.TestWorkflowsLocalStorageBase):
    __test__ = True

    def get_executor(self) -> str:
        return "fsub"

    def get_executor_settings(self) -> Any:
        return ExecutorSettings(extra="--time=5 --mem=500")


SNAKEFILE = """
rule all:
    input: expand("{n}.txt", n=range(8))

rule one:
    output: "{n}.txt"
    resources: mem_mb=300, runtime=3
    threads: 1
    shell: "echo $SLURM_JOB_ID $SLURM_MEM_PER_NODE >{output}"

rule bad:
    output: "bad.txt"
    shell: "echo on purpose; exit 3"
"""


def run(here: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--executor", "fsub", "--jobs", "8", "--fsub-group", "wf/x", *targets]
    return subprocess.run(command, cwd=here, capture_output=True, text=True)


def test_workflow(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    good = run(tmp_path)
    assert good.returncode == 0, good.stderr
    lines = [(tmp_path / f"{n}.txt").read_text().split() for n in range(8)]
    assert len({number for number, _ in lines}) == 8 and {mem for _, mem in lines} == {"300"}
    bad = run(tmp_path, "bad.txt")
    assert bad.returncode != 0 and "exit code 1" in bad.stderr
    assert "on purpose" in "".join(p.read_text() for p in (tmp_path / ".snakemake/fsub_logs/bad").iterdir())
