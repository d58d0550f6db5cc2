"""A million draws at once have the law of one, exactly: the float only decides what it provably can."""

from decimal import Decimal, getcontext
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from obverse.noise import bulk
from obverse.noise.entropy import Keyed
from obverse.noise.exact import Uniform, discrete_gaussian, discrete_laplace, exp_bounds

SCALES = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(12345, 7), Fraction(10**9), Fraction(2**49)]
VARIANCES = [Fraction(1, 50), Fraction(1), Fraction(10), Fraction(10**6, 7), Fraction(10**16)]


def laplace_law(scale):
    q = exp(-1 / scale)
    return lambda x: (1 - q) / (1 + q) * q ** abs(x)


def gaussian_law(variance):
    far = int(40 * sqrt(variance)) + 10
    total = sum(exp(-x * x / (2 * variance)) for x in range(-far, far + 1))
    return lambda x: exp(-x * x / (2 * variance)) / total


def assert_law(drawn, law, far):
    """Each count is within five standard errors of its expectation; about 80 counts, so a false alarm is 1 in 20,000."""
    n = len(drawn)
    for x in range(-far, far + 1):
        p, seen = law(x), int(np.count_nonzero(np.asarray(drawn) == x))
        assert abs(seen - n * p) <= 5 * sqrt(n * p * (1 - p)) + 3, x


@pytest.mark.parametrize("scale", [0.25, 1.0, 6.5])
def test_bulk_laplace_has_the_exact_distribution(scale):
    assert_law(bulk.laplace(Fraction(scale), 400_000, Keyed("law")), laplace_law(scale), 40)


@pytest.mark.parametrize("variance", [0.1, 1.0, 30.0])
def test_bulk_gaussian_has_the_exact_distribution(variance):
    assert_law(bulk.gaussian(Fraction(variance), 400_000, Keyed("law")), gaussian_law(variance), 30)


def test_single_draws_have_the_exact_distribution():
    entropy = Keyed("single")
    assert_law([discrete_laplace(Fraction(2), entropy) for _ in range(20_000)], laplace_law(2.0), 20)
    assert_law([discrete_gaussian(Fraction(4), entropy) for _ in range(10_000)], gaussian_law(4.0), 10)


@pytest.mark.parametrize("scale", SCALES[3:])
def test_wide_draws_have_the_right_tails(scale):
    """Quantiles of |x|/scale against those of an exponential variable, at five standard errors."""
    size = np.abs(bulk.laplace(scale, 100_000, Keyed("wide"))) / float(scale)
    for above in (0.1, 0.5, 1.0, 3.0):
        p = exp(-above)
        assert abs(np.mean(size > above) - p) <= 5 * sqrt(p * (1 - p) / 100_000) + 1 / float(scale)


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_by_floats_is_laplace_by_whole_numbers_draw_by_draw(monkeypatch, scale):
    """With a margin that trusts no float, the same bits give the same draws."""
    quick = bulk.laplace(scale, 1000, Keyed("same"))
    monkeypatch.setattr(bulk, "MARGIN", 1e9)
    assert (bulk.laplace(scale, 1000, Keyed("same")) == quick).all()


@pytest.mark.parametrize("variance", VARIANCES)
def test_gaussian_by_floats_is_gaussian_by_whole_numbers_draw_by_draw(monkeypatch, variance):
    quick = bulk.gaussian(variance, 300, Keyed("same"))
    monkeypatch.setattr(bulk, "MARGIN", 1e9)
    assert (bulk.gaussian(variance, 300, Keyed("same")) == quick).all()


def test_a_scale_too_wide_for_64_bits_is_still_drawn():
    assert max(abs(x) for x in bulk.laplace(Fraction(2**100), 5, Keyed("wide")).tolist()) > 2**90
    assert max(abs(x) for x in bulk.gaussian(Fraction(2**200), 3, Keyed("wide")).tolist()) > 2**90


def test_the_logarithm_of_this_machine_is_four_times_better_than_its_margin():
    """The proof at the top of noise/bulk rests on |E + log U| ≤ 2⁻⁴⁸·(1 + E) + 1/n; here at 4,000 hard points."""
    getcontext().prec = 50
    random = np.frombuffer(Keyed("logarithm").bytes(8 * 3000), dtype=np.uint64)
    small = random[:500] >> np.uint64(40)
    near_one = np.uint64(2**64 - 1) - (random[500:1000] >> np.uint64(20))
    words = np.concatenate([random, small, near_one, np.array([0, 1, 2**64 - 1], dtype=np.uint64)])
    computed, unsure = bulk._exponential(words)
    for word, value, slack in zip(words.tolist(), computed.tolist(), unsure.tolist(), strict=True):
        middle = -((Decimal(word) + Decimal("0.5")) / 2**64).ln()
        error = abs(Decimal(value) - middle)
        assert error <= Decimal(2) ** -50 * (1 + middle)
        assert word == 0 or middle - Decimal(slack) < -(Decimal(word + 1) / 2**64).ln()
        assert word == 0 or -(Decimal(word) / 2**64).ln() < middle + Decimal(slack)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(44), Fraction(700)])
@pytest.mark.parametrize("bits", [8, 64, 300])
def test_the_bounds_of_exp_hold_and_are_close(x, bits):
    getcontext().prec = 150
    low, high = exp_bounds(x, bits)
    true = (-(Decimal(x.numerator) / Decimal(x.denominator))).exp() * 2**bits
    assert low <= true <= high and high - low <= 2


def test_a_point_is_extended_never_redrawn():
    """A point whose known bits straddle exp(−x) is decided by the bits that follow, and keeps its answer."""
    low, high = exp_bounds(Fraction(1), 16)
    answers = []
    for i in range(2000):
        point = Uniform(low, 16, Keyed(f"extend {i}"))
        answers.append(point.below_exp(Fraction(1)))
        assert point.below_exp(Fraction(1)) == answers[-1]
    share = exp(-1) * 2**16 - low
    assert high - low == 1
    assert abs(sum(answers) - 2000 * share) <= 5 * sqrt(2000 * share * (1 - share))


def test_too_little_noise_would_be_noticed():
    """The planted bug: a scale 5 % too small fails the test of the law above."""
    with pytest.raises(AssertionError):
        assert_law(bulk.laplace(Fraction(95, 100), 400_000, Keyed("law")), laplace_law(1.0), 40)
