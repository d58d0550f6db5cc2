"""Asked by accuracy: `… WITHIN 5 CONFIDENCE 0.95` for the least ε whose ± is at most 5; or `WITHIN 5 PERCENT`.

Where a ± depends on the noise alone, as that of counts and sums, the least ε is found before anything is read or
charged. Where it depends on the answer (a percentage of it, an average, a ratio), a first question is asked for a
sixteenth of what may be spent, and charged; from its released numbers follows what a second one needs, which is
charged like any other: the ledger's filter holds although the second depends on the first [RRUV16]. The
second has noise of its own, so that its ± holds as stated, whatever made us ask it so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, isfinite, prod

from sqlglot import exp

from obverse.errors import BadQuestion
from obverse.query.answer import Answer, Answering
from obverse.query.options import EPSILON_RANGE, Aim, Within
from obverse.query.plan import AskPlan
from obverse.query.recipes import Recipe, Total
from obverse.query.released import Row
from obverse.query.stated import Stated

FIRST = Fraction(1, 16)
FINE = 1 << 20  # ε is found to one part in so many of the most that may be spent
Planned = Callable[[Fraction], AskPlan]


def aimed(planned: Planned, most: Fraction, within: Within, spent: Fraction | None) -> AskPlan:
    """The plan for a ±: the cheapest where that is known, else the first of two; `spent` is the second one's ε."""
    widest = planned(most)
    for item, used in zip(widest.question.items, widest.used, strict=True):
        if any(widest.numbers[place].margin(0.95, 1) is None for place in used):
            raise BadQuestion(f"{item.name} has no ±, so that it cannot be asked for WITHIN one: say an ε")
    if within.percent or wide(widest) is None:
        if widest.naming is not None:
            raise BadQuestion(
                "WITHIN a share, or of averages, asks twice, and groups that are found in the data would be "
                "named twice: say an ε"
            )
        aim = Aim(within, most, steps=True)
        return replace(planned(most * FIRST if spent is None else spent), aim=aim, fresh=True)
    if _wider(widest, within):
        raise BadQuestion(_too_little(planned, most, within))
    return replace(planned(_least(lambda at: not _wider(planned(at), within), most)), aim=Aim(within, most))


def _wider(plan: AskPlan, within: Within) -> bool:
    found = wide(plan)
    return found is None or found > within.margin


def _least(enough: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The least ε that is enough, to one part in 2²⁰ of the most."""
    low, high = 0, FINE
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(most * middle / FINE) else (middle, high)
    return most * high / FINE


def _too_little(planned: Planned, most: Fraction, within: Within) -> str:
    found, enough = wide(planned(most)), most
    while enough < EPSILON_RANGE[1] and _wider(planned(enough), within):
        enough = min(2 * enough, EPSILON_RANGE[1])
    if _wider(planned(enough), within):
        return f"no ε brings the ± down to {within}: with all of {float(most):g} it is {found:,.4g}"
    needed = _least(lambda at: not _wider(planned(at), within), enough)
    spelt = ceil(needed * 1000) / 1000 if needed > Fraction(1, 100) else float(needed)
    return (
        f"± {within} takes ε = {spelt:g}, and this question may spend {float(most):g}, for ± {found:,.4g}: "
        f"start it with DP-SELECT {spelt:g}, or allow more"
    )


def wide(plan: AskPlan) -> float | None:
    """The largest ± of any number, if no answer changes it."""
    if not all(
        _fixed(item.tree, plan.recipes)
        for item, used in zip(plan.question.items, plan.used, strict=True)
        if used
    ):
        return None
    parts = 1
    for kept in plan.question.sets:
        rolled = [key.domain for place, key in enumerate(plan.question.keys) if place not in kept]
        if any(domain is None for domain in rolled):
            return None
        parts = max(parts, prod(len(domain or ()) for domain in rolled))
    row = Row((), [Fraction(0)] * len(plan.recipes), parts=parts)
    stated, nothing = Stated(plan.confidence, plan.noise), (0,) * len(plan.numbers)
    around = [plan.around(place, row, nothing, stated) for place, used in enumerate(plan.used) if used]
    return max((float(each.high - each.low) / 2 for each in around if each is not None), default=0.0)


def _fixed(tree: exp.Expr, recipes: tuple[Recipe, ...]) -> bool:
    """Whether it adds up totals, each times a constant."""
    if isinstance(tree, exp.Column):
        return tree.table == "§aggregate" and isinstance(recipes[int(tree.name)], Total)
    if isinstance(tree, exp.Paren | exp.Neg):
        return _fixed(tree.this, recipes)
    if isinstance(tree, exp.Add | exp.Sub):
        return all(_constant(each) or _fixed(each, recipes) for each in (tree.this, tree.expression))
    if isinstance(tree, exp.Mul):
        one, other = tree.this, tree.expression
        return (_constant(one) and _fixed(other, recipes)) or (_fixed(one, recipes) and _constant(other))
    return isinstance(tree, exp.Div) and _fixed(tree.this, recipes) and _constant(tree.expression)


def _constant(tree: exp.Expr) -> bool:
    return (
        not tree.is_string
        if isinstance(tree, exp.Literal)
        else isinstance(tree, exp.Paren | exp.Neg) and _constant(tree.this)
    )


def further(planned: Planned, first: AskPlan, answer: Answer) -> Fraction:
    """The ε of the second question: the least whose ±, were it to find what the first one found, is small enough."""
    assert first.aim is not None
    most, within = first.aim.most * (1 - FIRST), first.aim.within
    shown = set(answer.rows)
    whole = _unfiltered(first).present(answer.groups, answer.totals, first.confidence)
    needed = _wanted(whole, within)

    def enough(epsilon: Fraction) -> bool:
        second = _unfiltered(planned(epsilon))
        worst = tuple(_worst(steps, (first, second)) for steps in answer.totals)
        expected = second.present(answer.groups, worst, first.confidence)
        return all(
            margin is None or margin <= wanted or row not in shown
            for row, margins, wanteds in zip(whole.rows, expected.margins, needed, strict=True)
            for margin, wanted in zip(margins, wanteds, strict=True)
        )

    return _least(enough, most) if enough(most) else most


def _unfiltered(plan: AskPlan) -> AskPlan:
    """The plan that shows every group, in the order they are known in."""
    question = replace(plan.question, having=None, order=(), limit=None, offset=0)
    return replace(plan, question=question, smallest_group=None)


def _worst(steps: tuple[int, ...], plans: tuple[AskPlan, ...]) -> tuple[int, ...]:
    """What a second answer may find, both being off by their ±: fewer to divide by, and more to divide."""
    found = []
    for place, step in enumerate(steps):
        number = plans[0].numbers[place]
        widths = [plan.numbers[place].margin(float(plan.confidence), 1) or 0 for plan in plans]
        off = int(sum(widths, Fraction(0)) / number.grid)
        found.append(step - off if number.measure.counts else step + (off if step > 0 else -off))
    return tuple(found)


def _wanted(answer: Answer, within: Within) -> list[list[float]]:
    """What ± each number may have; of a share, from where its interval comes closest to 0.

    With ± m about a number that is off by m at most, m ≤ s·(|x| − 2m) leaves m ≤ s·|answer| less m.
    """
    share = float(within.margin) / 100

    def wanted(cell: object, margin: float | None) -> float:
        if margin is None or not isinstance(cell, int | float) or not within.percent:
            return float(within.margin)
        return share * max(abs(float(cell)) - margin, 0.0) / (1 + 2 * share)

    return [
        [wanted(cell, margin) for cell, margin in zip(row, margins, strict=True)]
        for row, margins in zip(answer.rows, answer.margins, strict=True)
    ]


def reached(answer: Answer, within: Within) -> bool:
    """Whether every number's ± is as small as was asked: of a share, of all that the number may have been."""
    share = float(within.margin) / 100
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        for cell, margin in zip(row, margins, strict=True):
            if margin is None:
                continue
            assert isinstance(cell, int | float)
            most = share * (abs(cell) - margin) if within.percent else float(within.margin)
            if not isfinite(margin) or margin > most:
                return False
    return True


def kept_to(plan: Answering, answer: Answer) -> list[str]:
    """Whether an answer keeps to the ± that was asked for, in words."""
    if not isinstance(plan, AskPlan) or plan.aim is None:
        return []
    within, most = plan.aim.within, float(plan.aim.most)
    if reached(answer, within):
        return [f"asked for by accuracy: every ± is within {within}"]
    return [f"not reached: some ± is wider than {within}, with at most ε = {most:.7g} to spend"]


def in_all(plan: object) -> str:
    """What may be spent beyond a plan's own cost, where it is the first of two."""
    if not isinstance(plan, AskPlan) or plan.aim is None or not plan.aim.steps:
        return ""
    return f" first, and up to ε = {float(plan.aim.most):.7g} in all, as far as ± {plan.aim.within} takes it"
