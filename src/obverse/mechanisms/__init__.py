"""Ways to leave: each adds noise to a value and knows its own privacy curve."""

from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace

__all__ = ["Gaussian", "Laplace", "Mechanism"]
