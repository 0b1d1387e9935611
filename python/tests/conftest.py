"""Tests against a daemon over two sites of this machine: near, which sees every directory, and far, which sees none.

FSUB_SOCKET is its socket, FSUB_TEST_SERVER and FSUB_TEST_TOKEN are for TLS, FSUB_TEST_PID has its process: killed, it is started again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest

import fsub_client as fsub


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the test's own, and an environment without another program's options."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("SBATCH_", "SLURM_")):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def client() -> Iterator[fsub.Client]:
    with fsub.Client() as c:
        yield c
