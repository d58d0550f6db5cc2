"""What is measured, as whole numbers, and the way back."""

import numpy as np
import pytest

from obverse.mechanisms.strategy import FINE, inverse, matrix, ranges

ALL = ["hats", "tree", "haar", "optimal"]


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("size", [1, 2, 3, 16, 61, 100])
def test_the_cells_come_back(strategy, size):
    """A⁺·A = 1: nothing is lost, whatever the size."""
    assert inverse(strategy, size) @ matrix(strategy, size) == pytest.approx(np.eye(size), abs=1e-9)


@pytest.mark.parametrize("size", [1, 61, 100, 1024])
def test_hats_weigh_every_cell_alike(size):
    """The L1 norm of each column is the same, so nobody's noise is spent on somebody else."""
    assert len(set(matrix("hats", size).sum(0).tolist())) == 1


def test_ranges_count_how_often_two_cells_lie_together():
    rows = [
        np.where((np.arange(5) >= low) & (np.arange(5) < high), 1, 0)
        for low in range(5)
        for high in range(low + 1, 6)
    ]
    assert ranges(5) == pytest.approx(np.mean([np.outer(row, row) for row in rows], axis=0))


def test_the_optimal_matrix_is_within_a_thousandth_of_the_bound():
    """The dual: trace(G·X⁻¹) with diag(X) ≤ 1 is at least trace((D^½·G·D^½)^½)²/trace(D), for every diagonal D > 0.

    [LM13, Theorem 2], here at the D that the optimum's own equation gives.
    """
    size = 64
    squared = matrix("optimal", size).T @ matrix("optimal", size) / FINE**2
    back = np.linalg.inv(squared)
    weight = np.maximum((back @ ranges(size) @ back).diagonal(), 0)
    root = np.sqrt(weight)
    bound = (
        np.sqrt(np.maximum(np.linalg.eigvalsh(root[:, None] * ranges(size) * root), 0)).sum() ** 2
        / weight.sum()
    )
    reached = np.trace(ranges(size) @ back) * squared.diagonal().max()
    assert bound <= reached <= 1.003 * bound
