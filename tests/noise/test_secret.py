"""A secret stays the same: over processes by its file, which nobody else reads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from obverse.errors import Broken
from obverse.noise.entropy import Keyed, System


def test_one_file_is_one_secret_whoever_made_it(tmp_path: Path) -> None:
    file = tmp_path / "clinic.secret"
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: System(file).secret(), range(32)))
    assert len(made) == 1 and len(made.pop()) == 32
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["clinic.secret"]


def test_without_a_file_it_lasts_as_long_as_its_holder() -> None:
    one = System()
    assert one.secret() == one.secret() != System().secret()
    assert Keyed("a").secret() == Keyed("a").secret() != Keyed("b").secret()


def test_a_damaged_secret_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.secret").write_bytes(b"short")
    with pytest.raises(Broken, match="not the secret that was made"):
        System(tmp_path / "x.secret").secret()
