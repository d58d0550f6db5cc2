"""Bits come from the system, or follow from a key."""

from obverse.noise.entropy import Keyed, System


def test_a_key_gives_the_same_bits_however_they_are_asked_for():
    whole, parts = Keyed("a"), Keyed("a")
    assert whole.bytes(10_000) == b"".join(parts.bytes(n) for n in (1, 99, 4000, 5900))
    assert Keyed("a").bytes(16) != Keyed("b").bytes(16)


def test_bits_are_within_their_width_and_fair():
    """Ones among 100,000 bits, at five standard errors."""
    entropy = Keyed("fair")
    assert all(entropy.bits(width) < 1 << width for width in range(1, 200))
    assert abs(sum(entropy.bits(1) for _ in range(100_000)) - 50_000) <= 5 * 158


def test_the_system_does_not_repeat_itself():
    assert System().bytes(16) != System().bytes(16)
    assert System().bits(200).bit_length() > 100
