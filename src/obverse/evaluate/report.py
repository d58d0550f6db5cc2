"""One page for a release, to read, to print or to file: a verdict, its rule, and every figure behind it.

Two copies are made from the same figures: the curator's names the rows that are most exposed, the other does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import isfinite

from obverse.attack.base import versions
from obverse.attack.interval import Rate
from obverse.attack.linkage import Uniqueness
from obverse.evaluate.bars import Mark, bar
from obverse.evaluate.exposed import Exposed
from obverse.evaluate.fixes import Search
from obverse.evaluate.page import LEGEND, STYLE
from obverse.evaluate.risk import QUESTIONS, Assessment
from obverse.evaluate.tried import Tried, Word, few, short

NAMES = {
    "Closest": "Nearer to the release than to strangers",
    "Composition": "With the earlier release, the only",
    "Describing": "A row as a description",
    "FuzzyLinkage": "The likeliest person, keys misspelt,",
    "Homogeneity": "All rows agree on",
    "Inferring": "The most likely",
    "Linking": "Two halves put together",
    "Matching": "The one row that allows a person",
    "Naming": "The one person a row allows",
    "SinglingOut": "Three columns as a description",
}
LONG = 6_000  # characters, from which a page is set in smaller print
SIGNS: dict[Word, str] = {"low": "●", "unclear": "◐", "high": "■"}


@dataclass(frozen=True)
class About:
    """What is released: the file, to whom, when, and what it cost."""

    file: str
    sha256: str
    rows: int
    columns: int
    against: str
    command: str
    to: str = "not said"
    date: str = "not said"
    charged: float | None = None
    spent: float | None = None
    left: float | None = None


@dataclass(frozen=True)
class Answer:
    """One of the Office for National Statistics' three questions, and what the attacks say to it."""

    question: str
    said: str
    why: str


@dataclass(frozen=True)
class Report:
    """All figures of the page."""

    about: About
    found: Assessment
    fixes: Search = field(default_factory=Search)
    exposed: tuple[Exposed, ...] = ()
    unique: tuple[Uniqueness, ...] = ()
    seconds: float = 0.0
    versions: tuple[tuple[str, str], ...] = field(default_factory=versions)

    def json(self, *, curator: bool) -> str:
        """Every figure as JSON; only the curator's copy names rows."""
        verdict, rule = self.found.verdict
        tried = [
            json.loads(each.evidence.json())
            | {"about": each.about, "note": each.note, "word": each.word(self.found.threshold)}
            for each in self.found.tried
        ]
        vulnerable = self.found.vulnerable
        figures = {
            "about": asdict(self.about),
            "verdict": verdict,
            "rule": rule,
            "threshold": self.found.threshold,
            "control": self.found.control,
            "tried": tried,
            "reconstruction": vulnerable and {"of": vulnerable[0], **_figures(vulnerable[1])},
            "ons": [asdict(answer) for answer in self.answers],
            "fixes": asdict(self.fixes),
            "not_tested": [{"what": what, "why": why} for what, why in self.found.untried],
            "seed": self.found.seed,
            "seconds": self.seconds,
            "versions": dict(self.versions),
            "copy": "curator" if curator else "public",
        }
        if curator:
            figures["exposed"] = [asdict(one) for one in self.exposed]
            figures["unique"] = [asdict(one) for one in self.unique]
        return json.dumps(figures, indent=2, sort_keys=True, ensure_ascii=False)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """ONS's three questions, by name."""
        worst = self.found.worst
        rows = [worst[name] for name in ("singling out", "linkability") if name in worst]
        rows += self.found.named
        return (
            _answered("Can any individual be identified?", rows, self.found.threshold),
            _answered(
                "Is anything new revealed about them?",
                [worst["inference"]] if "inference" in worst else [],
                self.found.threshold,
            ),
            _others(worst.get("inference")),
        )

    def html(self, *, curator: bool) -> str:
        """The page: it prints on one sheet of A4, and needs no colour to be read."""
        verdict, rule = self.found.verdict
        words = [each.word(self.found.threshold) for each in self.found.worst.values()]
        worst: Word = "high" if "high" in words else "unclear" if "unclear" in words else "low"
        copy = (
            "Curator’s copy: names rows of the true table. Do not pass on." if curator else "Copy to pass on."
        )
        page = (
            f"<header><p class=kind>Obverse risk report · {copy}</p>"
            f"<h1>{escape(self.about.file)}</h1>"
            f'<section class="verdict {worst}"><p class=word>{SIGNS[worst]} {verdict}</p>'
            f"<p>Rule: {escape(rule)}.</p></section>{_facts(self.about)}</header>"
            f"{self._attacks()}{self._questions()}"
            f"<div class=two><div>{self._fixes()}{self._untried()}{self._repeat()}</div>"
            f"<div>{self._exposed(curator)}{self._unique() if curator else ''}{self._controls()}</div></div>"
        )
        dense = " class=dense" if len(re.sub(r"<[^>]*>", "", page)) > LONG else ""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Risk report: {escape(self.about.file)}</title><style>{STYLE}</style></head>"
            f"<body><main{dense}>{page}</main></body></html>"
        )

    def _attacks(self) -> str:
        rows = "".join(
            _row(question, each, self.found.threshold) for question, each in self.found.worst.items()
        )
        rows += "".join(_row("by name", each, self.found.threshold) for each in self.found.named)
        missing = [name for name in QUESTIONS if name not in self.found.worst]
        rows += "".join(
            f"<tr><th scope=row>{name}</th><td colspan=7>Not tested.</td></tr>" for name in missing
        )
        if self.found.vulnerable:
            who, rate = self.found.vulnerable
            marks = [Mark("risk", rate.share, rate.low, rate.high)]
            rows += (
                f"<tr><th scope=row>reconstruction</th><td>The whole record, of {escape(who)} "
                f"<small>({rate.of:,} of the targets)</small></td><td>{_percent(rate.share)}</td><td>–</td><td>–</td>"
                f"<td>{_percent(rate.share)}<small>{_span(rate.low, rate.high)}</small></td>"
                f"<td>{bar(marks, self.found.threshold)}</td><td></td></tr>"
            )
        control = self.found.control or "none: risks are held against the guess alone, and may be too high"
        return (
            "<section><h2>What the worst attack on each question got</h2><table class=attacks><thead><tr>"
            "<th scope=col>Question</th><th scope=col>Attack</th><th scope=col>Right</th><th scope=col>A guess</th>"
            "<th scope=col>Control</th><th scope=col>Risk <small>95 %</small></th>"
            f"<th scope=col>Risk, 0 to 100 %</th><th scope=col>Word</th></tr></thead><tbody>{rows}</tbody></table>"
            f"<p class=note>{LEGEND} Risk = (right − control)/(1 − control). "
            f"Threshold {_percent(self.found.threshold)}. Control: {escape(control)}.</p></section>"
        )

    def _questions(self) -> str:
        answers = "".join(
            f"<div><h3>{escape(each.question)}</h3><p><b>{each.said}.</b> {escape(each.why)}</p></div>"
            for each in self.answers
        )
        return (
            "<section><h2>The three questions of the Office for National Statistics</h2>"
            f"<div class=three>{answers}</div></section>"
        )

    def _fixes(self) -> str:
        rows = "".join(
            f"<tr><td>{escape('; '.join(fix.changes))}</td><td>{_percent(fix.risk)}</td>"
            f"<td>{_percent(fix.utility)}</td><td>{'below' if fix.enough else 'still above'}</td></tr>"
            for fix in self.fixes.best
        )
        body = rows or "<tr><td colspan=4>None was looked for: no risk lies above its threshold.</td></tr>"
        tried = self.fixes
        looked = (
            f"Tried: {tried.alone} of {tried.changes} changes alone, and {tried.together} of them together; "
            "others were not."
        )
        return (
            "<section><h2>The cheapest fixes, each tried</h2><table class=fixes><thead><tr>"
            "<th scope=col>Change</th>"
            "<th scope=col>Risk left</th><th scope=col>Information kept</th><th scope=col>Threshold</th></tr>"
            f"</thead><tbody>{body}</tbody></table><p class=note>Risk left: the highest of a row described, a row "
            f"matched and a secret inferred, attacked again after the change. {looked if rows else ''} Run the report "
            "on the changed file before release.</p></section>"
        )

    def _exposed(self, curator: bool) -> str:
        if not curator:
            body = "<p>The rows are named in the curator’s copy only.</p>"
        elif not self.exposed:
            body = "<p>No attack was right about a record.</p>"
        else:
            rows = "".join(
                f"<tr><td>{escape(few(columns))}</td><td>{', '.join(f'{row + 1:,}' for row in found)}</td>"
                f"<td>{attacks}</td></tr>"
                for (columns, attacks), found in _together(self.exposed).items()
            )
            body = (
                f"<table class=exposed><thead><tr><th scope=col>Exposed by</th>"
                f"<th scope=col>Rows of {escape(self.about.against)}</th>"
                f"<th scope=col>Attacks</th></tr></thead><tbody>{rows}</tbody></table>"
            )
        return f"<section><h2>The most exposed records</h2>{body}</section>"

    def _unique(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(few(one.columns, 4))}</td><td>{_percent(one.share)}</td>"
            f"<td>{_percent(one.under_five / one.rows)}</td></tr>"
            for one in self.unique
        )
        return (
            "<section><h2>How unique people are</h2><table class=fixes><thead><tr>"
            "<th scope=col>By, of as many columns the worst</th><th scope=col>Alone</th>"
            f"<th scope=col>One of fewer than five</th></tr></thead><tbody>{rows}</tbody></table></section>"
        )

    def _controls(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(_name(each))}</td><td>{each.evidence.positive.right}/{each.evidence.positive.of}</td>"
            f"<td>{_percent(each.evidence.smallest)}</td></tr>"
            for each in self.found.worst.values()
            if each.evidence.positive
        )
        shares = [each.evidence.positive.share for each in self.found.tried if each.evidence.positive]
        least = (
            f"Of all {len(shares)} attacks with one, the least got {_percent(min(shares))}." if shares else ""
        )
        return (
            "<section><h2>Positive controls</h2><table class=fixes><thead><tr><th scope=col>Attack</th>"
            "<th scope=col>Right on a planted copy</th><th scope=col>Smallest risk it can see</th></tr></thead>"
            f"<tbody>{rows}</tbody></table><p class=note>{least}</p></section>"
        )

    def _untried(self) -> str:
        rows = "".join(f"<li><b>{escape(what)}</b>: {escape(why)}</li>" for what, why in self.found.untried)
        return f"<section><h2>Not tested</h2><ul>{rows}</ul></section>"

    def _repeat(self) -> str:
        used = ", ".join(f"{name} {number}" for name, number in self.versions)
        return (
            f"<section><h2>To repeat it</h2><p><code>{escape(self.about.command)}</code></p>"
            f"<p>Seed <code>{escape(self.found.seed)}</code>; {escape(used)}; {self.seconds:.0f} s.</p></section>"
        )


def _row(question: str, each: Tried, threshold: float) -> str:
    got = each.evidence
    low, high = got.risk_interval
    marks = [Mark("guess", got.baseline), Mark("risk", got.risk, low, high)]
    if got.control:
        marks.insert(1, Mark("control", got.control.share))
    word = each.word(threshold)
    control = "–" if got.control is None else _percent(got.control.share)
    ledger = "no ledger" if got.ledger is None else f"the ledger says {got.ledger:g}"
    more = ""
    if question == "membership":
        caught = "; ".join(
            f"{_percent(rate.share)} at {_percent(limit)}" for limit, rate in got.at_false_positives
        )
        more = f" <small>ε ≥ {got.certified:.2f}; {ledger}; true positives at false ones: {caught}</small>"
    more += f" <small>{escape(each.note)}</small>" if each.note else ""
    return (
        f"<tr><th scope=row>{question}</th><td><b>{escape(_name(each))}</b>{more}"
        f"<small class=threat>{escape(got.threat)}</small></td>"
        f"<td>{_percent(got.success.share)}<small>{got.right:,} of {got.targets:,}</small></td>"
        f"<td>{_percent(got.baseline)}</td><td>{control}</td>"
        f"<td>{_percent(got.risk)}<small>{_span(low, high)}</small></td>"
        f'<td>{bar(marks, threshold)}</td><td class="{word}">{SIGNS[word]} {word}</td></tr>'
    )


def _together(listed: Sequence[Exposed]) -> dict[tuple[tuple[str, ...], int], list[int]]:
    """The rows that the same columns expose to as many attacks."""
    found: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for one in listed:
        found.setdefault((one.columns, len(one.attacks)), []).append(one.row)
    return found


def _facts(about: About) -> str:
    def amount(epsilon: float | None) -> str:
        return "not said" if epsilon is None else f"{epsilon:g}" if isfinite(epsilon) else "unbounded"

    said: Iterator[tuple[str, str]] = iter(
        (
            ("Released to", about.to),
            ("Date", about.date),
            ("Table", f"{about.rows:,} rows, {about.columns} columns"),
            ("Held against", about.against),
            ("ε charged for it", amount(about.charged)),
            ("ε spent on the table", amount(about.spent)),
            ("ε left", amount(about.left)),
            ("SHA-256", about.sha256),
        )
    )
    return (
        "<dl>"
        + "".join(f"<div><dt>{key}</dt><dd>{escape(value)}</dd></div>" for key, value in said)
        + "</dl>"
    )


def _answered(question: str, worst: list[Tried], threshold: float) -> Answer:
    if not worst:
        return Answer(question, "Not tested", "No attack fitted this release.")
    words = {each.word(threshold) for each in worst}
    said = "Yes" if "high" in words else "Perhaps" if "unclear" in words else "Not by what was tried"
    why = " ".join(
        f"{_name(each)}: {_percent(each.evidence.success.share)} right, where "
        f"{_percent(each.evidence.control.share if each.evidence.control else each.evidence.baseline)} are right "
        f"{'of people not in it' if each.evidence.control else 'by a guess'}."
        for each in worst
    )
    return Answer(question, said, why)


def _others(inference: Tried | None) -> Answer:
    """What is learned of people who are not in the release: by correlation, as from any true table."""
    question = "Is anything new revealed about another living person?"
    control = inference.evidence.control if inference else None
    if inference is None or control is None:
        return Answer(question, "Not tested", "It needs people who are not in the release (--control).")
    learned = control.low > inference.evidence.baseline
    return Answer(
        question,
        "Yes, as any true table does" if learned else "Not by what was tried",
        f"The {short(inference.about) or 'secret'} of people who are not in it is inferred right for "
        f"{_percent(control.share)}, where a guess gets {_percent(inference.evidence.baseline)}.",
    )


def _name(each: Tried) -> str:
    return f"{NAMES.get(each.evidence.attack, each.evidence.attack)} {short(each.about)}".strip()


def _percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 0.9995 else f"{100 * share:.0f} %"


def _span(low: float, high: float) -> str:
    digits = 1 if high >= 0.01 else 2
    return f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"


def _figures(rate: Rate) -> dict[str, float]:
    return {"right": rate.right, "targets": rate.of, "share": rate.share, "low": rate.low, "high": rate.high}
