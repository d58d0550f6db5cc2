"""What a release costs, as a value."""

from obverse.loss.loss import FREE, Loss, Parallel, Spend, Sum

__all__ = ["FREE", "Loss", "Parallel", "Spend", "Sum"]
