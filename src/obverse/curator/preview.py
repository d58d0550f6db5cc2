"""What a release would cost and how wrong it may be, before anything is read or charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from obverse.loss.loss import Loss
from obverse.query.bias import told
from obverse.query.show import cost
from obverse.query.within import in_all
from obverse.release import Accuracy, Guarantee, Plan


@dataclass(frozen=True)
class Preview:
    """A plan, to be looked at; and which release would answer it free, if one does."""

    plan: Plan[Any]
    free: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return self.plan.accuracy

    def __str__(self) -> str:
        paid = cost(self.guarantee) if isinstance(self.guarantee, Loss) else str(self.guarantee)
        lines = [f"would cost {paid}{in_all(self.plan)}; nothing was read, nothing charged"]
        for stated in self.accuracy:
            note = f" ({stated.note})" if stated.note else ""
            lines.append(f"{stated.name}  ± {stated.margin:,.4g} in {stated.confidence:.0%} of runs{note}")
        return "\n".join([*lines, *told(self.plan), *([self.free] if self.free else [])])
