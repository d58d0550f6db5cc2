"""How long a draw takes must not tell how much noise there is: then the time would tell the answer.  [JR20]"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from obverse.audit.finding import Finding

CALLS = 20_000
BEYOND = 6.0  # standard errors


def timed(name: str, draw: Callable[[], int], calls: int = CALLS, most: float = 0.05) -> Finding:
    """Spearman's correlation of a call's time with the size of its noise."""
    times, sizes = np.empty(calls), np.empty(calls)
    for call in range(calls):
        start = perf_counter_ns()
        noise = draw()
        times[call], sizes[call] = perf_counter_ns() - start, abs(noise)
    correlation = float(np.corrcoef(_ranks(times), _ranks(sizes))[0, 1])
    lies = abs(correlation) > most + BEYOND / sqrt(calls)
    return Finding(
        "timing", name, lies, note=f"time follows noise with r = {correlation:+.3f} over {calls:,} calls"
    )


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, equal values sharing theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks
