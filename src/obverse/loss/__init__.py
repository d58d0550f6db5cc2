"""What a release costs, as a value."""

from obverse.loss.loss import FREE, Loss, Parallel, Sensitivity, Spend, Sum, total

__all__ = ["FREE", "Loss", "Parallel", "Sensitivity", "Spend", "Sum", "total"]
