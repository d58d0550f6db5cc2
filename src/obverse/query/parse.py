"""Text → one SELECT tree, and what was asked beside it: `DP-SELECT 0.5 …`, or `SELECT … WITH (epsilon = 0.5)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from obverse.errors import BadQuestion

LONGEST = 64 * 1024
DEEPEST = 200
EPSILON_RANGE = (Fraction(1, 2**40), Fraction(2**10))

_HEAD = re.compile(r"\s*DP[-_]SELECT\b", re.IGNORECASE)
_EPSILON = re.compile(
    r"\s*(?:([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)(?![\w.])|(?:[εϵ]|EPSILON)(?!\w))", re.IGNORECASE
)
_OPTIONS = re.compile(r"\bWITH\s*\(((?:\s*\w+\s*=\s*[^(),'\"]+,?)+)\)\s*;?\s*$", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """What a question says beside its SELECT."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    confidence: Fraction | None = None
    nonnegative: bool = False


@dataclass(frozen=True)
class Parsed:
    """One SELECT and its options; `text` is the SELECT as its tokens, however it was spaced or commented."""

    select: exp.Select
    options: Options
    text: str


def parse(sql: str) -> Parsed:
    """The one SELECT of a text.

    >>> parse("DP-SELECT 0.5 COUNT(*) FROM visits").options.epsilon
    Fraction(1, 2)
    """
    if len(sql) > LONGEST:
        raise BadQuestion(f"a question has at most {LONGEST:,} characters, this one {len(sql):,}")
    text, options = _options(sql)
    text, epsilon = _head(text)
    if epsilon is not None:
        if options.epsilon is not None:
            raise BadQuestion("ε is given twice: behind DP-SELECT and in WITH (…)")
        options = Options(epsilon, options.delta, options.confidence, options.nonnegative)
    select, tokens = _select(text)
    return Parsed(select, options, tokens)


def _head(text: str) -> tuple[str, Fraction | None]:
    """`DP-SELECT ε` as SELECT. Done on the text, since ε would read as part of the first expression."""
    head = _HEAD.match(text)
    if head is None:
        return text, None
    rest = text[head.end() :]
    given = _EPSILON.match(rest)
    if given is None:
        if rest.lstrip().startswith(("-", "+")):
            raise BadQuestion("ε is a number above 0, as in DP-SELECT 0.5 COUNT(*) FROM …")
        return "SELECT " + rest, None
    epsilon = None if given[1] is None else epsilon_of(given[1])
    return "SELECT " + rest[given.end() :], epsilon


def _options(text: str) -> tuple[str, Options]:
    found = _OPTIONS.search(text)
    if found is None:
        return text, Options()
    given: dict[str, str] = {}
    for pair in found[1].split(","):
        name, _, value = (part.strip().lower() for part in pair.partition("="))
        if name in given:
            raise BadQuestion(f"WITH gives {name} twice")
        given[name] = value
    if unknown := given.keys() - Options.__dataclass_fields__.keys():
        known = ", ".join(Options.__dataclass_fields__)
        raise BadQuestion(f"WITH has no option {sorted(unknown)[0]}; it has {known}")
    return text[: found.start()], Options(
        epsilon_of(given["epsilon"]) if "epsilon" in given else None,
        _share("delta", given["delta"]) if "delta" in given else None,
        _share("confidence", given["confidence"]) if "confidence" in given else None,
        _flag(given.get("nonnegative", "false")),
    )


def epsilon_of(text: str) -> Fraction:
    """ε exactly as it is written."""
    low, high = EPSILON_RANGE
    epsilon = _exact("ε", text)
    if not low <= epsilon <= high:
        raise BadQuestion(f"ε lies between 2⁻⁴⁰ and {high}, not {text[:40]}")
    return epsilon


def _share(name: str, text: str) -> Fraction:
    share = _exact(name, text)
    if not 0 < share < 1:
        raise BadQuestion(f"{name} lies between 0 and 1, not {text[:40]}")
    return share


def _exact(name: str, text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise BadQuestion(f"{name} is a number above 0, not {text[:40]}")
    return Fraction(text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise BadQuestion(f"nonnegative is true or false, not {text[:40]}")
    return text == "true"


def _select(text: str) -> tuple[exp.Select, str]:
    if _depth(text) > DEEPEST:
        raise BadQuestion(f"a question nests at most {DEEPEST} deep")
    dialect = DuckDB()
    try:
        tokens = dialect.tokenize(text)
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise BadQuestion(f"this is not SQL that can be read: {_place(error)}") from None
    if not trees:
        raise BadQuestion("there is no question: SELECT COUNT(*) FROM …")
    if len(trees) > 1:
        raise BadQuestion(f"ask one question at a time, not {len(trees)}")
    if not isinstance(trees[0], exp.Select):
        raise BadQuestion(
            "only SELECT and DP-SELECT are answered: nothing here changes or describes a database"
        )
    return trees[0], " ".join(_spelt(token) for token in tokens)


def _spelt(token: Token) -> str:
    """A token in one spelling: words in lower case, quoted ones as they stand."""
    kind = token.token_type
    if kind is TokenType.STRING or kind is TokenType.IDENTIFIER:
        return repr((kind.name, token.text))
    return token.text.lower()


def _depth(text: str) -> int:
    depth = deepest = 0
    for mark in text:
        if mark in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in ")]":
            depth -= 1
    return deepest


def _place(error: SqlglotError | RecursionError) -> str:
    places = getattr(error, "errors", [])
    if not places:
        return "it nests too deep" if isinstance(error, RecursionError) else str(error).splitlines()[0][:200]
    first = places[0]
    return f"line {first.get('line')}, column {first.get('col')}: {first.get('description')}"
