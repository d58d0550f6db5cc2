"""Ways to leave: each adds noise to a value and knows its own privacy curve."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace

if TYPE_CHECKING:
    from obverse.mechanisms.exponential import Exponential
    from obverse.mechanisms.gradual import Gradual
    from obverse.mechanisms.long_ranges import LongRanges
    from obverse.mechanisms.noisy_max import NoisyMax
    from obverse.mechanisms.partition import GaussianNamedCounts, NamedCounts, Partition
    from obverse.mechanisms.permute_and_flip import PermuteAndFlip
    from obverse.mechanisms.quantile import Quantiles
    from obverse.mechanisms.randomized_response import RandomizedResponse
    from obverse.mechanisms.ranges import GaussianRanges, LaplaceRanges
    from obverse.mechanisms.running_totals import RunningTotals
    from obverse.mechanisms.score import Score
    from obverse.mechanisms.sparse_vector import SparseVector
    from obverse.mechanisms.thresholdout import Thresholdout
    from obverse.mechanisms.top_k import TopK
    from obverse.mechanisms.weighted_names import WeightedNames

_PLACES = {  # imported when first used, since these import NumPy
    "Exponential": "exponential",
    "GaussianNamedCounts": "partition",
    "GaussianRanges": "ranges",
    "Gradual": "gradual",
    "LaplaceRanges": "ranges",
    "LongRanges": "long_ranges",
    "NamedCounts": "partition",
    "NoisyMax": "noisy_max",
    "Partition": "partition",
    "PermuteAndFlip": "permute_and_flip",
    "Quantiles": "quantile",
    "RandomizedResponse": "randomized_response",
    "RunningTotals": "running_totals",
    "Score": "score",
    "SparseVector": "sparse_vector",
    "Thresholdout": "thresholdout",
    "TopK": "top_k",
    "WeightedNames": "weighted_names",
}

__all__ = [
    "Exponential",
    "Gaussian",
    "GaussianNamedCounts",
    "GaussianRanges",
    "Gradual",
    "Laplace",
    "LaplaceRanges",
    "LongRanges",
    "Mechanism",
    "NamedCounts",
    "NoisyMax",
    "Partition",
    "PermuteAndFlip",
    "Quantiles",
    "RandomizedResponse",
    "RunningTotals",
    "Score",
    "SparseVector",
    "Thresholdout",
    "TopK",
    "WeightedNames",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"obverse.mechanisms has no {name}; it has {', '.join(__all__)}")
    return getattr(import_module(f"obverse.mechanisms.{_PLACES[name]}"), name)
