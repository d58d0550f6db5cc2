"""Which attacks were tried on a released table, and what they got: risks, thresholds, a verdict and its rule.

Every attack is also run on people who are not in the release, and on a planted copy that it must win. Targets are
drawn, never chosen; the guess and the control are beside every figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.anonymised import Composition, Describing, Homogeneity, Matching
from obverse.attack.base import Attack, Claims, Contest, Controls, Game, View, judge, shuffle
from obverse.attack.interval import Rate
from obverse.attack.mixed import encode, numeric, retyped
from obverse.attack.synthetic import (
    NOTHING,
    Closest,
    Inferring,
    Linking,
    SinglingOut,
    best_guess,
    halves,
    plain,
    within,
)
from obverse.errors import BadParameter
from obverse.evaluate.alike import alike
from obverse.evaluate.dates import dated
from obverse.evaluate.held import Held
from obverse.evaluate.named import by_name
from obverse.evaluate.played import guessed, seen, without
from obverse.evaluate.tried import ENOUGH, THRESHOLD, Tried, few
from obverse.evaluate.untested import unread, untested
from obverse.evaluate.vulnerable import vulnerable
from obverse.noise.entropy import Keyed

Truth = Callable[[Claims, pa.Table, pa.Table], NDArray[np.generic]]
"""For the judge: what is true of these people, where a claim of this release was made."""

QUESTIONS = ("singling out", "linkability", "inference", "membership")
TARGETS, PLANTED, SECRETS = 10_000, 500, 6
SHARP = 0.1  # of the rows, from which attacks on values alone are made


@dataclass(frozen=True)
class Assessment:
    """All attacks that were tried on one release."""

    tried: tuple[Tried, ...]
    untried: tuple[tuple[str, str], ...]
    vulnerable: tuple[str, Rate] | None
    threshold: float
    control: str
    seed: str
    identifiers: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def about(self, question: str) -> list[Tried]:
        """The attacks that bear on a question, the worst first: by word, then by what is certain of the risk.

        So no lucky attack on a handful of targets hides one that surely got through.
        """

        def badness(tried: Tried) -> tuple[int, float, float, float]:
            got = tried.evidence
            word = ("low", "unclear", "high").index(tried.word(self.threshold))
            return word, got.risk_interval[0], got.risk, got.success.share

        found = [tried for tried in self.tried if tried.evidence.harm == question]
        return sorted(found, key=badness, reverse=True)

    @property
    def worst(self) -> dict[str, Tried]:
        """The worst attack on each question that was asked."""
        return {question: found[0] for question in QUESTIONS if (found := self.about(question))}

    @property
    def named(self) -> list[Tried]:
        """Names put back by a list, where they are not already the worst about linkability."""
        shown = list(self.worst.values())
        return [
            each
            for each in self.tried
            if each.evidence.attack in ("Naming", "FuzzyLinkage") and each not in shown
        ]

    @property
    def verdict(self) -> tuple[str, str]:
        """What follows, and the rule that it follows from."""
        words = [tried.word(self.threshold) for tried in self.worst.values()]
        blind = [
            tried for tried in self.tried if tried.evidence.positive and tried.evidence.positive.low < 0.5
        ]
        share = f"{100 * self.threshold:g} %"
        if self.identifiers:
            return (
                "Do not release",
                f"the release holds {', '.join(self.identifiers)}, which says who people are",
            )
        if "high" in words:
            return "Do not release", f"the whole 95 % interval of a risk lies above its threshold of {share}"
        if blind or not words:
            return "Not shown", "an attack that cannot find a planted copy shows nothing about this release"
        if self.unread:
            return (
                "Not shown",
                f"the texts of {few(self.unread)} are none of the people's: nothing is shown about them",
            )
        if "unclear" in words:
            return (
                "Undecided",
                f"no risk lies wholly above {share}, but the 95 % interval of one reaches beyond it",
            )
        return "No attack tried got through", f"every risk's whole 95 % interval lies at or below {share}"


def assess(
    release: pa.Table,
    known: Held,
    *,
    seed: str = "assess",
    threshold: float = THRESHOLD,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> Assessment:
    """Try on a table all that can be tried with what the curator holds."""
    if not 0 < threshold < 1:
        raise BadParameter(f"a threshold is a share between 0 and 1, not {threshold}")
    if (epsilon is not None and not epsilon >= 0) or not 0 <= delta < 1:
        raise BadParameter(f"ε is 0 or more, and δ 0 or more and below 1, not {epsilon} and {delta}")
    release = dated(release, known.people)
    columns, strange = alike(release, known)
    world = World(
        release.select(columns), known.within(columns), seed, Game(seed, ledger=epsilon, delta=delta)
    )
    tried = tuple(world.tried())
    untried = (*untested(world), *unread(release, known, strange))
    matched = next(each.wins for each in tried if each.evidence.attack == "Matching")
    rebuilt = vulnerable(world.known.people, world.quasi, world.drawn[0], matched)
    inside = tuple(name for name in known.identifiers if name in release.column_names)
    return Assessment(tried, untried, rebuilt, threshold, world.idle[2], seed, inside, tuple(strange))


@dataclass(frozen=True, eq=False)
class World:
    """One release, the people drawn as targets, and those who stand for everybody else."""

    release: pa.Table
    known: Held
    seed: str
    game: Game
    size: int = TARGETS
    copies: int = PLANTED

    @cached_property
    def sharp(self) -> World | None:
        """The part of the release that holds values: columns of which half the cells do, and rows where all then do.

        A cell that was suppressed here and there keeps no attacker from the rest.
        """
        names = self.release.column_names
        boxes = encode([self.release, self.known.people], names, self.known.ladders)[0]
        if boxes.exact:
            return self
        values = boxes.low == boxes.high
        kept = np.flatnonzero(values.mean(axis=0) >= 0.5)
        rows = values[:, kept].all(axis=1)
        if len(kept) < 2 or rows.sum() < max(ENOUGH, SHARP * len(rows)):
            return None
        columns = [names[place] for place in kept]
        release = retyped(self.release.select(columns).filter(pa.array(rows)), self.known.people)
        return replace(self, release=release, known=self.known.within(columns))

    @cached_property
    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the people are targets, and which tenth of all may be taken out as controls.

        No more than a tenth, lest the release without them teach less about everybody.
        """
        order = shuffle(self.known.people.num_rows, Keyed(self.seed))
        most = max(1, len(order) // 2)
        return order[: min(self.size, most)], order[most : most + min(self.size, len(order) // 10)]

    @cached_property
    def targets(self) -> pa.Table:
        return self.known.people.take(self.drawn[0])

    @cached_property
    def idle(self) -> tuple[pa.Table, pa.Table, str]:
        """A release and people who are not in it: the control given, or people whose rows are taken out of it."""
        if self.known.control is not None:
            outside = self.known.control
            order = shuffle(outside.num_rows, Keyed(self.seed))[: self.size]
            return (
                self.release,
                outside.take(order),
                f"{outside.num_rows:,} people whom the release was not made from",
            )
        people = self.known.people.take(self.drawn[1])
        release, found = without(self.release, people, self.known.ladders)
        if 2 * int(found.sum()) <= people.num_rows:
            return self.release, people.slice(0, 0), ""
        taken = people.filter(pa.array(found))
        return release, taken, f"{taken.num_rows:,} people whose rows were taken out of it"

    @cached_property
    def planted(self) -> pa.Table:
        """A leak that no attack may miss: a copy of some targets, no two alike in what they could be known by."""
        some = self.targets.slice(0, 4 * self.copies)
        numbered = some.append_column("row of it", pa.array(np.arange(some.num_rows)))
        first = numbered.group_by([n for n in self.quasi if n in some.column_names]).aggregate(
            [("row of it", "min")]
        )
        return some.take(np.sort(first["row of it_min"].to_numpy())[: self.copies])

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.known.quasi or tuple(self.release.column_names)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.known.sensitive or tuple(self.release.column_names))[-SECRETS:]

    def alike(self, secret: str) -> bool:
        """Whether the people's values of it can be held against the release's: a number is no interval."""
        return numeric(self.known.people, secret) == numeric(self.release, secret)

    @cached_property
    def linking(self) -> Linking | None:
        """The linking of two halves, where the release has two and can tell anything of them."""
        if len(self.release.column_names) < 2:
            return None
        attack = Linking(*halves(self.release.column_names))
        return attack if attack.alarms(self.release) < 0.5 else None

    def tried(self) -> Iterator[Tried]:
        """Every attack that fits this kind of release."""
        yield self.describing()
        yield self.matching()
        if self.known.listed is not None and self.known.names is not None:
            yield by_name(self.release, self.known, self.game, self.size, self.copies)
        if self.sharp is not None:
            yield from self.sharp._predicates()
            yield from self.sharp._linked()
        for secret in self.secrets:
            yield from self.inferring(secret)
        if (outside := self.known.control) is not None and outside.num_rows >= 100:
            yield self._membership(outside)

    def describing(self) -> Tried:
        """Whole rows as descriptions."""
        attack = Describing(self.size, self.known.ladders)
        return self._described(attack, attack.run(View({"release": self.release})))

    def _predicates(self) -> Iterator[Tried]:
        """A few columns as descriptions, where any such description fits one released row."""
        attack = SinglingOut(min(3, self.release.num_columns))
        yield self._described(attack, attack.run(View({"release": self.release})))

    def _linked(self) -> Iterator[Tried]:
        """Two halves of a record, where any two can be told to be one person's."""
        if (linking := self.linking) is None:
            return
        alarms = linking.alarms(self.release)
        for attack in (linking, replace(linking, near=True))[: 1 + (alarms > 0.01)]:
            alarms = attack.alarms(self.release)
            yield self._judged(attack, lambda _, people, __: np.ones(people.num_rows, bool), baseline=alarms)

    def _described(self, attack: SinglingOut | Describing, claims: Claims) -> Tried:
        """The descriptions, held against the people and against as many others where there are enough."""
        truth, outside, control = attack.truth(self.release, self.known.people), self.known.control, None
        if outside is not None and 2 * outside.num_rows >= self.known.people.num_rows:
            control = Controls(claims, attack.truth(self.release, outside))
        game = replace(self.game, baseline=0.0)
        if self.copies:
            game = replace(self.game, baseline=self._scrambled(attack), positive=self._planted(attack))
        return Tried(judge(attack, claims, truth, control, game))

    def _scrambled(self, attack: SinglingOut | Describing) -> float:
        """How often descriptions fit one person when each column is shuffled by itself: what a guess gets."""
        entropy = Keyed(self.seed + "scrambled")
        columns = {
            name: self.release[name].take(shuffle(self.release.num_rows, entropy))
            for name in self.release.column_names
        }
        truth = attack.truth(pa.table(columns), self.known.people)
        return float((truth != NOTHING).mean()) if len(truth) else 0.0

    def matching(self) -> Tried:
        attack = Matching(self.quasi, self.known.ladders)

        def truth(claims: Claims, people: pa.Table, release: pa.Table) -> NDArray[np.generic]:
            return attack.truth(claims, release, people)

        return self._judged(attack, truth, baseline=1 / self.release.num_rows)

    def inferring(self, secret: str) -> Iterator[Tried]:
        known = tuple(name for name in self.quasi if name != secret)
        if not known or not self.alike(secret):
            return
        ladders = self.known.ladders
        inferring, numbers = Inferring(known, secret, ladders=ladders), numeric(self.known.people, secret)

        def truth(claims: Claims, people: pa.Table, _: pa.Table) -> NDArray[np.generic]:
            true = plain(people, secret)
            return within(claims, true) if numbers else true

        best = best_guess(plain(self.targets, secret)) if numbers else None
        yield self._judged(inferring, truth, about=secret, baseline=best)
        if self.sharp is not self:
            sure = Homogeneity(known, secret, ladders)
            yield self._judged(sure, truth, about=secret, baseline=best, guess=secret)
        if (other := self.known.earlier) is not None:
            both = tuple(name for name in known if name in other.column_names)
            if both and secret in other.column_names:
                together = Composition(both, secret, ladders)
                yield self._judged(together, truth, secret, best, other, guess=secret)

    def _membership(self, outside: pa.Table) -> Tried:
        order = shuffle(outside.num_rows, Keyed(self.seed + "membership"))
        population, absent = (outside.take(part) for part in np.array_split(order, 2))
        views = [
            View({"release": self.release}, {"targets": people, "population": population})
            for people in (self.targets, absent.slice(0, self.size))
        ]
        yes = np.ones(self.targets.num_rows, bool)
        return Tried(Contest(Closest(), views[0], yes, views[1], None, self.game).evidence())

    def _judged(
        self,
        attack: Attack,
        truth: Truth,
        about: str = "",
        baseline: float | None = None,
        other: pa.Table | None = None,
        guess: str = "",
    ) -> Tried:
        """The attack on the targets, on the controls and on a planted copy.

        Where it is not sure it has the commonest `guess` of the release, so that it can be held against guessing.
        """
        release, controls, _ = self.idle
        sure = attack.run(seen(self.release, other, self.targets))
        claims = guessed(sure, self.release, guess)
        true = truth(claims, self.targets, self.release)
        control = None
        if controls.num_rows:
            left = None if other is None else without(other, controls, self.known.ladders)[0]
            idle = guessed(attack.run(seen(release, left, controls)), release, guess)
            control = Controls(idle, truth(idle, controls, release))
        positive = None
        if self.copies:
            found = attack.run(seen(self.planted, None if other is None else self.planted, self.planted))
            right = found.made & (found.values == truth(found, self.planted, self.planted))
            positive = Rate(int(right.sum()), len(right))
        game = replace(self.game, ledger=None, baseline=baseline, positive=positive)
        right = sure.made & (claims.values == true)
        note = f"sure of {int(sure.made.sum()):,}, {int(right.sum()):,} rightly; of the others it guesses"
        judged = judge(attack, claims, true, control, game)
        return Tried(judged, about, self.drawn[0][right], note if guess else "")

    def _planted(self, attack: SinglingOut | Describing) -> Rate | None:
        """What a description attack gets on a copy of some of the people, of the descriptions it can have there."""
        made = attack.run(View({"release": self.planted})).made
        right = made & (attack.truth(self.planted, self.planted) != NOTHING)
        return Rate(int(right.sum()), int(made.sum())) if made.sum() >= ENOUGH else None
