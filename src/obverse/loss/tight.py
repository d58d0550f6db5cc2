"""The tightest figure for what one plan fixes in advance: few charges by their dots, many along a contour.

Each way gives a valid δ(ε), so the least of them is one. None of it is a filter (see loss/filters).
"""

from __future__ import annotations

from functools import lru_cache

from obverse.loss.contour import Bounds, Contour
from obverse.loss.curves import pure_profile, renyi_delta, renyi_epsilon
from obverse.loss.dots import POINTS, Dots, convolved, grid, top
from obverse.loss.loss import ORDERS, Loss, Spend, Sum, least_epsilon
from obverse.loss.moments import Moments, Response

FEW = 64  # different charges whose dots are convolved
FINE = 16  # and on how many points each must lie at least


def epsilon(loss: Sum, delta: float) -> float:
    """The least ε we can prove with this δ > 0."""
    figures, dots = [contour(loss).epsilon(delta).high], _dots(loss)
    if dots is not None:
        figures.append(least_epsilon(dots.delta, delta))
    if len(loss.parts) <= FEW:
        figures += [renyi_epsilon(loss.renyi(order), order, delta) for order in ORDERS]
    return min(figures)


def delta(loss: Sum, epsilon: float) -> float:
    """The least δ we can prove with this ε."""
    figures, dots = [contour(loss).delta(epsilon).high], _dots(loss)
    if dots is not None:
        figures.append(dots.delta(epsilon))
    if len(loss.parts) <= FEW:
        figures += [renyi_delta(loss.renyi(order), order, epsilon) for order in ORDERS]
    return min(figures)


def bounds(loss: Loss, delta: float) -> Bounds:
    """Between which figures the ε of the stated curves lies; the lower is 0 where one is known by its dots only."""
    if isinstance(loss, Sum) and len(loss.parts) > FEW:
        return contour(loss).epsilon(delta)
    low, high = contour(loss).epsilon(delta).low, loss.epsilon(delta)
    return Bounds(min(low, high), high)


@lru_cache(maxsize=16)
def contour(loss: Loss) -> Contour:
    """The total of a loss, ready to be read at any ε and δ."""
    total = Contour()
    for part, times in loss.parts if isinstance(loss, Sum) else ((loss, 1),):
        total.add(moments(part), times)
    total.settle()
    return total


def moments(loss: Loss) -> Moments:
    """The moments of one charge: its mechanism's own, or those of its curve."""
    own = loss.mechanism.moments(loss.sensitivity) if isinstance(loss, Spend) else None
    return _stated(loss) if own is None else own


@lru_cache(maxsize=1024)
def _stated(loss: Loss) -> Moments:
    """The moments of a stated curve.

    A pure curve is convex in e^ε and below randomised response's, a chord with the same ends: one that touches it at
    ε = 0 is it.  [KOV15, Theorem 3.1]
    """
    pure = None if loss.pure is None else float(loss.pure)
    if pure is not None and loss.delta(0.0) >= pure_profile(pure, 0.0) * (1 - 1e-9):
        return Response(pure)
    end = _end(loss)
    return Dots.of(loss.delta, end / POINTS, end).atoms()


@lru_cache(maxsize=16)
def _dots(loss: Sum) -> Dots | None:
    """The whole sum by its dots, where few different charges make them fine enough."""
    if len(loss.parts) > FEW:
        return None
    parts = [(part.delta, _end(part), times) for part, times in loss.parts]
    step = grid(parts)
    return convolved(parts) if all(end >= FINE * step for _, end, _ in parts) else None


def _end(loss: Loss) -> float:
    return top(loss.delta) if loss.pure is None else float(loss.pure)
