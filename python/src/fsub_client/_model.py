"""What the generated models are made of."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, ClassVar, Dict, List, Mapping, Type, TypeVar

M = TypeVar("M", bound="Model")
T = TypeVar("T")

_FRACTION = re.compile(r"\.(\d+)")


class Model:
    """An object of the daemon's answers. `extra` has what this release of the client does not know."""

    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    _names: ClassVar[Mapping[str, str]] = {}  # of fields that have another name in JSON

    @classmethod
    def from_json(cls: Type[M], value: Mapping[str, Any]) -> M:
        """Reads an object of JSON."""
        fields: Mapping[str, Any] = getattr(cls, "__dataclass_fields__")
        known: Dict[str, Any] = {}
        extra: Dict[str, Any] = {}
        for name, v in value.items():
            attribute = cls._names.get(name, name)
            if attribute not in fields or attribute == "extra":
                extra[name] = v
            elif v is not None:
                read = cls._readers.get(attribute)
                known[attribute] = v if read is None else read(v)
        made: Any = cls
        new: M = made(**known, extra=extra)
        return new


def when(text: str) -> datetime:
    """A time of RFC 3339, in UTC."""
    text = _FRACTION.sub(lambda m: "." + (m[1] + "000000")[:6], text)  # Python has microseconds
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def span(nanoseconds: int) -> timedelta:
    return timedelta(microseconds=nanoseconds // 1000)


def many(read: Callable[[Any], T]) -> Callable[[Any], List[T]]:
    return lambda values: [read(v) for v in values]


def each(read: Callable[[Any], T]) -> Callable[[Any], Dict[str, T]]:
    return lambda values: {k: read(v) for k, v in values.items()}
