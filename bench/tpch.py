"""The 22 questions of TPC-H in their private form, a customer being whose privacy counts: `python -m bench.tpch`.

Scale 0.1 by `tpchgen-cli`, in an environment of its own. Orders are a customer's, and lines an order's, by declared
foreign keys; parts, suppliers, nations and regions are public. Bounds are those of TPC-H's own specification. What is
asked is what the original asks, without naming single customers or orders; `note` says where that changes a question.
Beside each stands how far it is off: the median over all numbers of the answer, relative to the engine's own, and over
five answers.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from math import nan
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb

import obverse
from obverse.errors import Refusal

TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
FLAGS = {"l_returnflag": "ANR", "l_linestatus": "FO"}
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
NATIONS = (
    *("ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "CHINA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA"),
    *("INDONESIA", "IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "ROMANIA"),
    *("RUSSIA", "SAUDI ARABIA", "UNITED KINGDOM", "UNITED STATES", "VIETNAM"),
)


def _text(*values: str) -> str:
    listed = ", ".join(f'"{value}"' for value in values)
    return f'{{ type = "text"{f", categories = [{listed}]" if values else ""} }}'


def _number(kind: str, low: float, high: float, references: str = "") -> str:
    points = f', references = "{references}"' if references else ""
    return f'{{ type = "{kind}", low = {low}, high = {high}{points} }}'


def _key(references: str = "") -> str:
    points = f', references = "{references}"' if references else ""
    return f'{{ type = "integer"{points} }}'


DAY = '{ type = "date", low = 1992-01-01, high = 1998-12-31 }'
COLUMNS: dict[str, dict[str, str]] = {
    "region": {"r_regionkey": _key(), "r_name": _text()},
    "nation": {"n_nationkey": _key(), "n_name": _text(*NATIONS), "n_regionkey": _key()},
    "supplier": {
        "s_suppkey": _number("integer", 1, 1000),
        "s_nationkey": _key(),
        "s_acctbal": _number("real", -1000, 10000),
    },
    "part": {
        "p_partkey": _key(),
        "p_name": _text(),
        "p_brand": _text(),
        "p_type": _text(),
        "p_container": _text(),
        "p_size": _number("integer", 1, 50),
    },
    "partsupp": {
        "ps_partkey": _key(),
        "ps_suppkey": _key(),
        "ps_availqty": _number("integer", 1, 9999),
        "ps_supplycost": _number("real", 1, 1000),
    },
    "customer": {
        "c_custkey": _key(),
        "c_nationkey": _number("integer", 0, 24),
        "c_acctbal": _number("real", -1000, 10000),
        "c_mktsegment": _text(*SEGMENTS),
    },
    "orders": {
        "o_orderkey": _key(),
        "o_custkey": _key("customer.c_custkey"),
        "o_orderstatus": _text("F", "O", "P"),
        "o_totalprice": _number("real", 800, 600000),
        "o_orderdate": DAY,
        "o_orderpriority": _text(*PRIORITIES),
        "o_comment": _text(),
    },
    "lineitem": {
        "l_orderkey": _key("orders.o_orderkey"),
        "l_partkey": _key("part.p_partkey"),
        "l_suppkey": _number("integer", 1, 1000, "supplier.s_suppkey"),
        "l_quantity": _number("real", 1, 50),
        "l_extendedprice": _number("real", 900, 105000),
        "l_discount": _number("real", 0, 0.1),
        "l_tax": _number("real", 0, 0.08),
        **{name: _text(*flags) for name, flags in FLAGS.items()},
        "l_shipdate": DAY,
        "l_commitdate": DAY,
        "l_receiptdate": DAY,
        "l_shipinstruct": _text(),
        "l_shipmode": _text(*MODES),
    },
}
WHOSE = {
    "customer": 'unit = { column = "c_custkey", rows = 1 }',
    "orders": 'unit = { column = "o_custkey", rows = 40 }',
    "lineitem": 'unit = { column = "l_orderkey", rows = 120 }',
}


def settings(sources: dict[str, str]) -> str:
    """The settings file for tables that are kept there."""
    lines = []
    for table in TABLES:
        lines += [f"[tables.{table}]", f'source = "{sources[table]}"', WHOSE.get(table, "public = true")]
        lines += [
            f"[tables.{table}.columns]",
            *(f"{name} = {column}" for name, column in COLUMNS[table].items()),
        ]
    return "\n".join([*lines, "[policy]", "epsilon = 1000", "delta = 1e-3"])


RUNS = 5  # each with noise of its own


@dataclass(frozen=True)
class Asked:
    """One of the 22: what it asks in private, and what is not as in the original."""

    name: str
    sql: str
    note: str = ""

    def private(self, epsilon: str) -> str:
        """The same at this ε."""
        return f"DP-SELECT {epsilon} {self.sql.removeprefix('SELECT')}"

    @property
    def whole(self) -> str:
        """The same for the engine, with all groups."""
        return self.sql.partition("ORDER BY")[0]


PRICE = "l_extendedprice * (1 - l_discount)"
OF_ORDERS = "lineitem JOIN orders ON l_orderkey = o_orderkey"
OF_CUSTOMERS = f"{OF_ORDERS} JOIN customer ON o_custkey = c_custkey"
YEAR = "CASE WHEN {} < DATE '1996-01-01' THEN 1995 ELSE 1996 END"  # of the two that are asked for
QUESTIONS = (
    Asked(
        "pricing summary",
        f"""SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM({PRICE}),
        SUM({PRICE} * (1 + l_tax)), AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*) FROM lineitem
        WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus""",
    ),
    Asked(
        "minimum cost supplier",
        """SELECT MIN(ps_supplycost) FROM part JOIN partsupp ON p_partkey = ps_partkey
        WHERE p_size = 15 AND p_type LIKE '%BRASS'""",
        "public tables alone",
    ),
    Asked(
        "shipping priority",
        f"""SELECT SUM({PRICE}) FROM {OF_CUSTOMERS} WHERE c_mktsegment = 'BUILDING'
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'""",
        "all orders together: one is one customer's",
    ),
    Asked(
        "order priority",
        """SELECT o_orderpriority, COUNT(*) FROM orders JOIN (SELECT DISTINCT l_orderkey FROM lineitem
        WHERE l_commitdate < l_receiptdate) AS late ON o_orderkey = l_orderkey WHERE o_orderdate >= DATE '1993-07-01'
        AND o_orderdate < DATE '1993-10-01' GROUP BY o_orderpriority""",
        "EXISTS as a join",
    ),
    Asked(
        "local supplier volume",
        f"""SELECT n_name, SUM({PRICE}) FROM {OF_CUSTOMERS} JOIN supplier ON l_suppkey = s_suppkey
        AND c_nationkey = s_nationkey JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
        WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name""",
        "all nations, those of other regions as 0",
    ),
    Asked(
        "forecast revenue",
        """SELECT SUM(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    ),
    Asked(
        "volume shipping",
        f"""SELECT {YEAR.format("l_shipdate")} AS y, c_nationkey = 7 AS from_france, SUM({PRICE}) FROM {OF_CUSTOMERS}
        JOIN supplier ON l_suppkey = s_suppkey WHERE ((s_nationkey = 6 AND c_nationkey = 7) OR (s_nationkey = 7 AND
        c_nationkey = 6)) AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' GROUP BY 1, 2""",
    ),
    Asked(
        "market share",
        f"""SELECT {YEAR.format("o_orderdate")} AS y, SUM(CASE WHEN s_nationkey = 2 THEN {PRICE} ELSE 0 END) / SUM({PRICE})
        FROM {OF_CUSTOMERS} JOIN supplier ON l_suppkey = s_suppkey JOIN part ON l_partkey = p_partkey JOIN nation
        ON c_nationkey = n_nationkey WHERE n_regionkey = 1 AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY 1""",
    ),
    Asked(
        "product type profit",
        f"""SELECT n_name, SUM({PRICE} - ps_supplycost * l_quantity) FROM {OF_ORDERS}
        JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey JOIN partsupp ON l_partkey = ps_partkey
        AND l_suppkey = ps_suppkey JOIN nation ON s_nationkey = n_nationkey WHERE p_name LIKE '%green%' GROUP BY 1""",
        "of all years",
    ),
    Asked(
        "returned items",
        f"""SELECT n_name, SUM({PRICE}) FROM {OF_CUSTOMERS} JOIN nation ON c_nationkey = n_nationkey
        WHERE l_returnflag = 'R' AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' GROUP BY n_name""",
        "by nation: the original names customers",
    ),
    Asked("important stock", "SELECT SUM(ps_supplycost * ps_availqty) FROM partsupp", "public tables alone"),
    Asked(
        "shipping modes",
        f"""SELECT l_shipmode, SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END), COUNT(*)
        FROM {OF_ORDERS} WHERE l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >=
        DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' GROUP BY l_shipmode""",
    ),
    Asked(
        "customer distribution",
        """SELECT n, COUNT(*) FROM (SELECT c_custkey, COUNT(o_orderkey) AS n FROM customer LEFT JOIN orders
        ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c GROUP BY n""",
    ),
    Asked(
        "promotion effect",
        f"""SELECT 100 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN {PRICE} ELSE 0 END) / SUM({PRICE})
        FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    ),
    Asked(
        "top supplier",
        f"""SELECT l_suppkey, SUM({PRICE}) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1996-01-01'
        AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey ORDER BY revenue DESC LIMIT 1""",
    ),
    Asked(
        "parts and suppliers",
        """SELECT COUNT(DISTINCT ps_suppkey) FROM partsupp JOIN part ON p_partkey = ps_partkey
        WHERE p_brand <> 'Brand#45' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)""",
        "public tables alone",
    ),
    Asked(
        "small quantities",
        """SELECT SUM(l_extendedprice) / 7 FROM lineitem JOIN part ON l_partkey = p_partkey WHERE p_brand = 'Brand#23'
        AND p_container = 'MED BOX' AND l_quantity < 5.1""",
        "below a constant, not a fifth of each part's average",
    ),
    Asked(
        "large orders",
        f"""SELECT COUNT(*), AVG(q) FROM (SELECT o_custkey, o_orderkey, SUM(l_quantity) AS q FROM {OF_ORDERS}
        GROUP BY o_custkey, o_orderkey) AS o WHERE q > 250""",
        "how many: the original names them",
    ),
    Asked(
        "discounted revenue",
        f"""SELECT SUM({PRICE}) FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_shipmode IN ('AIR', 'REG AIR')
        AND l_shipinstruct = 'DELIVER IN PERSON' AND ((p_brand = 'Brand#12' AND l_quantity BETWEEN 1 AND 11 AND p_size <= 5)
        OR (p_brand = 'Brand#23' AND l_quantity BETWEEN 10 AND 20 AND p_size <= 10) OR (p_brand = 'Brand#34'
        AND l_quantity BETWEEN 20 AND 30 AND p_size <= 15))""",
    ),
    Asked(
        "part promotion",
        """SELECT n_name, SUM(l_quantity) FROM lineitem JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey
        JOIN nation ON s_nationkey = n_nationkey WHERE p_name LIKE 'forest%' AND l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1995-01-01' GROUP BY n_name""",
        "what was shipped, by nation; not against each stock",
    ),
    Asked(
        "waiting suppliers",
        f"""SELECT l_suppkey, COUNT(*) AS late FROM {OF_ORDERS} JOIN supplier ON l_suppkey = s_suppkey
        WHERE o_orderstatus = 'F' AND l_receiptdate > l_commitdate AND s_nationkey = 20 GROUP BY l_suppkey
        ORDER BY late DESC LIMIT 10""",
        "all late lines, not those of the only late supplier",
    ),
    Asked(
        "sales opportunity",
        """SELECT c_nationkey, COUNT(*), SUM(c_acctbal) FROM customer LEFT JOIN orders ON c_custkey = o_custkey
        WHERE o_orderkey IS NULL AND c_acctbal > 4500 AND c_nationkey IN (3, 7, 8, 13, 19, 20, 21) GROUP BY c_nationkey""",
        "above a constant, not the average",
    ),
)


def generated(folder: Path) -> None:
    """The tables as Parquet, by a generator in an environment of its own."""
    made = folder / "made"
    venv.create(made, with_pip=True)
    subprocess.run([made / "bin/pip", "install", "--quiet", "tpchgen-cli"], check=True)
    subprocess.run([made / "bin/tpchgen-cli", "parquet", "-s", "0.1", "--output-dir", folder], check=True)


def off(mine: tuple[tuple[object, ...], ...], theirs: list[tuple[object, ...]], keys: int) -> float:
    """The median relative error of an answer's numbers, group by group; of groups that the engine has."""
    found = {row[:keys]: row[keys:] for row in mine}
    wrong = [
        abs(float(ours) - float(engines)) / abs(float(engines))  # type: ignore[arg-type]
        for row in theirs
        for ours, engines in zip(found.get(row[:keys], ()), row[keys:], strict=False)
        if ours is not None and engines
    ]
    return median(wrong) if wrong else nan


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(name)
        if not (folder / "lineitem.parquet").exists():
            generated(folder)
        (Path(name) / "tpch.toml").write_text(
            settings({table: f"{folder}/{table}.parquet" for table in TABLES})
        )
        with duckdb.connect() as raw, obverse.open(Path(name) / "tpch.toml") as curator:
            for table in TABLES:
                raw.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")
            print(
                f"{'TPC-H at scale 0.1, ε = 1 a question':38} {'engine':>9} {'Obverse':>9} {'off':>8}  note"
            )
            for place, asked in enumerate(QUESTIONS, 1):
                start = perf_counter()
                theirs = raw.execute(asked.whole).fetchall()
                plain, taken, shares = perf_counter() - start, [], []
                try:
                    for fresh in range(RUNS):
                        start = perf_counter()
                        answer = curator.ask(asked.private(f"1.{fresh:06d}"))
                        taken.append(perf_counter() - start)
                        shares.append(off(answer.rows, theirs, len(answer.plan.question.keys)))
                except Refusal as refused:
                    print(f"{place:2} {asked.name:35} {1e3 * plain:6.0f} ms   refused           {refused}")
                    continue
                times = f"{1e3 * plain:6.0f} ms {1e3 * min(taken):6.0f} ms"
                print(f"{place:2} {asked.name:35} {times} {median(shares):8.1%}  {asked.note}")


if __name__ == "__main__":
    main()
