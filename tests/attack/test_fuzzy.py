"""Misspelt rows are linked with posteriors that mean what they say."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from obverse.attack.base import Contest, View, judge, words
from obverse.attack.fuzzy import FuzzyLinkage
from obverse.attack.linkage import Key, Linkage, persons
from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed

DATA = Path(__file__).parent.parent / "fixtures" / "attacks"
KEYS = (Key("zip"), Key("birth_date"), Key("sex"))


def misspelt(table):
    """A tenth of the dates with two digits swapped, a tenth of the ZIP codes wrong, a twentieth of the dates lost."""
    luck = words(table.num_rows, Keyed("misspelt")) / 2.0**64
    rows = zip(table["zip"].to_pylist(), map(str, table["birth_date"].to_pylist()), luck, strict=True)
    changed = [_worse(*row) for row in rows]
    zips, dates = (pa.array(column, pa.string()) for column in zip(*changed, strict=True))
    return pa.table({"zip": zips, "birth_date": dates, "sex": table["sex"]})


def _worse(zip_, date, luck):
    if luck < 0.1:
        return zip_, date[:8] + date[9] + date[8]
    if luck < 0.2:
        return zip_[:4] + "9", date
    return (zip_, None) if luck < 0.25 else (zip_, date)


def contest(recode=lambda table: table):
    """Visits of people on the first sixth of the shared roll; as controls, visits of people who are not on it."""
    text = pa.csv.ConvertOptions(column_types={"zip": pa.string(), "birth_date": pa.string()})
    visits, truth, roll = (
        pa.csv.read_csv(DATA / f"weld_{name}.csv.gz", convert_options=text)
        for name in ("hospital", "truth", "voters")
    )
    listed = roll.slice(0, roll.num_rows // 6)
    joined = visits.join(truth, "visit").sort_by("visit")
    known = pc.is_in(joined["voter_id"], listed["voter_id"])
    inside, outside = joined.filter(known), joined.filter(pc.invert(known)).slice(0, 1000)
    view, absent = (View({"visits": recode(part)}, {"list": listed}) for part in (inside, outside))
    return Contest(Linkage("visits", "list", "voter_id", KEYS), view, persons(inside["voter_id"]), absent)


def noisy(sure=0.5, recode=misspelt):
    game = contest(recode)
    return Contest(FuzzyLinkage("visits", "list", "voter_id", KEYS, sure), game.view, game.truth, game.absent)


PLANTED = {"FuzzyLinkage": noisy}
PRIVATE = {"FuzzyLinkage": lambda: noisy(recode=lambda table: misspelt(shuffled_people(table)))}


def shuffled_people(table):
    """Every column in an order of its own: nobody's row is in it."""
    return pa.table(
        {c: table[c].take(np.argsort(words(table.num_rows, Keyed(c)))) for c in table.column_names}
    )


def test_it_links_more_than_an_exact_join_and_no_less_surely():
    game = noisy()
    exact = judge(game.attack, Linkage("visits", "list", "voter_id", KEYS).run(game.view), game.truth)
    fuzzy = game.evidence()
    assert fuzzy.right > 1.05 * exact.right
    assert fuzzy.precision.share > 0.97


def test_posteriors_are_calibrated():
    """What it believes of its claims on average is what is right, within three points."""
    game = noisy()
    claims = game.attack.run(game.view)
    assert claims.scores[claims.made].mean() == pytest.approx(
        (claims.values == game.truth)[claims.made].mean(), abs=0.03
    )


def test_on_clean_rows_it_claims_what_the_exact_join_claims():
    game = contest()
    exact = game.attack.run(game.view)
    fuzzy = FuzzyLinkage("visits", "list", "voter_id", KEYS).run(game.view)
    assert (fuzzy.values[exact.made] == exact.values[exact.made]).mean() > 0.999


def test_keys_that_everybody_shares_are_refused():
    alike = pa.table({"id": range(4000), "zip": ["*"] * 4000, "sex": ["F", "M"] * 2000})
    with pytest.raises(BadParameter, match="too many people"):
        FuzzyLinkage("rows", "list", "id", (Key("zip"), Key("sex"))).run(
            View({"rows": alike}, {"list": alike})
        )


def test_bad_parameters_are_refused():
    with pytest.raises(BadParameter, match="posterior"):
        FuzzyLinkage("a", "b", "id", KEYS, sure=0.4)
    with pytest.raises(BadParameter, match="two keys"):
        FuzzyLinkage("a", "b", "id", KEYS[:1])
