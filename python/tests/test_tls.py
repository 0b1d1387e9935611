"""Over TLS, with a token."""

from __future__ import annotations

import os

import pytest

import fsub_client as fsub


def test_token(monkeypatch: pytest.MonkeyPatch) -> None:
    server, token = os.environ["FSUB_TEST_SERVER"], os.environ["FSUB_TEST_TOKEN"]
    with fsub.Client(server=server, token=token) as client:
        job = client.submit(wrap="true", output="/dev/null")
        assert job.result(60).state == "COMPLETED"
    monkeypatch.delenv("FSUB_SOCKET")
    monkeypatch.setenv("FSUB_SERVER", server)
    monkeypatch.setenv("FSUB_TOKEN", token)
    with fsub.Client() as client:
        assert client.submit(wrap="true", array="0-2", output="/dev/null").result(60).state == "COMPLETED"
    with fsub.Client(server=server, token="bad") as client:
        with pytest.raises(fsub.Refused):
            client.submit(wrap="true")
    with fsub.Client(server=server.partition("#")[0] + "#" + "0" * 64, token=token) as client:
        with pytest.raises(fsub.FsubError, match="another certificate"):
            client.submit(wrap="true")
    with fsub.Client(server=server.partition("#")[0], token=token) as client:
        with pytest.raises(fsub.FsubError, match="certificate"):
            client.submit(wrap="true")
