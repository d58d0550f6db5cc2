"""A release keeps what it promises, whatever the table looks like; and says so when it cannot."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.anonymise import check
from obverse.anonymise.anonymise import Anonymise
from obverse.anonymise.changes import Change
from obverse.anonymise.labels import contains
from obverse.anonymise.measure import measure
from obverse.anonymise.release import Anonymised
from obverse.anonymise.rules import Rule
from obverse.data.hierarchy import from_toml
from obverse.data.schema import Column, Role, Schema, Type, Unit
from obverse.errors import BadParameter, BadQuestion, Refusal, Withheld
from obverse.noise.entropy import Keyed
from obverse.release import Syntactic, Terms


class Rows:
    """Tables in memory, read in the order they lie in."""

    dialect = "duckdb"

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def batches(self, select):
        yield from self.table.select([each.name for each in select.expressions]).to_batches()

    def run(self, select):
        raise AssertionError("not asked for")

    def version(self, table):
        return "1"


TYPES = {pa.int64(): Type.INTEGER, pa.float64(): Type.REAL, pa.string(): Type.TEXT, pa.bool_(): Type.BOOLEAN}


def schema_of(table: pa.Table, quasi, sensitive=(), unit=None) -> Schema:
    roles = {**dict.fromkeys(quasi, Role.QUASI), **dict.fromkeys(sensitive, Role.SENSITIVE)}
    columns = [
        Column(f.name, TYPES.get(f.type, Type.DATE), roles.get(f.name, Role.PLAIN)) for f in table.schema
    ]
    return Schema("people", "people.csv", tuple(columns), Unit(unit) if unit else Unit())


def release(table: pa.Table, quasi, sensitive=(), unit=None, key="a", **options) -> Anonymised:
    schema = schema_of(table, quasi, sensitive, unit)
    plan = Anonymise("people", **options).plan({"people": schema}, Terms())
    return plan.unpack(plan.pack(plan.run(Rows(table), Keyed(key))))


def sample(n=60, key=1) -> pa.Table:
    """A made-up table: three quasi-identifiers, two secrets and a plain column."""
    x = [(i * 7919 * key) % 1009 for i in range(n)]
    return pa.table(
        {
            "age": pa.array([20 + v % 50 for v in x], pa.int64()),
            "town": [("Aa", "Bb", "Cc", "Dd", "Ee")[v % 5] for v in x],
            "sex": [("F", "M")[v % 2] for v in x],
            "illness": [("flu", "cold", "none", "gout")[v % 4] for v in x],
            "income": pa.array([v * 10 for v in x], pa.int64()),
            "note": [f"n{i}" for i in range(n)],
        }
    )


QUASI = ("age", "town", "sex")


WAYS = [(how, "hierarchy") for how in ("mondrian", "lattice", "local")] + [
    ("mondrian", "set"),
    ("mondrian", "range"),
]


@pytest.mark.parametrize(("how", "style"), WAYS)
def test_k_is_kept_and_every_label_contains_its_value(how, style):
    """Rows are found again by their note: labels are true, other columns untouched, everybody has k − 1 mates."""
    table = sample()
    made = release(table, QUASI, k=4, how=how, labels=style).table
    before = {row["note"]: row for row in table.to_pylist()}
    assert len(made) == len(table) and check.smallest(made, QUASI) >= 4
    for row in made.to_pylist():
        was = before[row["note"]]
        assert all(contains(str(row[name]), str(was[name])) for name in QUASI)
        assert (row["illness"], row["income"]) == (was["illness"], was["income"])
    assert made.schema.field("income").type == pa.int64()


RULES = [
    Rule("distinct", "illness", 3),
    Rule("entropy", "illness", 2.5),
    Rule("recursive", "illness", 2, c=3),
    Rule("alpha", "illness", 0.5),
    Rule("t", "illness", 0.3),
    Rule("t", "income", 0.3, distance="rank"),
    Rule("t", "income", 0.3, distance="value"),
    Rule("t", "illness", 0.3, distance="tree"),
    Rule("distinct", "illness", 2, clusters=1),
    Rule("beta", "illness", 1),
    Rule("enhanced-beta", "illness", 1),
    Rule("delta", "illness", 2),
]
TREE = from_toml("illness", {"flu": ["sick"], "cold": ["sick"], "gout": ["sick"], "none": ["well"]})


@pytest.mark.parametrize("how", ["mondrian", "lattice", "local"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.distance}-{rule.clusters}")
def test_every_model_is_kept_by_every_algorithm(rule, how):
    """The independent checker says so, on the released table."""
    made = release(sample(), QUASI, (rule.column,), k=3, rules=(rule,), how=how, ladders=(TREE,)).table
    assert check.keeps(made, QUASI, 3, (rule,), {"illness": TREE})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.distance}-{rule.clusters}")
@given(rows=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 3)), min_size=1, max_size=30))
@settings(max_examples=25, deadline=None)
def test_both_checkers_agree_on_any_table(rule, rows):
    """The kernels and the checker from the papers' words give one verdict, whatever the classes are."""
    names = ["flu", "cold", "none", "gout"]
    table = pa.table(
        {
            "q": [q for q, _ in rows],
            "illness": [names[v] for _, v in rows],
            "income": [v * v for _, v in rows],
        }
    )
    ladders = {"illness": TREE}
    figures = measure(table, ["q"], (rule,), sensitive=[rule.column], ladders=ladders)
    if abs(figures.rules[0][1] - (rule.c if rule.kind == "recursive" else rule.at)) > 1e-6:
        assert figures.holds == check.keeps(table, ["q"], 1, (rule,), ladders)


def test_same_rows_in_any_order_give_the_same_bytes():
    """Determinism: the release depends on what the rows are and on the entropy, not on their order."""
    table = sample()
    turned = table.take(pa.array(range(len(table)))[::-1])
    for how in ("mondrian", "lattice", "local"):
        assert release(table, QUASI, k=3, how=how).pack() == release(turned, QUASI, k=3, how=how).pack()
    assert release(table, QUASI, k=3, key="b").pack() != release(table, QUASI, k=3).pack()


def test_people_are_counted_not_rows():
    """Ten rows of one person hide nobody."""
    table = pa.table(
        {"id": ["p"] * 10 + ["q", "r", "s"], "age": pa.array([30] * 10 + [31, 40, 41], pa.int64())}
    )
    made = release(table, ("age",), unit="id", k=2)
    assert "id" not in made.table.column_names
    assert dict(made.facts)["smallest class"] == "2"
    assert set(made.table["age"].to_pylist()) == {"30-31", "40-41"}


def test_the_marketers_risk_counts_people_too():
    """Two classes of two people with three rows each: one in two is named rightly, not one in six."""
    table = pa.table({"q": ["a", "b"] * 6, "who": [f"p{i % 4}" for i in range(12)]})
    assert dict(measure(table, ["q"], who=table["who"]).risks)["marketer"] == 0.5
    assert dict(measure(table, ["q"]).risks)["marketer"] == pytest.approx(2 / 12)


def test_several_sensitive_columns_count_as_known_to_each_other():
    """[MKGV07, section 4.3]: l of one column holds among those who agree on the other."""
    table = sample(200)
    rules = (Rule("distinct", "illness", 2), Rule("distinct", "town", 2))
    made = release(table, ("age", "sex"), ("illness", "town"), k=2, rules=rules).table
    assert check.keeps(made, ("age", "sex"), 2, rules, {}, others=("illness", "town"))
    assert check.smallest(made, ("age", "sex", "town")) >= 2


def test_missing_suppressed_and_hidden_are_three_marks():
    """A missing value is a category of its own and stays missing where its class is all missing."""
    table = pa.table({"age": pa.array([None, None, 5, 6, 7], pa.int64()), "note": list("abcde")})
    made = release(table, ("age",), k=2).table
    labels = dict(zip(made["note"].to_pylist(), made["age"].to_pylist(), strict=True))
    assert labels == {"a": None, "b": None, "c": "5-7", "d": "5-7", "e": "5-7"}
    mixed = pa.table({"age": pa.array([None, 5, 6, 7], pa.int64()), "note": list("abcd")})
    assert set(release(mixed, ("age",), k=3).table["age"].to_pylist()) == {"*"}


def test_a_column_that_loses_nothing_keeps_its_type():
    table = pa.table({"age": pa.array([1, 1, 2, 2], pa.int64())})
    assert release(table, ("age",), k=2).table.schema.field("age").type == pa.int64()


NASTY = ["a-b", "a b", 'a"b', "a.b", "größe", "select", "a'b", "a;--"]


@pytest.mark.parametrize("name", NASTY)
def test_any_column_name(name):
    made = release(pa.table({name: ["x, y", "x, y", "{z}", "*"], "v": [1, 2, 3, 4]}), (name,), k=2).table
    assert check.smallest(made, (name,)) >= 2


ODD = {
    "one row": ({"q": ["a"]}, 1),
    "all equal": ({"q": ["a"] * 9}, 3),
    "all missing": ({"q": pa.array([None] * 9, pa.string())}, 3),
    "many categories": ({"q": [f"c{i}" for i in range(10_000)]}, 7),
    "mixed texts": ({"q": ["1", "x", "2.5", "", "1", "x", "2.5", ""]}, 2),
    "commas inside": ({"q": ["a, b", "a", "b", "a, b"]}, 2),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("how", ["mondrian", "lattice", "local"])
def test_odd_tables(case, how):
    columns, k = ODD[case]
    table = pa.table(columns)
    made = release(table, ("q",), k=k, how=how).table
    assert len(made) == len(table) and check.smallest(made, ("q",)) >= k


def test_what_cannot_be_reached_is_withheld_and_never_empty():
    """No rows, fewer rows than k, more diversity than there is: an error with a code, not an empty file."""
    for rows, options in (([], {"k": 2}), (["a"], {"k": 2}), (["a", "b"], {"k": 3, "how": "lattice"})):
        with pytest.raises(Withheld) as refused:
            release(pa.table({"q": pa.array(rows, pa.string())}), ("q",), **options)
        assert refused.value.exit_code and "a" not in str(refused.value).split()
    with pytest.raises(Withheld):
        release(pa.table({"q": ["a", "b"], "s": ["x", "x"]}), ("q",), ("s",), k=2, l=2)
    with pytest.raises(Withheld, match="finite"):
        release(pa.table({"q": [1.0, float("inf")]}), ("q",), k=2)


def test_bad_requests_are_refused_before_anything_is_read():
    schemas = {"people": schema_of(sample(), QUASI)}
    for wrong in (
        lambda: Anonymise("people", k=0),
        lambda: Anonymise("people", how="magic"),
        lambda: Anonymise("people", suppress=2, how="lattice"),
        lambda: Anonymise("people", suppress=0.1),
        lambda: Anonymise("people", k=4.5),
        lambda: Anonymise("people", labels="magic"),
        lambda: Anonymise("people", care=float("nan")),
        lambda: Anonymise("people", weights=(("age", float("nan")),)),
        lambda: Anonymise("people", weights=(("income", 2.0),)).plan(schemas, Terms()),
        lambda: Anonymise("people", quasi=("age", "age")).plan(schemas, Terms()),
        lambda: Anonymise("people", how="lattice", labels="set"),
        lambda: Anonymise("people", how="local", labels="range"),
        lambda: Anonymise("elsewhere").plan(schemas, Terms()),
        lambda: Anonymise("people", l=3).plan(schemas, Terms()),
        lambda: Anonymise("people", quasi=("nobody",)).plan(schemas, Terms()),
        lambda: Anonymise("people", quasi=("age",), sensitive=("age",)).plan(schemas, Terms()),
        lambda: Anonymise("people", k=3).plan(schemas, Terms(smallest_group=10)),
        lambda: Rule("t", "age", 2),
        lambda: Rule("magic", "age", 2),
        lambda: Change("hash", "age"),
        lambda: Change("round", "age", Fraction(0)),
    ):
        with pytest.raises(Refusal):
            wrong()


def test_a_hierarchy_must_be_a_ladder_that_covers_the_column():
    with pytest.raises(BadParameter, match="no ladder"):
        from_toml("q", {"a": ["x", "1"], "b": ["x", "2"]})
    with pytest.raises(Withheld, match="hierarchy of q"):
        ladder = from_toml("q", {"a": [], "b": []})
        release(pa.table({"q": ["a", "secret"]}), ("q",), k=2, how="lattice", ladders=(ladder,))


def test_the_guarantee_says_that_it_promises_no_epsilon():
    table = sample()
    rules = (Rule("t", "income", 0.2, distance="value"),)
    plan = Anonymise("people", k=5, l=3, sensitive=("illness", "income"), rules=rules).plan(
        {"people": schema_of(table, QUASI, ("illness",))}, Terms()
    )
    assert isinstance(plan.guarantee, Syntactic)
    assert "not about ε" in str(plan.guarantee) and "value distance" in str(plan.guarantee)
    assert "distinct, illness" in str(plan.guarantee)


def test_the_page_is_for_the_curator_and_the_facts_quote_no_row():
    made = release(sample(), QUASI, ("illness",), k=3)
    assert "curator's eyes only" in made.page and made.public().page == ""
    assert made.page not in repr(made) and "n1" not in repr(made.facts)


def test_the_page_says_how_columns_look_and_what_was_reached_unasked():
    """Worked by hand: two classes of two; each has one gout or flu of two, so t = 0.25 … and β = 1."""
    table = pa.table({"age": pa.array([20, 21, 40, 41], pa.int64()), "s": ["flu", "none", "gout", "none"]})
    page = release(table, ("age",), ("s",), k=2).page
    assert "age: 2 wider labels, the commonest 20-21; 0.0% of the rows show their value" in page
    assert "s: distinct 2, entropy 2, alpha 0.5, t 0.25, beta 1, delta inf" in page


def test_suppression_is_bounded_and_the_kept_rows_keep_the_promise():
    table = sample(100)
    made = release(table, QUASI, k=5, how="lattice", suppress=0.1)
    assert 90 <= len(made.table) <= 100 and check.smallest(made.table, QUASI) >= 5
    assert int(dict(made.facts)["suppressed rows"]) == 100 - len(made.table)


def test_a_target_column_keeps_its_distribution_better():
    """Cuts that care for the target leave purer classes than cuts that do not."""
    from obverse.anonymise.measure import class_of_rows

    def mixed(**options) -> float:
        made = release(sample(400), ("age", "town"), k=10, **options).table
        label, _ = class_of_rows(made, ("age", "town"))
        shares: dict[tuple[int, str], int] = {}
        for c, s in zip(label.tolist(), made["sex"].to_pylist(), strict=True):
            shares[c, s] = shares.get((c, s), 0) + 1
        return sum(max(shares.get((c, s), 0) for s in "FM") for c in set(label.tolist())) / 400

    assert mixed(target="sex", care=5.0) >= mixed()


def test_no_such_sensitive_column():
    with pytest.raises(BadQuestion):
        release(sample(), QUASI, k=2, rules=(Rule("distinct", "nothing", 2),))


def test_both_figures_are_on_the_curators_page_where_rows_are_suppressed():
    """Worked by hand: 2 of 6 go; one class {x, y} is exactly the kept table, and 1/6 from {x: 2/3, y: 1/3}.

    Only on the page: the two figures together say what the suppressed rows have.
    """
    table = pa.table({"q": list("aaaabc"), "s": ["x", "y", "x", "y", "x", "x"]})
    rules = (Rule("t", "s", 0.2), Rule("distinct", "s", 2))
    made = release(table, ("q",), ("s",), k=4, rules=rules, how="lattice", suppress=0.4)
    assert dict(made.facts)["suppressed rows"] == "2"
    assert dict(made.facts)["t of s"] == "0 reached, 0.2 asked"
    assert dict(made.facts)["distinct of s"] == "2 reached, 2 asked"
    assert "t of s: 0.1667 compared with all rows, 0 with the kept rows" in made.page
    assert "0.1667" not in repr(made.facts)


def test_texts_as_codes_are_the_same_column():
    """A dictionary that lists a value twice, one that no row has, and none for a missing one."""
    from obverse.anonymise.codes import encode

    texts = pa.array(["b", "a", "b", None, "z", "a"])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 5, None], pa.int32()), texts)
    plain = pa.chunked_array([["b", "a", "b", None, "a", None]])
    domain, codes = encode("q", pa.chunked_array([coded]))
    expected, places = encode("q", plain)
    assert domain == expected and codes.tolist() == places.tolist() == [1, 0, 1, 2, 0, 2]


@pytest.mark.parametrize("k", [2, 5, 12])
def test_local_labels_lose_no_more_than_cuts_along_the_same_ladders(k):
    """The better of both leaves."""
    name = "information lost (GCP)"
    local, cuts = (
        float(dict(release(sample(200), QUASI, k=k, how=how, labels="hierarchy").facts)[name])
        for how in ("local", "mondrian")
    )
    assert local <= cuts


@pytest.mark.parametrize("how", ["local", "members", "mondrian", "mdav"])
@pytest.mark.parametrize(
    "rule", [Rule("t", "illness", 0.1), Rule("delta", "illness", 0.7), Rule("beta", "illness", 0.5)]
)
def test_no_row_is_left_out_where_none_may_be_suppressed(how, rule):
    """Rows that no class can take in by themselves are joined with several classes."""
    quasi = ("age",) if how == "mdav" else QUASI
    made = release(sample(300), quasi, ("illness",), k=4, how=how, rules=(rule,))
    assert len(made.table) == 300 and dict(made.facts)["suppressed rows"] == "0"


def test_a_value_that_looks_like_a_mark_never_leaves_as_one():
    """Even where the column loses nothing: `*` means a hidden value, and nothing else."""
    table = pa.table({"q": ["*", "*", "a", "a", "**", "**", "", "", None, None]})
    made = release(table, ("q",), k=2, how="lattice").table["q"].to_pylist()
    assert sorted(made, key=str) == sorted(
        ['"*"'] * 2 + ["a"] * 2 + ['"**"'] * 2 + ['""'] * 2 + [None] * 2, key=str
    )
