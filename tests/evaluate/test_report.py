"""One page that a data steward can act on: in a real browser, on paper, and as figures."""

import json
import re
import shutil
import subprocess
import tempfile

import numpy as np
import pyarrow as pa
import pytest

import obverse
from obverse.cli.main import main
from obverse.evaluate.examine import Said, examine
from obverse.evaluate.fixes import BUDGET, LEAST, cheapest
from obverse.evaluate.held import Held, against

from .conftest import QUASI, SENSITIVE, SETTINGS

BROWSER = [
    shutil.which("chromium") or "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SAYS_WIDTH = "<script>document.title='wide '+(document.documentElement.scrollWidth>innerWidth)</script>"


@pytest.fixture(scope="module")
def reports(files):
    known = against(files["people"], control=files["others"], quasi=QUASI, sensitive=SENSITIVE)
    said = Said(to="the press", date="2026-11-18", command="obverse attack copy.csv --against people.csv")
    return {name: examine(files[name], known, said) for name in ("copy", "fresh", "banded")}


def _browse(page, *options):
    with tempfile.TemporaryDirectory() as profile:
        ran = subprocess.run(
            [*BROWSER, f"--user-data-dir={profile}", *options, f"file://{page}"],
            capture_output=True,
            timeout=90,
        )
    return ran.stdout.decode()


def _released_as_it_is(folder, names):
    """So many columns, half of them of no role, held against others too."""
    drawn = np.random.default_rng(5)
    table = pa.table({name: drawn.integers(0, 4 + 9 * i, 1200) for i, name in enumerate(names)})
    for name, part in (("people", table.slice(0, 600)), ("others", table.slice(600))):
        pa.csv.write_csv(part, folder / f"{name}.csv")
    known = against(
        folder / "people.csv",
        control=folder / "others.csv",
        quasi=tuple(names[:6]),
        sensitive=tuple(names[6:8]),
    )
    said = Said(
        command=f"obverse attack people.csv --quasi {','.join(names[:6])} --sensitive {','.join(names[6:8])}"
    )
    return examine(folder / "people.csv", known, said)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Names as long as most have, and names as long as a question of a survey."""
    long = "the answer to question {} of the national household survey of 2026"
    names = {"wide": "marital-status-{}", "survey": long}
    return {
        kind: _released_as_it_is(tmp_path_factory.mktemp(kind), [name.format(i) for i in range(15)])
        for kind, name in names.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy", "fresh", "banded", "wide", "survey"])
def test_it_prints_on_one_page(reports, wide, name, tmp_path):
    page = tmp_path / "page.html"
    page.write_text({**reports, **wide}[name].html(curator=True))
    _browse(page, "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    pages = re.findall(
        rb"/Type\s*/Pages.*?/Count (\d+)|/Count (\d+)", (tmp_path / "page.pdf").read_bytes(), re.S
    )
    assert [count for pair in pages for count in pair if count] == [b"1"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 520])
def test_nothing_runs_out_of_the_window(reports, width, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(reports["copy"].html(curator=True) + SAYS_WIDTH)
    shown = _browse(page, f"--window-size={width},900", "--dump-dom")
    assert "<title>wide false</title>" in shown


def test_it_says_all_that_a_steward_needs(reports):
    page = reports["copy"].html(curator=True)
    for said in (
        "Do not release",
        "Rule:",
        "the press",
        "2026-11-18",
        "SHA-256",
        "singling out",
        "linkability",
        "inference",
        "membership",
        "reconstruction",
        "Can any individual be identified?",
        "Is anything new revealed about them?",
        "Is anything new revealed about another living person?",
        "Not tested",
        "Positive controls",
        "obverse attack copy.csv",
    ):
        assert said in page, said
    assert page.count("<svg") == 5 and "aria-label" in page and "<th scope=row>" in page


def test_a_long_name_is_told_by_its_beginning_and_its_end(wide):
    page = wide["survey"].html(curator=True)
    assert re.search(r"the answer to question \d+ of the national \w*…ey of 2026", page)


def test_no_colour_carries_meaning_alone(reports):
    """Every coloured cell also has a sign and a word."""
    page = reports["copy"].html(curator=True)
    assert all(
        re.search(r"[●◐■] (low|unclear|high)", cell)
        for cell in re.findall(r'<td class="(?:low|unclear|high)">[^<]*', page)
    )


def test_the_copy_to_pass_on_names_no_row(reports):
    ours, theirs = (json.loads(reports["copy"].json(curator=curator)) for curator in (True, False))
    assert len(ours["exposed"]) == 10 and "exposed" not in theirs
    assert [one["columns"] for one in ours["unique"]] == [["age"], ["age", "town"]] and "unique" not in theirs
    assert "How unique people are" not in reports["copy"].html(curator=False)
    assert "named in the curator" in reports["copy"].html(curator=False)
    assert all(one["columns"] for one in ours["exposed"])


def test_figures_have_their_guess_control_and_interval(reports):
    for report in reports.values():
        figures = json.loads(report.json(curator=False))
        for each in figures["tried"]:
            low, high = each["risk_interval"]
            assert 0 <= low <= each["risk"] <= high <= 1
            assert {"baseline", "control", "positive", "word", "threat", "certified", "ledger"} <= each.keys()


def test_fixes_were_tried_and_the_safe_table_needs_none(reports):
    search = reports["copy"].fixes
    fixes = search.best
    assert f"{search.alone} of {search.changes} changes alone" in reports["copy"].html(curator=False)
    assert len(fixes) == 3 and all(0 <= fix.risk <= 1 and 0 <= fix.utility <= 1 for fix in fixes)
    assert any(fix.enough for fix in fixes)
    assert reports["banded"].found.verdict[0] != "Do not release" and reports["banded"].exposed == ()


def test_a_wide_table_is_searched_as_far_as_the_budget_and_the_rest_is_owned_up_to():
    drawn = np.random.default_rng(4)
    wide = pa.table({f"number {i}": drawn.integers(0, 1000, 400) for i in range(12)})
    search = cheapest(wide, Held("wide", wide, quasi=tuple(wide.column_names)))
    assert search.alone == BUDGET[0] < search.changes
    assert 0 < search.together <= sum(BUDGET[1:])


def test_dates_are_put_into_years_and_no_fix_does_more_than_another_that_is_enough():
    days = np.datetime64("1950-01-01") + np.random.default_rng(6).integers(0, 20_000, 900)
    people = pa.table(
        {"born": days.astype("datetime64[D]"), "sex": ["F", "M"] * 450, "ill": ["a", "b", "c"] * 300}
    )
    search = cheapest(people, Held("people", people, quasi=("born", "sex"), sensitive=("ill",)))
    changes = [set(fix.changes) for fix in search.best]
    assert {"put born into decades"} in changes
    assert not any(one < other for one in changes for other in changes)


def test_a_secret_that_names_its_row_may_be_left_out():
    """Whatever else was changed, a salary to the cent described one person; it was never offered to leave it out."""
    rows = np.arange(600)
    people = pa.table(
        {"town": [f"t{n % 3}" for n in rows], "salary": rows * 1.01, "ill": [f"i{n % 2}" for n in rows]}
    )
    search = cheapest(people, Held("people", people, quasi=("town",), sensitive=("salary", "ill")))
    assert search.best[0].enough and "leave out salary" in search.best[0].changes


def test_a_fix_that_leaves_next_to_nothing_is_none(reports):
    assert all(fix.utility >= LEAST for report in reports.values() for fix in report.fixes.best)


def test_a_file_name_cannot_write_the_page(files, tmp_path):
    bad = tmp_path / "<script>x.csv"
    bad.write_bytes(files["fresh"].read_bytes())
    known = against(files["people"], quasi=QUASI, sensitive=SENSITIVE)
    assert "<script>" not in examine(bad, known).html(curator=True)


def test_the_command_writes_both_and_says_the_verdict(files, tmp_path, capsys):
    page, figures = tmp_path / "out.html", tmp_path / "out.json"
    given = ["attack", str(files["copy"]), "--against", str(files["people"]), "--quasi", "age,town"]
    code = main([*given, "--sensitive", "ill", "--public", "--html", str(page), "--json", str(figures)])
    said = capsys.readouterr().out
    assert code == 0 and "Do not release" in said and str(page) in said
    assert json.loads(figures.read_text())["copy"] == "public" and page.read_text().startswith(
        "<!doctype html>"
    )


@pytest.mark.parametrize(
    ("release", "more", "said"),
    [
        ("none.csv", (), "none.csv: there is no such file"),
        ("empty.csv", (), "empty.csv is empty: it has a header and no rows"),
        ("nothing.csv", (), "nothing.csv is empty: it has not even a header"),
        (
            "latin.csv",
            (),
            "latin.csv cannot be read as csv; it needs UTF-8 text and as many cells in every row",
        ),
        (
            "alien.csv",
            (),
            "the release (x) shares no column with the list it is held against (age, town, income, ill)",
        ),
        ("copy.csv", ("--quasi", "zip"), "people.csv has no column zip; it has age, town, income, ill"),
        ("copy.csv", ("--population", "none.csv", "--person", "id"), "none.csv: there is no such file"),
        ("copy.csv", ("--earlier", "alien.csv"), "shares no column with the list it is held against"),
        ("copy.csv", ("--threshold", "9"), "a threshold is a share between 0 and 1, not 9.0"),
        ("copy.csv", ("--epsilon", "-1"), "ε is 0 or more, and δ 0 or more and below 1, not -1.0"),
        ("copy.csv", ("--epsilon", "1", "--delta", "2"), "and δ 0 or more and below 1, not 1.0 and 2.0"),
        ("copy.csv", ("--html", "none/x.html"), "none/x.html: there is no folder none"),
        (
            "copy.csv",
            ("--table", "people"),
            "people.csv is one table; --table names one of a settings file's",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_no_trace(files, monkeypatch, capsys, release, more, said):
    monkeypatch.chdir(files["people"].parent)
    (files["people"].parent / "empty.csv").write_text("age,town\n")
    (files["people"].parent / "alien.csv").write_text("x\n1\n")
    (files["people"].parent / "nothing.csv").touch()
    (files["people"].parent / "latin.csv").write_bytes(b"age,town\n30,Ang\xe9\n")
    assert main(["attack", release, "--against", "people.csv", *more]) in (2, 7)
    told = capsys.readouterr().err
    assert told.startswith("obverse: ") and said in told and len(told.splitlines()) == 1


def test_an_earlier_release_is_read_and_told(files, tmp_path, capsys):
    given = ["attack", str(files["banded"]), "--against", str(files["people"]), "--quasi", "age,town"]
    out = tmp_path / "out.json"
    more = ["--earlier", str(files["copy"]), "--html", str(tmp_path / "out.html"), "--json", str(out)]
    assert main([*given, "--sensitive", "ill", *more]) == 0
    assert "Composition" in [each["attack"] for each in json.loads(out.read_text())["tried"]]


def test_what_is_spent_and_left_is_read_from_the_ledger(files, tmp_path):
    for name in ("people", "others", "fresh"):
        (tmp_path / f"{name}.csv").write_bytes(files[name].read_bytes())
    settings = tmp_path / "people.toml"
    settings.write_text(SETTINGS)
    with obverse.open(settings) as curator:
        curator.ask("DP-SELECT 0.25 COUNT(*) FROM people")
    out = tmp_path / "out.json"
    given = ["attack", str(tmp_path / "fresh.csv"), "--against", str(settings), "--json", str(out)]
    assert main([*given, "--html", str(tmp_path / "out.html")]) == 0
    about = json.loads(out.read_text())["about"]
    assert about["spent"] == 0.25 and about["left"] > 0


def test_the_same_seed_finds_the_same(files):
    known = against(files["people"], quasi=QUASI, sensitive=SENSITIVE)
    first, again = (json.loads(examine(files["banded"], known).json(curator=True)) for _ in range(2))
    for figures in (first, again):
        figures.pop("seconds")
        for each in figures["tried"]:
            each.pop("seconds")
    assert first == again
