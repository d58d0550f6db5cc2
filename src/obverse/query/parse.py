"""Text → one SELECT tree, and what was asked beside it: `DP-SELECT 0.5 …`, or `SELECT … WITH (epsilon = 0.5)`."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from obverse.errors import BadQuestion
from obverse.query.bigquery import bounds_as_calls
from obverse.query.clauses import check
from obverse.query.heads import options
from obverse.query.options import Options

_DASHED = re.compile(r"dp\W*(select)?", re.IGNORECASE)
LONGEST = 64 * 1024
DEEPEST = 200
NOT_SQL = "this is not SQL that can be read"
# What the parser raises of text that is no SQL: its own errors, and where it trips over a part that is not there.
STUMBLES = (SqlglotError, RecursionError, TypeError, AttributeError, IndexError, KeyError, ValueError)
SYNONYMS: dict[str, type[exp.Expr]] = {"VAR": exp.Variance, "MEAN": exp.Avg}
STARTS = (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN)


def _unsaid(record: logging.LogRecord) -> bool:
    """Nothing of what the parser would log: it quotes questions, and what it warns of is refused."""
    return False


logging.getLogger("sqlglot").addFilter(_unsaid)


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
    dialect = DuckDB()
    try:
        tokens = dialect.tokenize(sql)
    except SqlglotError:
        raise BadQuestion(f"{NOT_SQL}: a quotation mark or a comment is opened and never closed") from None
    if "`" in sql and any(token.text == "`" or token.text.startswith("`") for token in tokens):
        raise BadQuestion('names are quoted as "name" here, not with backticks')
    kept, said = options(_checked(tokens))
    if kept and kept[0].token_type not in STARTS:
        raise BadQuestion(_changes(kept[0].text))
    kept = bounds_as_calls(kept, said.clause)
    return Parsed(_select(dialect, kept, sql), said, " ".join([_spelt(token) for token in kept]))


def _checked(tokens: list[Token]) -> list[Token]:
    """The tokens, if they are not too deep."""
    depth = 0
    for token in tokens:
        kind = token.token_type
        if kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END):
            depth -= 1
        if depth > DEEPEST:
            raise BadQuestion(f"a question nests at most {DEEPEST} deep")
    return tokens


def _changes(word: str) -> str:
    if _DASHED.fullmatch(word):
        return "DP-SELECT is written with a hyphen or as DP_SELECT: DP-SELECT 0.5 COUNT(*) FROM …"
    return (
        f"{word[:40].upper()} is not answered, since a question changes nothing and looks at nothing but "
        "declared tables: SELECT and DP-SELECT are, EXPLAIN before them, DESCRIBE of a table, and SHOW BUDGET"
    )


def _select(dialect: DuckDB, tokens: list[Token], sql: str) -> exp.Select:
    try:
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except STUMBLES as error:
        raise BadQuestion(f"{NOT_SQL}: {_place(error)}") from None
    if not trees:
        raise BadQuestion("there is no question: SELECT COUNT(*) FROM …")
    if len(trees) > 1:
        raise BadQuestion(f"ask one question at a time, not {len(trees)}")
    if isinstance(trees[0], exp.SetOperation):
        raise BadQuestion(
            "answers are not put together by UNION, INTERSECT or EXCEPT: ask one question each, "
            "or UNION ALL rows in FROM"
        )
    if not isinstance(trees[0], exp.Select):
        raise BadQuestion(f"{NOT_SQL}: a question is one SELECT, without brackets about it")
    _as_known(trees[0])
    check(trees[0])
    return trees[0]


def _as_known(select: exp.Select) -> None:
    """Aggregates that the parser does not know by these names, by those that it knows; COUNT() is COUNT(*)."""
    for node in list(select.find_all(exp.Anonymous, exp.Count)):
        if isinstance(node, exp.Count):
            if not node.this and not node.expressions:
                node.set("this", exp.Star())
        elif (kind := SYNONYMS.get(node.name.upper())) is not None and len(node.expressions) == 1:
            node.replace(kind(this=node.expressions[0]))


def _spelt(token: Token) -> str:
    """A token in one spelling: words in lower case, quoted ones as they stand."""
    kind = token.token_type
    if kind is TokenType.STRING or kind is TokenType.IDENTIFIER:
        return repr((kind.name, token.text))
    return token.text.lower()


def _place(error: Exception) -> str:
    places = getattr(error, "errors", [])
    if not places:
        return "it nests too deep" if isinstance(error, RecursionError) else "something is missing in it"
    first = places[0]
    word = " ".join(str(first.get("highlight") or "").split())[:40]
    at = f"at {word}, " if word else ""
    return f"it goes wrong {at}line {first.get('line')}, column {first.get('col')}; look at what stands right before"
