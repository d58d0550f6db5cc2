"""Tables of the Adult data with counts below 3 hidden and margins shown: the audit gets cells back, and then none."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.tables.made import seen, small_cells

import obverse
from obverse.tables.audit import ranges
from obverse.tables.cube import Reading, read
from obverse.tables.dimension import Dimension
from obverse.tables.suppress import suppress

ADULT = Path(obverse.__file__).parent / "sample" / "adult.parquet"
RECOVERED = {
    ("education", "occupation"): (23, 23),
    ("education", "occupation", "sex"): (98, 98),
    ("race", "native-country"): (41, 27),
    ("workclass", "occupation", "race"): (98, 86),
}


@pytest.mark.parametrize("columns, figures", RECOVERED.items(), ids=["2-D", "3-D", "countries", "work"])
def test_hiding_small_counts_alone_protects_almost_nothing(memory, columns, figures):
    """Of people who say each of the columns; all margins are shown but those below 3."""
    said = pq.read_table(ADULT, columns=list(columns)).drop_null()
    dimensions = tuple(Dimension.from_rungs(column, [], closed=False) for column in columns)
    totals = read(Reading("adult", dimensions), memory(adult=said))
    pattern = small_cells(totals.dimensions, totals.rows.astype(float), 3)
    low, high = ranges(seen(pattern, pattern.primary))
    assert (pattern.primary.sum(), (low == high)[pattern.primary].sum()) == figures

    hidden = suppress(pattern)
    low, high = ranges(seen(pattern, hidden))
    assert not (low == high)[hidden].any()
    assert (low[pattern.primary] == 0).all() and (high[pattern.primary] >= 3).all()
    assert np.array_equal(low[~hidden], high[~hidden])
