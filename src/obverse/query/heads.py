"""What stands before and behind a SELECT, taken from its tokens: each dialect's way to say ε and how accurate.

    DP-SELECT 0.5 …        in any case, DP_SELECT too; ε, ϵ or EPSILON for the account's default
    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) …        as in BigQuery
    … WITHIN 5 PERCENT CONFIDENCE 0.95        by accuracy
    … WITH (epsilon = 0.5, delta = 1e-6)      by name

On tokens, since a tree would read ε as part of the first expression, and text would see comments and strings. A number
right behind DP-SELECT is ε, whatever follows.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from obverse.errors import BadQuestion
from obverse.query.options import (
    STRATEGIES,
    Clause,
    Options,
    Strategy,
    Within,
    count_of,
    epsilon_of,
    exact,
    flag_of,
    share_of,
)

LETTERS = ("ε", "ϵ", "epsilon")
ASKED = "DP-SELECT 0.5 COUNT(*) FROM …"
_OPENING, _CLOSING = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)
_JOINING = (TokenType.PLUS, TokenType.SLASH, TokenType.MOD, TokenType.CARET, TokenType.DPIPE, TokenType.DIV)
_WITH = ("epsilon", "delta", "confidence", "nonnegative", "fresh")
_BOUNDS = (
    "max_groups_contributed",
    "max_rows_contributed",
    "privacy_unit_column",
    "group_selection_strategy",
)
_CLAUSE = ("epsilon", "delta", *_BOUNDS)
Given = dict[str, str]


def options(tokens: list[Token]) -> tuple[list[Token], Options]:
    """The SELECT's own tokens, and what was said beside it."""
    kept, given = _behind(tokens)
    kept, said = _before(kept)
    if said.epsilon is not None and given.epsilon is not None:
        raise BadQuestion("ε is given twice: say it once, before the SELECT or in WITH (…)")
    if said.delta is not None and given.delta is not None:
        raise BadQuestion("delta is given twice: say it once, in OPTIONS (…) or in WITH (…)")
    return kept, replace(
        given,
        epsilon=given.epsilon if said.epsilon is None else said.epsilon,
        delta=given.delta if said.delta is None else said.delta,
        clause=said.clause,
    )


def _behind(tokens: list[Token]) -> tuple[list[Token], Options]:
    """WITHIN … CONFIDENCE … and WITH (…) at the end."""
    end = len(tokens)
    while end and tokens[end - 1].token_type is TokenType.SEMICOLON:
        end -= 1
    kept, given = _options(tokens[:end])
    kept, within, confidence = _within(kept)
    if within is not None and given == Options():
        kept, given = _options(kept)  # WITH (…) stands before WITHIN
    if confidence is not None and given.confidence is not None:
        raise BadQuestion("confidence is given twice: behind WITHIN and in WITH (…)")
    return kept, replace(given, within=within, confidence=confidence or given.confidence)


def _options(tokens: list[Token]) -> tuple[list[Token], Options]:
    start = _opened(tokens, len(tokens) - 1)
    inside = tokens[start + 1 : -1]
    if start < 1 or tokens[start - 1].token_type is not TokenType.WITH:
        return tokens, Options()
    given = _pairs(inside, "WITH", _WITH)
    return tokens[: start - 1], Options(
        epsilon_of(given["epsilon"]) if "epsilon" in given else None,
        share_of("delta", given["delta"]) if "delta" in given else None,
        share_of("confidence", given["confidence"]) if "confidence" in given else None,
        flag_of("nonnegative", given.get("nonnegative", "false")),
        flag_of("fresh", given.get("fresh", "false")),
    )


def _opened(tokens: list[Token], place: int) -> int:
    """Where the bracket opens that closes here; −1 if none does."""
    depth = 0
    for at in range(place, -1, -1):
        kind = tokens[at].token_type
        depth += (kind in _CLOSING) - (kind in _OPENING)
        if depth <= 0:
            return at if at < place else -1
    return -1


def _pairs(tokens: list[Token], where: str, known: tuple[str, ...]) -> Given:
    """name = value, name = value."""
    given: Given = {}
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts[:-1] if len(parts) > 1 and not parts[-1] else parts:
        if len(part) < 3 or part[1].token_type is not TokenType.EQ:
            raise BadQuestion(f"{where} holds name = value, as in {where} (epsilon = 0.5)")
        name = part[0].text.lower()
        if name not in known:
            raise BadQuestion(f"{where} has no option {name[:40]}; it has {', '.join(known)}")
        if name in given:
            raise BadQuestion(f"{where} gives {name} twice")
        given[name] = "".join(token.text for token in part[2:])
        if name in _WITH:
            given[name] = given[name].lower()
    return given


def _within(tokens: list[Token]) -> tuple[list[Token], Within | None, Fraction | None]:
    """… WITHIN 5 [PERCENT] [CONFIDENCE 0.95]."""
    first = max(1, len(tokens) - 8)
    places = [at for at in range(first, len(tokens)) if tokens[at].text.lower() == "within"]
    at = places[-1] if places else 0
    rest = tokens[at + 1 :]
    if not at or tokens[at].token_type is not TokenType.VAR or not rest or _group(rest[0]):
        return tokens, None, None
    text, used = _number(rest)
    if text is None:
        raise BadQuestion("WITHIN is followed by a number, as in WITHIN 5 PERCENT CONFIDENCE 0.95")
    margin = exact("WITHIN", text)
    rest = rest[used:]
    percent = bool(rest) and rest[0].text.lower() in ("percent", "%")
    rest = rest[1:] if percent else rest
    confidence = None
    if rest:
        text, used = _number(rest[1:])
        if rest[0].text.lower() != "confidence" or text is None or used + 1 != len(rest):
            raise BadQuestion(
                "WITHIN ends as in WITHIN 5 PERCENT CONFIDENCE 0.95, and then WITH (…) if anything"
            )
        confidence = share_of("CONFIDENCE", text)
    if not margin:
        raise BadQuestion(
            "WITHIN 0 would be the exact number, and that cannot be private: allow a little more"
        )
    return tokens[:at], Within(margin, percent), confidence


def _group(token: Token) -> bool:
    """Whether it makes WITHIN part of an aggregate, or a name: WITHIN GROUP (…), AS within."""
    return token.token_type not in (TokenType.NUMBER, TokenType.DOT, TokenType.DASH, TokenType.STRING)


def _number(tokens: list[Token]) -> tuple[str | None, int]:
    """A number's text and of how many tokens it is: `.5` is two."""
    if tokens and tokens[0].token_type is TokenType.NUMBER:
        return tokens[0].text, 1
    pair = tokens[:2]
    if len(pair) == 2 and pair[0].token_type is TokenType.DOT and pair[1].token_type is TokenType.NUMBER:
        return f".{pair[1].text}", 2
    return None, 0


def _before(tokens: list[Token]) -> tuple[list[Token], Options]:
    """DP-SELECT ε or SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…), at the start or behind WITH … AS (…)."""
    depth, said, kept, seen = 0, Options(), list(tokens), False
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        kind = token.token_type
        depth += (kind in _CLOSING) - (kind in _OPENING)
        width = _head(tokens, at) if kind is TokenType.VAR and token.text[:2].lower() == "dp" else 0
        clause = kind is TokenType.SELECT and _is_clause(tokens, at)
        if not (width or clause):
            continue
        own = depth == 0 and (at == 0 or tokens[at - 1].token_type is TokenType.R_PAREN)
        if not own or seen:
            raise BadQuestion(
                f"ε is for the whole question: say DP-SELECT once, at its own SELECT, as in {ASKED}"
            )
        kept, said = _clause(kept, at) if clause else _dp_select(kept, at, width)
        seen = True
    return kept, said


def _head(tokens: list[Token], at: int) -> int:
    """How many tokens DP-SELECT takes here; 0 if it does not stand here."""
    word = tokens[at].text.lower()
    if word == "dp_select":
        behind = (
            at and tokens[0].token_type is TokenType.WITH and tokens[at - 1].token_type is TokenType.R_PAREN
        )
        return 1 if at == 0 or behind else 0
    if word != "dp" or at + 2 >= len(tokens) or tokens[at + 1].token_type is not TokenType.DASH:
        return 0
    return 3 if tokens[at + 2].token_type is TokenType.SELECT else 0


def _dp_select(tokens: list[Token], at: int, width: int) -> tuple[list[Token], Options]:
    """DP-SELECT [ε] as SELECT."""
    rest = tokens[at + width :]
    head = tokens[at + width - 1]
    select = Token(TokenType.SELECT, "SELECT", head.line, head.col, head.start, head.end)
    text, used = _number(rest)
    said = Options()
    if text is not None:
        said = Options(epsilon=epsilon_of(text))
        _stands_alone(rest[used - 1 :])
    elif rest and rest[0].token_type is TokenType.VAR and rest[0].text.lower() in LETTERS:
        used = 1
        _stands_alone(rest)
    elif rest and rest[0].token_type in (TokenType.DASH, TokenType.PLUS):
        raise BadQuestion(f"ε is a number above 0, as in {ASKED}")
    return [*tokens[:at], select, *rest[used:]], said


def _stands_alone(tokens: list[Token]) -> None:
    """Refuse what would make ε, the first of these, part of an expression."""
    epsilon, rest = tokens[0], tokens[1:]
    if not rest:
        return
    if rest[0].token_type is TokenType.COMMA:
        raise BadQuestion(f"no comma stands behind ε, and ε has a point: {ASKED}")
    kind, glued = rest[0].token_type, rest[0].start == epsilon.end + 1
    product = kind is TokenType.STAR and len(rest) > 1 and rest[1].text.lower() not in _AFTER_STAR
    if kind in _JOINING or product or (glued and kind in (TokenType.VAR, TokenType.NUMBER, TokenType.DOT)):
        raise BadQuestion(
            f"what stands right behind DP-SELECT is ε: a number by itself, as in {ASKED}; "
            "for an expression that starts with a number write ε first, as in DP-SELECT 0.5 2 * COUNT(*)"
        )


_AFTER_STAR = ("from", ",", ";", "exclude", "except", "replace", "rename")


def _is_clause(tokens: list[Token], at: int) -> bool:
    words = [token.text.lower() for token in tokens[at + 1 : at + 3]]
    return words == ["with", "differential_privacy"]


def _clause(tokens: list[Token], at: int) -> tuple[list[Token], Options]:
    """SELECT WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)] as SELECT."""
    rest = tokens[at + 3 :]
    given: Given = {}
    if len(rest) > 1 and rest[0].text.lower() == "options" and rest[1].token_type is TokenType.L_PAREN:
        kinds = [token.token_type for token in rest]
        end = kinds.index(TokenType.R_PAREN) if TokenType.R_PAREN in kinds else len(rest)
        given, rest = _pairs(rest[2:end], "OPTIONS", _CLAUSE), rest[end + 1 :]
    groups, rows = given.get("max_groups_contributed"), given.get("max_rows_contributed")
    if groups is not None and rows is not None:
        raise BadQuestion(
            "max_groups_contributed and max_rows_contributed go one without the other: leave one out"
        )
    clause = Clause(
        None if groups is None else count_of("max_groups_contributed", groups),
        None if rows is None else count_of("max_rows_contributed", rows),
        given.get("privacy_unit_column"),
        _strategy(given),
    )
    return [*tokens[: at + 1], *rest], Options(
        epsilon_of(given["epsilon"]) if "epsilon" in given else None,
        share_of("delta", given["delta"]) if "delta" in given else None,
        clause=clause,
    )


def _strategy(given: Given) -> Strategy | None:
    named = given.get("group_selection_strategy")
    for strategy in STRATEGIES:
        if named is not None and named.upper() == strategy:
            return strategy
    if named is not None:
        raise BadQuestion(f"group_selection_strategy is {' or '.join(STRATEGIES)}, not {named[:40]}")
    return None
