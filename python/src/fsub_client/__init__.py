"""A client of fsub: submits jobs and is told of their ends.

`Client` is where to begin. What it returns are `Job`s, which are `concurrent.futures.Future`s and may be awaited;
`Executor` is a `concurrent.futures.Executor`; `AsyncClient` is `Client` for asyncio. `models` are the daemon's answers.

Names are loaded when they are first used, so that to import this package takes no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import models as models
    from ._aio import AsyncClient as AsyncClient
    from ._client import Client as Client
    from ._errors import FsubError as FsubError
    from ._errors import Gone as Gone
    from ._errors import JobFailed as JobFailed
    from ._errors import Refused as Refused
    from ._errors import Unavailable as Unavailable
    from ._executor import Executor as Executor
    from ._group import Group as Group
    from ._jobs import Array as Array
    from ._jobs import End as End
    from ._jobs import Forecast as Forecast
    from ._jobs import Job as Job
    from ._jobs import as_completed as as_completed

__version__ = "0.5.0"

_homes = {
    "AsyncClient": "_aio",
    "Client": "_client",
    "FsubError": "_errors",
    "Gone": "_errors",
    "JobFailed": "_errors",
    "Refused": "_errors",
    "Unavailable": "_errors",
    "Executor": "_executor",
    "Group": "_group",
    "Array": "_jobs",
    "End": "_jobs",
    "Forecast": "_jobs",
    "Job": "_jobs",
    "as_completed": "_jobs",
    "models": "models",
}

__all__ = [
    "Array",
    "AsyncClient",
    "Client",
    "End",
    "Executor",
    "Forecast",
    "FsubError",
    "Gone",
    "Group",
    "Job",
    "JobFailed",
    "Refused",
    "Unavailable",
    "as_completed",
    "models",
]


def __getattr__(name: str) -> Any:
    home = _homes.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module("." + home, __name__)
    value = module if name == home else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
