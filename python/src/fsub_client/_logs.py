"""What jobs have written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Iterator, Tuple

from ._errors import FsubError

if TYPE_CHECKING:
    from ._jobs import Job

PAUSE = 0.5  # between two looks at an output that is followed


def lines(job: Job, follow: bool, stderr: bool) -> Iterator[str]:
    """The lines of an output, without their ends. A requeued job begins again."""
    rest, offset, attempt = "", 0, 0
    while True:
        info, text, offset, attempt, wait = _look(job, stderr, offset, attempt)
        parts = (rest + text).split("\n")
        rest = parts.pop()
        yield from parts
        if wait and (not follow or info["ended"]):
            if rest:
                yield rest
            return
        if wait:
            time.sleep(PAUSE)


def _look(job: Job, stderr: bool, offset: int, attempt: int) -> Tuple[dict, str, int, int, bool]:  # type: ignore[type-arg]
    """One look: what the daemon says, what is new, how far that goes, of which attempt it is, and whether there is no more of it just now."""
    query = {"stream": "stderr" if stderr else "stdout", "task": job.task}
    info = job.client.http.get(f"/fed/v1/job/{job.id}/log", query)
    if info.get("attempt", 0) != attempt:
        offset, attempt = 0, info.get("attempt", 0)
    if info.get("staged"):
        text, headers = job.client.http.whole("GET", f"/fed/v1/job/{job.id}/log/text", {**query, "offset": offset})
        word = headers.get("fsub-log", "none")
        if word != "none" or not info["ended"]:
            return info, text.decode("utf-8", "replace"), offset + len(text), attempt, word != "more"
    try:
        with open(info["file"], "rb") as f:
            f.seek(offset)
            text = f.read(1 << 20)
    except FileNotFoundError:
        text = b""
    except OSError as err:
        raise FsubError(f"{info['file']}: {err.strerror}") from err
    return info, text.decode("utf-8", "replace"), offset + len(text), attempt, len(text) < 1 << 20
