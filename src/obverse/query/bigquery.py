"""BigQuery's privacy clause: bounds on what one person adds, as its documentation means them.

    SELECT WITH DIFFERENTIAL_PRIVACY
      OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 2, privacy_unit_column = id)
      item, COUNT(*, contribution_bounds_per_group => (0, 3)), AVG(price, contribution_bounds_per_group => (0, 100))
    FROM sales GROUP BY item

Bounds per group hold for what *one person's* rows of a group come to: COUNT and SUM add these up, and AVG is the
average of people's averages, with bounds or without ["Differentially private aggregate functions", GoogleSQL for
BigQuery, AVG: "first computes the average per privacy unit column, and then … averages these"]. So the question becomes
one of a subquery with a row for each person and group, of which `max_groups_contributed` count. Bounds per row clamp
each row's value. All of it only tightens what the curator declared; what would widen it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.aggregates import PER_GROUP, PER_ROW, is_aggregate
from obverse.query.keys import named
from obverse.query.options import Clause
from obverse.query.relation import Relation
from obverse.query.resolve import Question, resolve
from obverse.query.sources import Sources
from obverse.query.typed import shown, titled

OWNER, ROWS, PEOPLE, VALUE = "obverse whose", "obverse rows", "obverse people", "obverse value"
_OURS = re.compile(rf'(?:SUM|AVG)\("{VALUE} (\d+)"(?:, {PER_ROW} => \([^()]*\))?\)|"{VALUE} (\d+)"')


def bounds_as_calls(tokens: list[Token], clause: Clause | None) -> list[Token]:
    """`SUM(x, contribution_bounds_per_group => (0, 3))` as a call about it: `CONTRIBUTION_…(SUM(x), 0, 3)`."""
    for token, after in zip_longest(tokens, tokens[1:]):
        name = token.text.lower() if token.token_type is TokenType.VAR else ""
        arrow = after is not None and after.token_type is TokenType.FARROW
        if name in (PER_GROUP, PER_ROW) and (clause is None or not arrow):
            raise BadQuestion(
                f"{name} is a part of BigQuery's clause: SELECT WITH DIFFERENTIAL_PRIVACY "
                f"OPTIONS (epsilon = 1) SUM(x, {name} => (0, 100)) FROM …"
            )
    while (at := _first(tokens)) is not None:
        start, end = _call(tokens, at), _closing(tokens, at + 2)
        bounds, close = tokens[at + 3 : end], end + 1
        if close >= len(tokens) or tokens[close].token_type is not TokenType.R_PAREN:
            raise BadQuestion(f"{tokens[at].text} => (low, high) stands last, as in COUNT(*, … => (0, 3))")
        comma, opened = tokens[at - 1], tokens[at + 2]
        closed = tokens[end]
        call = [_done(tokens[at]), opened, *tokens[start : at - 1], closed, comma, *bounds, closed]
        tokens = [*tokens[:start], *call, *tokens[close + 1 :]]
    return tokens


def _done(token: Token) -> Token:
    return Token(TokenType.VAR, token.text.lower(), token.line, token.col, token.start, token.end)


def _first(tokens: list[Token]) -> int | None:
    arrows = (at for at, token in enumerate(tokens) if token.token_type is TokenType.FARROW)
    return next(
        (at - 1 for at in arrows if at > 1 and tokens[at - 1].text.lower() in (PER_GROUP, PER_ROW)), None
    )


def _call(tokens: list[Token], at: int) -> int:
    """Where the call begins that a named argument is in."""
    depth = 0
    for place in range(at - 1, 0, -1):
        kind = tokens[place].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0:
            if tokens[at - 1].token_type is TokenType.COMMA:
                return place - 1
            break
    raise BadQuestion(
        f"{tokens[at].text} stands in an aggregate, as in SUM(x, {tokens[at].text.lower()} => (0, 100))"
    )


def _closing(tokens: list[Token], at: int) -> int:
    """Where the bracket closes that opens here."""
    kinds = [token.token_type for token in tokens[at:]]
    if not kinds or kinds[0] is not TokenType.L_PAREN or TokenType.R_PAREN not in kinds:
        raise BadQuestion(
            "contribution bounds are two numbers, as in contribution_bounds_per_group => (0, 100)"
        )
    return at + kinds.index(TokenType.R_PAREN)


def _calls(select: exp.Select, relation: Relation) -> list[exp.Expr]:
    """The aggregates of a question about people, each once; none if it is about rows."""
    calls = list({call: None for root in _shown(select) for call in _aggregates(root)})
    return calls if relation.owner is not None and any(_by_person(call) for call in calls) else []


def of_people(select: exp.Select, relation: Relation, calls: list[exp.Expr]) -> exp.Select:
    """The question of a subquery that has a row for each person and group."""
    keys = {node: f"obverse key {place}" for place, node in enumerate(_keys(select, relation))}
    values = {call: f"{VALUE} {place}" for place, call in enumerate(calls)}
    where, group = select.args.get("where"), [exp.column(OWNER, quoted=True)]
    group += [exp.column(name, quoted=True) for name in keys.values()]
    columns = [exp.alias_(_owner(relation), OWNER, quoted=True)]
    columns += [exp.alias_(node.copy(), name, quoted=True) for node, name in keys.items()]
    columns += [exp.alias_(_value(call), name, quoted=True) for call, name in values.items()]
    read = exp.Select(expressions=columns)
    for clause in ("with_", "from_", "joins"):
        read.set(clause, select.args.get(clause))
    read.set("where", where)
    each = exp.Select(expressions=[*group, *(_each(call, name) for call, name in values.items())])
    each = each.from_(exp.Subquery(this=read, alias=_alias(ROWS))).group_by(*group, copy=False)
    asked = exp.Select(expressions=[_named(node, keys, values) for node in select.expressions])
    asked = asked.from_(exp.Subquery(this=each, alias=_alias(PEOPLE)))
    if keys:
        asked = asked.group_by(*group[1:], copy=False)
    for clause in ("having", "order", "limit", "offset"):
        if (said := select.args.get(clause)) is not None:
            asked.set(clause, _over(said, keys, values))
    return asked


def _shown(select: exp.Select) -> list[exp.Expr]:
    clauses = (select.args.get(name) for name in ("having", "order"))
    return [*select.expressions, *(clause for clause in clauses if clause is not None)]


def _aggregates(root: exp.Expr) -> list[exp.Expr]:
    """The outermost aggregates of an expression."""
    if is_aggregate(root):
        return [root]
    return [call for child in root.iter_expressions() for call in _aggregates(child)]


def _by_person(call: exp.Expr) -> bool:
    inner = call.this if isinstance(call, exp.Filter) else call
    return isinstance(inner, exp.Avg) or _bounds(inner) == PER_GROUP


def _spelt(call: exp.Expr) -> str:
    """An aggregate with its bounds, as it was written."""
    if not _bounds(call):
        return shown(call)
    bounds = ", ".join(shown(bound) for bound in call.expressions[1:])
    return f"{shown(call.expressions[0])[:-1]}, {_bounds(call)} => ({bounds}))"


def _bounds(call: exp.Expr) -> str:
    return call.name.lower() if isinstance(call, exp.Anonymous) else ""


def _keys(select: exp.Select, relation: Relation) -> list[exp.Expr]:
    group = select.args.get("group")
    if group is None:
        return []
    totals = any(isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets) for node in group.expressions)
    if totals or any(value for name, value in group.args.items() if name != "expressions"):
        raise BadQuestion("averages of people go by keys alone: GROUP BY a, b without ROLLUP, CUBE or ALL")
    return list(dict.fromkeys(named(node, select, relation) for node in group.expressions))


def _owner(relation: Relation) -> exp.Expr:
    owners = [field for field in relation.fields if field.owner]
    if not owners:
        raise BadQuestion(
            "whose a row is stands in none of these columns, so that averages of people cannot be put into SQL: "
            "clamp rows with contribution_bounds_per_row"
        )
    return exp.column(owners[0].name, table=owners[0].qualifier or None, quoted=True)


def _plain(call: exp.Expr) -> exp.Expr:
    """The aggregate that bounds are about."""
    if isinstance(call, exp.Filter):
        raise BadQuestion(
            f"{shown(call)}: of people, put the condition inside, as in SUM(CASE WHEN … THEN x END)"
        )
    inner = call.expressions[0] if _bounds(call) == PER_GROUP else call
    if not isinstance(inner, exp.Count | exp.Sum | exp.Avg) or isinstance(inner.this, exp.Distinct):
        raise BadQuestion(
            f"{_spelt(call)} is of rows, in a question about what each person comes to: ask for it by itself; "
            "COUNT, SUM and AVG are answered of people"
        )
    return inner


def _value(call: exp.Expr) -> exp.Expr:
    inner = _plain(call).this
    return exp.Literal.number("1") if isinstance(inner, exp.Star) else inner.copy()


def _each(call: exp.Expr, name: str) -> exp.Expr:
    """What one person's rows of a group come to."""
    return exp.alias_(type(_plain(call))(this=exp.column(name, quoted=True)), name, quoted=True)


def _over_people(call: exp.Expr, name: str) -> exp.Expr:
    """The aggregate of what people come to: counts and sums add up, averages are averaged."""
    kind = exp.Avg if isinstance(_plain(call), exp.Avg) else exp.Sum
    total = kind(this=exp.column(name, quoted=True))
    if _bounds(call) != PER_GROUP:
        return total
    return exp.Anonymous(this=PER_ROW, expressions=[total, *(bound.copy() for bound in call.expressions[1:])])


def _named(node: exp.Expr, keys: dict[exp.Expr, str], values: dict[exp.Expr, str]) -> exp.Expr:
    """A column of the answer, called as it would have been."""
    inner = node.this if isinstance(node, exp.Alias) else node
    return exp.alias_(
        _over(inner, keys, values),
        node.alias or (titled(inner) if inner in keys else _spelt(inner)),
        quoted=True,
    )


def _over(root: exp.Expr, keys: dict[exp.Expr, str], values: dict[exp.Expr, str]) -> exp.Expr:
    def told(node: exp.Expr) -> exp.Expr:
        if node in values:
            return _over_people(node, values[node])
        return exp.column(keys[node], quoted=True) if node in keys else node

    return root.copy().transform(told, copy=False)


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def asked(select: exp.Select, schemas: Mapping[str, Schema], clause: Clause | None) -> Question:
    """What a SELECT asks, under BigQuery's clause if it has one."""
    if clause is None:
        return resolve(select, schemas)
    relation = Sources(schemas, {}).of(select)
    whose(relation, clause)
    found = clause.strategy == "LAPLACE_THRESHOLD"
    calls = _calls(select, relation)
    for call in calls:
        if _bounds(call) and not all(_constant(bound) for bound in call.expressions[1:]):
            raise BadQuestion(f"{_spelt(call)}: its contribution bounds are two numbers, as in => (0, 100)")
    _within(relation, clause, people=bool(calls))
    if not calls:
        return tightened(resolve(select, schemas, found=found), clause, people=False)

    def told(text: str) -> str:
        return _OURS.sub(lambda ours: _spelt(calls[int(ours[1] or ours[2])]), text)

    try:
        question = resolve(of_people(select.copy(), relation, calls), schemas, found=found)
    except BadQuestion as refusal:
        raise BadQuestion(told(str(refusal))) from None
    aggregates = tuple(replace(each, text=told(each.text)) for each in question.aggregates)
    return tightened(replace(question, aggregates=aggregates), clause, people=True)


def _constant(bound: exp.Expr) -> bool:
    inner = bound.this if isinstance(bound, exp.Neg) else bound
    return isinstance(inner, exp.Literal) and not inner.is_string


def _within(relation: Relation, clause: Clause, *, people: bool) -> None:
    """Refuse bounds that are wider than what the curator declared."""
    unit = relation.rows.unit
    most = unit.rows if unit.column is not None else 1
    for name, asked in (("max_rows_contributed", clause.rows), ("max_groups_contributed", clause.groups)):
        if asked is not None and asked > most and unit.told:
            raise BadQuestion(
                f"{name} = {asked}: {most:,} of one person count here, and a question only takes fewer"
            )
    if clause.rows is not None and people:
        raise BadQuestion(
            "AVG and bounds per group are of each person in each group: say max_groups_contributed, "
            "not max_rows_contributed"
        )


def tightened(question: Question, clause: Clause, *, people: bool) -> Question:
    """The question with no more rows and groups of one person than the clause says; of people a group is one row."""
    read = question.relation.rows
    unit = read.unit
    if unit.column is not None:
        rows = min(unit.rows, clause.rows or unit.rows, (clause.groups if people else None) or unit.rows)
        groups = unit.groups if clause.groups is None else min(clause.groups, unit.groups or clause.groups)
        read = read.fewer(rows, groups)
    if clause.strategy == "PUBLIC_GROUPS" and question.found:
        raise BadQuestion(
            "PUBLIC_GROUPS names groups that are known in public, and some key here has values that are not: "
            "declare its categories, or let LAPLACE_THRESHOLD find them"
        )
    return replace(question, relation=replace(question.relation, rows=read))


def whose(relation: Relation, clause: Clause) -> None:
    """Refuse a privacy unit that is not the declared one."""
    if clause.unit is None:
        return
    owners = {field.name for field in relation.fields if field.owner}
    name = clause.unit.rpartition(".")[2].strip('"')
    if name.lower() not in {owner.lower() for owner in owners}:
        known = f"is {' or '.join(sorted(owners))}" if owners else "is the row: leave privacy_unit_column out"
        raise BadQuestion(f"privacy_unit_column = {name[:40]}: what is declared to be protected {known}")
