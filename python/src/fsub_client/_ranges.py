"""Indices of an array's tasks as --array names them."""

from __future__ import annotations

from typing import Iterator, List


class Ranges:
    """A set of indices: "0-9,20-30:5%3". It takes as much memory as its text."""

    def __init__(self, text: str) -> None:
        self._ranges: List[range] = []
        for part in str(text).split("%")[0].strip("[]").split(","):
            bounds, _, step = part.strip().partition(":")
            low, _, high = bounds.partition("-")
            self._ranges.append(range(int(low), int(high or low) + 1, int(step or 1)))

    def __iter__(self) -> Iterator[int]:
        if len(self._ranges) == 1:
            return iter(self._ranges[0])
        return iter(sorted({i for r in self._ranges for i in r}))

    def __len__(self) -> int:
        return sum(1 for _ in self) if len(self._ranges) > 1 else len(self._ranges[0])
