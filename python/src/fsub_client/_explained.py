"""What models say in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, List

from ._model import Model

if TYPE_CHECKING:
    from . import models


class Explained(Model):
    """An explanation in a few lines."""

    @property
    def summary(self: models.Explanation) -> str:  # type: ignore[misc]
        lines: List[str] = []
        chosen = self.chosen
        if chosen is not None:
            lines.append(f"{chosen.site} {chosen.partition}/{chosen.pool}, ${chosen.total:.2f}")
        lines += [w.text or w.reason for w in self.waits or []]
        lines += [h.text for h in self.holdbacks or []]
        if self.start is not None and self.start.start is not None:
            lines.append(f"expected to start at {self.start.site} at {self.start.start:%Y-%m-%d %H:%M} UTC, for ${self.start.price:.2f}")
        lines += [f"{s.change}: at {s.site} {s.start:%Y-%m-%d %H:%M} UTC" for s in self.sooner or [] if s.start is not None]
        if not lines and self.decision is not None:
            lines = [f"{r.site}: {r.detail}" for r in self.decision.rejections or []] or [self.decision.reason]
        return "\n".join(lines)
