"""What a job asks for, as the words of a call of sbatch. What they mean is for the daemon to say."""

from __future__ import annotations

import os
import re
import resource
import socket
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._errors import FsubError

if TYPE_CHECKING:
    from ._jobs import Job

# A daemon that knows no calls takes the spec instead, and refuses this one.
OLDER = {"array": "this daemon is older than the client, and does not read calls"}

# Options of which each has its own word; of others a list is one word with commas.
REPEATED = ("fed_stage_in", "fed_stage_out", "fed_input")

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def arguments(options: Mapping[str, Any]) -> List[str]:
    """The words of options: cpus_per_task=4 is --cpus-per-task=4, requeue=True is --requeue, None and False are none.
    arguments=[...] are words as one would type them."""
    words: List[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if name == "arguments":
            words += [str(v) for v in value]
            continue
        flag = "--" + name.rstrip("_").replace("_", "-")
        for one in value if name in REPEATED and isinstance(value, (list, tuple)) else [value]:
            words.append(flag if one is True else f"{flag}={_text(name, one)}")
    return words


def _text(name: str, value: Any) -> str:
    if isinstance(value, timedelta):
        return span(value.total_seconds())
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds") if value.tzinfo is None else value.astimezone().replace(tzinfo=None).isoformat(timespec="seconds")
    if name in ("time", "time_min"):
        match = _SPAN.fullmatch(str(value))
        if match:
            return span(float(match[1]) * _UNITS[match[2]])
    if name == "dependency":
        return dependency(value)
    if isinstance(value, (list, tuple)):
        return ",".join(str(v) for v in value)
    return str(value)


def merged(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of two sources. Theirs have precedence, but for those that may be repeated."""
    out = {**ours, **theirs}
    for name in REPEATED:
        if name in ours and theirs.get(name):
            more = theirs[name]
            out[name] = [*ours[name], *(more if isinstance(more, (list, tuple)) else [more])]
    return out


def dependency(value: Union[str, Job, Iterable[Job]]) -> str:
    """--dependency of jobs: the job begins when all of them have ended well."""
    if isinstance(value, str):
        return value
    from ._jobs import Job

    return "afterok:" + ":".join(j.ref for j in ([value] if isinstance(value, Job) else value))


def span(seconds: float) -> str:
    """A time limit in Slurm's form, in whole seconds."""
    n = max(int(seconds + 0.999), 1)
    return f"{n // 86400}-{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}"


def request(
    options: Mapping[str, Any],
    script: str,
    path: str = "",
    argv: Sequence[str] = (),
    test_only: bool = False,
    environment: Optional[Mapping[str, str]] = None,
) -> Dict[str, Any]:
    """A submission, as it would be made in this process's directory, with its environment."""
    try:
        here = os.getcwd()
    except OSError as err:
        raise FsubError("the current directory cannot be told", detail="change into one that exists") from err
    call = {
        "args": arguments(options),
        "dir": here,
        "utc_offset": time.localtime().tm_gmtoff,
        "umask": _umask(),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "limits": _limits(),
    }
    payload: Dict[str, Any] = {
        "script": script,
        "environment": [f"{k}={v}" for k, v in (os.environ if environment is None else environment).items()],
    }
    if path:
        call["script"] = path
        payload["argv"] = list(argv)
    body: Dict[str, Any] = {"spec": OLDER, "call": call, "payload": payload, "submit_host": socket.gethostname().split(".")[0]}
    if test_only:
        body["test_only"] = True
    return body


def _limits() -> Dict[str, int]:
    out = {}
    for name in ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"):
        soft = resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0]
        out[name] = -1 if soft == resource.RLIM_INFINITY else soft
    return out


def _umask() -> int:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
