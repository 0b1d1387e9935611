"""What goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from ._jobs import End, Job


class FsubError(Exception):
    """Something that did not work: `text` is Slurm's sentence where it has one, `number` its number (0: none), `detail` what to look at."""

    def __init__(self, text: str, number: int = 0, detail: str = "") -> None:
        super().__init__(text, number, detail)
        self.text = text
        self.number = number
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.text}: {self.detail}" if self.detail else self.text


class Refused(FsubError):
    """The daemon says no: to repeat it changes nothing."""


class Gone(Refused):
    """What is asked for is not there, or not any more."""


class Unavailable(FsubError):
    """Nobody answered for as long as the client waits, or the daemon cannot do it just now. What was sent with a key may have been done:
    the same call of the same key tells."""


class JobFailed(FsubError):
    """A job has ended otherwise than COMPLETED; `end` says how, `job` is the job."""

    def __init__(self, text: str, detail: str, job: Job, end: End) -> None:
        super().__init__(text, 0, detail)
        self.job = job
        self.end = end


class RemoteTraceback(Exception):
    """The traceback of a function that failed in a job, as the cause of its exception here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


EAGAIN = 11  # the daemon takes nothing just now


def of_answer(status: int, body: Any) -> FsubError:
    """The error that an answer of the daemon tells of."""
    error: Mapping[str, Any] = {}
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        error = body["error"]
    said, text = str(error.get("said", "")), str(error.get("text", "") or f"the daemon answered with HTTP status {status}")
    number, detail = int(error.get("number", 0)), str(error.get("detail", ""))
    if said:
        detail = said.strip() + ("\n" + detail if detail else "")
    if status == 503 or number == EAGAIN:
        return Unavailable(text, number, detail)
    if status in (404, 410):
        return Gone(text, number, detail)
    if 400 <= status < 500:
        return Refused(text, number, detail)
    return FsubError(text, number, detail)
