"""Membership in a sample of which only averages were published.  [HSR+08; SOJH09; DSS+15]

A release is a table of `column`, `value` and `share`: how many of the sample have that value. Averages of many
columns betray each member a little, and together certainly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Harm, View
from obverse.errors import BadParameter, BadSource

FALSE_ALARMS = 0.01
LEAST = 1e-3  # a share nearer to 0 or 1 than this is taken as this


@dataclass(frozen=True)
class Marginals(Attack):
    """Is a person nearer to the published shares than to the population's?

    The view's `release` has the shares; `targets` and `population` the people. "homer" is the distance of
    Homer and others [HSR+08], "ratio" the likelihood ratio, which no test beats where columns are independent
    [SOJH09]. A claim is made above 99 % of the population.
    """

    rule: Literal["homer", "ratio"] = "ratio"
    harm: ClassVar[Harm] = "membership"

    def __post_init__(self) -> None:
        if self.rule not in ("homer", "ratio"):
            raise BadParameter(f"no rule {self.rule}; there are homer and ratio")

    @property
    def threat(self) -> str:
        return (
            "Somebody with a person's record and published averages tells whether that person was averaged."
        )

    def claim(self, view: View) -> Claims:
        release = view.table("release", ["column", "value", "share"])
        columns = release["column"].unique().to_pylist()
        people, strangers = (_has(view.table(name, columns), release) for name in ("targets", "population"))
        released = np.clip(release["share"].to_numpy(), LEAST, 1 - LEAST)
        usual = np.clip(strangers.mean(axis=0), LEAST, 1 - LEAST)
        scores, idle = (self._scores(rows, released, usual) for rows in (people, strangers))
        bar = np.quantile(idle, 1 - FALSE_ALARMS)
        return Claims(np.ones(len(scores), bool), scores, scores > bar)

    def _scores(
        self, rows: NDArray[np.float64], released: NDArray[np.float64], usual: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if self.rule == "homer":
            nearer = np.abs(rows - usual) - np.abs(rows - released)
            return np.asarray(nearer.sum(axis=1), dtype=np.float64)
        has, lacks = np.log(released / usual), np.log((1 - released) / (1 - usual))
        return np.asarray(rows @ has + (1 - rows) @ lacks, dtype=np.float64)


def marginals(table: pa.Table) -> pa.Table:
    """Every value of every column with its share, as such averages are published.

    >>> marginals(pa.table({"ill": [True, False, False, False]}))["share"].to_pylist()
    [0.25, 0.75]
    """
    parts = []
    for name in table.column_names:
        counts = table[name].cast(pa.string()).combine_chunks().value_counts()
        shares = pc.divide(counts.field("counts").cast(pa.float64()), float(table.num_rows))
        names = pa.array([name] * len(counts))
        parts.append(
            pa.table({"column": names, "value": counts.field("values").cast(pa.string()), "share": shares})
        )
    return pa.concat_tables(parts)


def _has(table: pa.Table, release: pa.Table) -> NDArray[np.float64]:
    """Whether each person has each published value, as 1 or 0."""
    shares = release["share"]
    if not pa.types.is_floating(shares.type) or shares.null_count or not pc.all(pc.is_finite(shares)).as_py():
        raise BadSource("the published shares are numbers, and none may be missing")
    texts = {name: table[name].cast(pa.string()) for name in set(release["column"].to_pylist())}
    found = [
        pc.fill_null(pc.equal(texts[name], value), False).to_numpy(zero_copy_only=False)
        for name, value in zip(release["column"].to_pylist(), release["value"].to_pylist(), strict=True)
    ]
    return np.column_stack(found).astype(np.float64)
