"""Bounds that follow from bounds: each equation tightens the range of each of its cells.  [Sav94]"""

from __future__ import annotations

import numba
import numpy as np

from obverse.tables.equations import System

PASSES = 60
SLACK = 1e-7


def propagate(system: System) -> System:
    """The same system with ranges as tight as single equations make them."""
    low, high = system.low.astype(float).copy(), system.high.astype(float).copy()
    _tighten(
        system.start, system.index, system.value, system.least, system.most, low, high, system.whole, PASSES
    )
    return system.bounded(low, high)


@numba.njit(cache=True)
def _tighten(
    start: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    whole: bool,
    passes: int,
) -> None:
    for _ in range(passes):
        changed = False
        for row in range(len(start) - 1):
            down, up, open_down, open_up = 0.0, 0.0, 0, 0
            for at in range(start[row], start[row + 1]):
                a, x = value[at], index[at]
                smallest = a * low[x] if a > 0 else a * high[x]
                largest = a * high[x] if a > 0 else a * low[x]
                if np.isinf(smallest):
                    open_down += 1
                else:
                    down += smallest
                if np.isinf(largest):
                    open_up += 1
                else:
                    up += largest
            for at in range(start[row], start[row + 1]):
                a, x = value[at], index[at]
                smallest = a * low[x] if a > 0 else a * high[x]
                largest = a * high[x] if a > 0 else a * low[x]
                alone_down = open_down - (1 if np.isinf(smallest) else 0)
                alone_up = open_up - (1 if np.isinf(largest) else 0)
                if alone_down == 0 and not np.isinf(most[row]):
                    rest = down - (0.0 if np.isinf(smallest) else smallest)
                    changed |= _cut(low, high, x, a, most[row] - rest, whole)
                if alone_up == 0 and not np.isinf(least[row]):
                    rest = up - (0.0 if np.isinf(largest) else largest)
                    changed |= _cut(low, high, x, -a, rest - least[row], whole)
        if not changed:
            break


@numba.njit(cache=True)
def _cut(low: np.ndarray, high: np.ndarray, x: int, a: float, room: float, whole: bool) -> bool:
    """From a·x ≤ room: a smaller `high`, or a larger `low`; True where it moved enough to matter."""
    bound = room / a
    slack = SLACK * max(1.0, abs(bound))
    if a > 0:
        bound = np.floor(bound + slack) if whole else bound
        if bound < high[x] - slack:
            gap = high[x] - low[x]
            high[x] = max(bound, low[x])
            return whole or not np.isfinite(gap) or gap - (high[x] - low[x]) > 1e-3 * gap
    else:
        bound = np.ceil(bound - slack) if whole else bound
        if bound > low[x] + slack:
            gap = high[x] - low[x]
            low[x] = min(bound, high[x])
            return whole or not np.isfinite(gap) or gap - (high[x] - low[x]) > 1e-3 * gap
    return False
