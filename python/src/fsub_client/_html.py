"""What notebooks show of jobs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Mapping

if TYPE_CHECKING:
    from ._jobs import Job

_COLOURS = {"COMPLETED": "#2e7d32", "RUNNING": "#1565c0", "PENDING": "#9e9e9e"}


def job(j: Job) -> str:
    rows = {"state": j.state, "site": j.site, "reason": j.reason if j.reason != "None" else ""}
    if j.end is not None:
        rows["exit code"] = str(j.end.exit_code)
    cells = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items() if v)
    return f"<table><caption>job {escape(j.ref)}</caption>{cells}</table>"


def progress(name: str, counts: Mapping[str, int]) -> str:
    """A bar of jobs by state, with the same in words."""
    total = sum(counts.values()) or 1
    order = sorted(counts, key=lambda s: (s != "COMPLETED", s == "PENDING", s))
    bar = "".join(
        f"<span style='display:inline-block;height:1em;width:{100 * counts[s] / total:.2f}%;background:{_COLOURS.get(s, '#c62828')}'></span>"
        for s in order
    )
    words = ", ".join(f"{counts[s]} {escape(s)}" for s in order) or "no jobs"
    return f"<div>{escape(name)}: {words}<div role='img' aria-label='{words}' style='width:20em;line-height:0'>{bar}</div></div>"
