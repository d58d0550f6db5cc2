"""A gradual answer costs what its sharpest one does, and each one has the law of a fresh one."""

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter, OverBudget, Withheld
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.gradual import Gradual, Sharpening
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
WALK = Gradual((Fraction(3), Fraction(1)))
CASES = [(WALK, 0, 1, ONE)]
PLANTED = [(Gradual((Fraction(3), Fraction(1, 3))), WALK, 0, 1, ONE)]


def feature(output):
    return output[-1]


def test_every_answer_has_its_own_laplace():
    """[KHP17, Theorem 9] in discrete form: the coarse noise, made of the fine one, against the formula."""
    draws, entropy = 4_000, Keyed("law")
    answers = np.array([WALK.release(0, entropy) for _ in range(draws)])
    for place, scale in enumerate((3.0, 1.0)):
        q, found = exp(-1 / scale), Counter(answers[:, place].tolist())
        for x in range(-4, 5):
            law = (1 - q) / (1 + q) * q ** abs(x)
            assert abs(found[x] - draws * law) < 5 * (draws * law * (1 - law)) ** 0.5


def test_the_step_between_is_independent_of_the_finer_noise():
    """So the coarse answer says nothing that the fine one does not: no correlation, and the same spread at 0 and far."""
    entropy = Keyed("independent")
    answers = np.array([WALK.release(0, entropy) for _ in range(4_000)])
    step, fine = answers[:, 0] - answers[:, 1], answers[:, 1]
    assert abs(np.corrcoef(step, fine)[0, 1]) < 5 / 4_000**0.5
    assert step[fine == 0].var() == pytest.approx(step[abs(fine) > 1].var(), rel=0.2)


def test_the_whole_walk_costs_its_last_answer():
    assert Gradual((Fraction(9), Fraction(3), Fraction(1, 2))).pure(ONE) == 2


def test_sharpening_pays_the_difference_before_it_shows():
    """And stops where the purse does: nothing is shown that was not paid for."""
    purse = []

    def pay(epsilon):
        if sum(purse) + epsilon > 1:
            raise OverBudget("empty")
        purse.append(epsilon)

    gradual = Gradual((Fraction(10), Fraction(2), Fraction(1), Fraction(1, 2)))
    walk = Sharpening(gradual, ONE, gradual.release(50, Keyed("pay")), pay)
    margins = [walk.sharpen()[1] for _ in range(3)]
    assert purse == [Fraction(1, 10), Fraction(2, 5), Fraction(1, 2)] and margins == sorted(
        margins, reverse=True
    )
    with pytest.raises(OverBudget):
        walk.sharpen()
    assert walk.shown == 3 and walk.paid == 1


def test_what_is_not_prepared_is_not_shown():
    gradual = Gradual((Fraction(1),))
    walk = Sharpening(gradual, ONE, gradual.release(0, Keyed("end")), lambda epsilon: None)
    walk.sharpen()
    with pytest.raises(Withheld):
        walk.sharpen()


@pytest.mark.parametrize(
    "scales", [(), (Fraction(1), Fraction(1)), (Fraction(1), Fraction(2)), (Fraction(0),), (float("nan"),)]
)
def test_bad_scales_are_refused(scales):
    with pytest.raises(BadParameter):
        Gradual(scales)


def test_the_interval_is_the_sharpest_ones():
    assert WALK.interval(0.95) == 3
