"""What an outsider sees, what he claims, and how sure we are: View, Attack, Claims, Evidence.

`attack.run(view)` never sees the truth; `judge(claims, truth, control)` alone does.
"""

from __future__ import annotations

import json
import platform
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from math import exp, inf, log
from time import perf_counter
from typing import ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.interval import Rate, lower, upper
from obverse.errors import BadParameter, BadSource, Broken
from obverse.noise.entropy import Entropy

Harm = Literal["singling out", "linkability", "inference", "membership", "reconstruction"]
LIMITS = (0.01, 0.001)  # the false positive rates at which true positives are told


class Answer(Protocol):
    """What came back for a question: rows."""

    @property
    def rows(self) -> Sequence[Sequence[object]]: ...


class Account(Protocol):
    """An analyst's side of the door, as the adversary uses it; a Refusal is an answer too."""

    def ask(self, sql: str) -> Answer: ...


@dataclass(frozen=True)
class View:
    """All that an outsider sees: what left, what he knew before, and perhaps an account of his own."""

    releases: Mapping[str, object] = field(default_factory=dict)
    auxiliary: Mapping[str, pa.Table] = field(default_factory=dict)
    account: Account | None = None

    def release(self, name: str) -> object:
        """The release of this name, whatever its kind."""
        if name not in self.releases:
            raise BadParameter(f"there is no release {name}; the view has {_list(self.releases)}")
        return self.releases[name]

    def table(self, name: str, columns: Sequence[str] = ()) -> pa.Table:
        """The released or auxiliary table of this name, with at least one row and these columns."""
        table = self.auxiliary.get(name, self.releases.get(name))
        if not isinstance(table, pa.Table):
            raise BadParameter(
                f"there is no table {name}; the view has {_list([*self.releases, *self.auxiliary])}"
            )
        missing = [column for column in columns if column not in table.column_names]
        if missing:
            raise BadSource(f"{name} has no column {_list(missing)}; it has {_list(table.column_names)}")
        if not table.num_rows:
            raise BadSource(f"{name} is empty: there is nothing to attack, or to attack with")
        return table

    def door(self) -> Account:
        """The live account; a refusal where the view has none."""
        if self.account is None:
            raise BadParameter("this attack asks questions: the view needs an account")
        return self.account


@dataclass(frozen=True, eq=False)
class Claims:
    """What an attack says of each of its targets, in the order in which the view named them.

    `values` is what it would claim (a person, a value, True for a member), `scores` how sure it is (more is
    surer; any scale), `made` where it does claim. Where two values are equally likely there is no claim.
    """

    values: NDArray[np.generic]
    scores: NDArray[np.float64]
    made: NDArray[np.bool_]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.values) == len(self.scores) == len(self.made):
            raise BadParameter("claims need a value, a score and a yes or no for every target")


class Attack(ABC):
    """One way to learn about people from releases. A frozen dataclass of public options."""

    harm: ClassVar[Harm]

    @property
    @abstractmethod
    def threat(self) -> str:
        """Who attacks, knowing what, wanting what: one sentence."""

    @abstractmethod
    def claim(self, view: View) -> Claims:
        """What the view lets us claim of each target."""

    def run(self, view: View) -> Claims:
        """The claims, and how long they took."""
        started = perf_counter()
        claims = self.claim(view)
        return replace(claims, seconds=perf_counter() - started)


@dataclass(frozen=True)
class Evidence:
    """What an attack got, and how sure we are.

    `control` is the same attack on people who are not in the release; `baseline` is what a guess reaches;
    `certified` is the ε that these figures prove from below, beside the `ledger`'s own; `groups` are the
    shares among people who matter most, since a whole population's share never stands alone; `positive` is
    what the same attack got on a planted leak.
    """

    attack: str
    harm: Harm
    threat: str
    targets: int
    claims: int
    right: int
    baseline: float
    control: Rate | None
    at_false_positives: tuple[tuple[float, Rate], ...]
    certified: float
    ledger: float | None
    seconds: float
    seed: str
    groups: tuple[tuple[str, Rate], ...] = ()
    positive: Rate | None = None
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def success(self) -> Rate:
        """Right claims, of all targets."""
        return Rate(self.right, self.targets)

    @property
    def precision(self) -> Rate:
        """Right claims, of those made."""
        return Rate(self.right, self.claims)

    @property
    def risk(self) -> float:
        """What the release adds: (main − control)/(1 − control), with the guess where there is no control."""
        return _beyond(self.success.share, self._idle[1])

    @property
    def risk_interval(self) -> tuple[float, float]:
        """Both intervals at their worst: no narrower than 95 %."""
        low, _, high = self._idle
        return _beyond(self.success.low, high), _beyond(self.success.high, low)

    @property
    def smallest(self) -> float:
        """The smallest risk that this many targets and controls could have told from none."""
        low, high = 0, self.targets + 1
        while low < high:
            middle = (low + high) // 2
            seen = middle <= self.targets and lower(middle, self.targets, 0.025) > self._idle[2]
            low, high = (low, middle) if seen or middle > self.targets else (middle + 1, high)
        return _beyond(low / self.targets, self._idle[1]) if 0 < low <= self.targets else 1.0

    @property
    def succeeded(self) -> bool:
        """Whether the attack beat both the guess and the control, by more than chance explains."""
        return self.success.low > max(self.baseline, self._idle[2])

    @property
    def _idle(self) -> tuple[float, float, float]:
        """What the attack gets without the release: low, likely, high."""
        rate = self.control
        return (rate.low, rate.share, rate.high) if rate else (self.baseline,) * 3

    def json(self) -> str:
        """Every figure, with those that follow from them, as one line of JSON."""
        derived = {"success": self.success, "precision": self.precision}
        figures = asdict(self) | {name: asdict(rate) for name, rate in derived.items()}
        for name, rate in derived.items():
            figures[name] |= {"share": rate.share, "low": rate.low, "high": rate.high}
        figures |= {"risk": self.risk, "risk_interval": self.risk_interval, "smallest_risk": self.smallest}
        return json.dumps(figures | {"certified": min(self.certified, 1e308)}, sort_keys=True)


@dataclass(frozen=True)
class Controls:
    """The same attack on people who are not in the release.

    Without a `truth` nothing can be right about them, and every claim counts against the attack.
    """

    claims: Claims
    truth: NDArray[np.generic] | None = None

    @property
    def rate(self) -> Rate:
        if self.truth is None:
            return Rate(int(self.claims.made.sum()), len(self.claims.made))
        return Rate(int((self.claims.made & (self.claims.values == self.truth)).sum()), len(self.claims.made))


@dataclass(frozen=True)
class Game:
    """What the judge knows of the release and the game, besides the truth.

    `coins`: the truth was drawn by independent fair coins, one a target. `ledger` and `delta`: the loss charged
    for what differs when one coin falls the other way or one member is absent (a changed value is a person less
    and a person more, unless only counts of one of the two values were asked). `groups`: masks over the targets.
    `baseline`: where a better guess is known than the commonest truth.
    """

    seed: str = ""
    baseline: float | None = None
    coins: bool = False
    ledger: float | None = None
    delta: float = 0.0
    groups: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    positive: Rate | None = None


def judge(
    attack: Attack,
    claims: Claims,
    truth: NDArray[np.generic],
    control: Controls | None = None,
    game: Game = Game(),
) -> Evidence:
    """What the claims were worth. Raises Broken where a release leaks more than its ledger says."""
    if len(truth) != len(claims.values) or not len(truth):
        raise BadParameter("the truth must name one value for every target, and there must be a target")
    named = np.asarray(claims.values == truth, dtype=np.bool_)
    right = claims.made & named
    idle = None if control is None else control.rate
    if _certified(claims, named, control, game, doubt=1e-6) > (inf if game.ledger is None else game.ledger):
        raise Broken(
            f"{type(attack).__name__} proves a loss above the ledger's ε = {game.ledger}: the release leaks more than "
            "it was charged for, or the people it is held against were not set apart from the others by chance alone"
        )
    return Evidence(
        attack=type(attack).__name__,
        harm=attack.harm,
        threat=attack.threat,
        targets=len(truth),
        claims=int(claims.made.sum()),
        right=int(right.sum()),
        baseline=_baseline(truth, idle) if game.baseline is None else game.baseline,
        control=idle,
        at_false_positives=() if control is None else _curve(claims.scores, named, control.claims.scores),
        certified=_certified(claims, named, control, game, doubt=0.05),
        ledger=game.ledger,
        seconds=claims.seconds,
        seed=game.seed,
        groups=tuple(
            (name, Rate(int(right[mask].sum()), int(mask.sum()))) for name, mask in game.groups.items()
        ),
        positive=game.positive,
        versions=versions(),
    )


@dataclass(frozen=True)
class Contest:
    """A game set up: the attack, what it sees of targets and of absent people, what the judge knows."""

    attack: Attack
    view: View
    truth: NDArray[np.generic]
    absent: View | None = None
    absent_truth: NDArray[np.generic] | None = None
    game: Game = Game()

    def play(self) -> tuple[Claims, Controls | None]:
        """The attack's claims of its targets, and of people who are not in the release."""
        claims = self.attack.run(self.view)
        if self.absent is None:
            return claims, None
        return claims, Controls(self.attack.run(self.absent), self.absent_truth)

    def evidence(self) -> Evidence:
        """Play, and judge."""
        claims, control = self.play()
        return judge(self.attack, claims, self.truth, control, self.game)


def versions() -> tuple[tuple[str, str], ...]:
    """What to install to repeat a run."""
    installed = ("obverse", "numpy", "pyarrow", "duckdb", "numba", "highspy")
    return (*((name, version(name)) for name in installed), ("python", platform.python_version()))


def hide(table: pa.Table, ids: Sequence[str], entropy: Entropy) -> tuple[pa.Table, NDArray[np.int64]]:
    """A table without its ids, in an order that tells nothing; and, for the judge, where each row was."""
    order = shuffle(table.num_rows, entropy)
    return table.drop_columns(list(ids)).take(order), order


def shuffle(count: int, entropy: Entropy) -> NDArray[np.int64]:
    """The whole numbers below `count`, in an order drawn at random."""
    return np.argsort(words(count, entropy), kind="stable")


def words(count: int, entropy: Entropy) -> NDArray[np.uint64]:
    """So many random words of 64 bits."""
    return np.frombuffer(entropy.bytes(8 * count), dtype=np.uint64)


def _baseline(truth: NDArray[np.generic], control: Rate | None) -> float:
    """The share of the commonest truth; where all are alike (everybody is a member), what the control got."""
    counts = Counter(truth.tolist())
    if len(counts) > 1:
        return max(counts.values()) / len(truth)
    return control.share if control else 0.0


def _curve(
    scores: NDArray[np.float64], named: NDArray[np.bool_], control: NDArray[np.float64]
) -> tuple[tuple[float, Rate], ...]:
    """Right claims above a score that no more than each limit of the controls reach; a tie is no credit."""
    falling = np.sort(control)[::-1]
    bars = [(limit, falling[int(limit * len(falling))]) for limit in LIMITS if len(falling)]
    return tuple((limit, Rate(int((named & (scores > bar)).sum()), len(scores))) for limit, bar in bars)


def _certified(
    claims: Claims, named: NDArray[np.bool_], control: Controls | None, game: Game, doubt: float
) -> float:
    """The ε that these results prove from below, wrong with probability `doubt`; 0 where they prove none.

    Coins: right claims are no likelier than Binomial(claims, e^ε/(1 + e^ε)), for pure ε.  [SNJ23, Theorem 5.2]
    Membership: TPR ≤ e^ε·FPR + δ.  [KOV15]
    """
    if game.coins and game.delta:
        return 0.0
    if game.coins:
        share = lower(int((claims.made & named).sum()), int(claims.made.sum()), doubt)
        return max(0.0, log(share / (1 - share))) if 0 < share < 1 else 0.0
    if control is None or control.truth is not None:
        return 0.0
    ours, theirs = np.where(named, claims.scores, -inf), control.claims.scores
    bar = _best_bar(ours[::2], theirs[::2], game.delta, doubt)
    return max(
        _between(claims.made & named, control.claims.made, game.delta, doubt / 2),
        _between(ours[1::2] > bar, theirs[1::2] > bar, game.delta, doubt / 2),
    )


def _best_bar(ours: NDArray[np.float64], theirs: NDArray[np.float64], delta: float, doubt: float) -> float:
    """The score above which one half of the targets would prove most; the other half then judges it."""
    if not len(theirs):
        return inf
    bars = [float(np.quantile(theirs, 1 - share)) for share in (0.5, 0.2, 0.1, 0.05, 0.02, *LIMITS, 0.0)]
    return max(bars, key=lambda bar: _between(ours > bar, theirs > bar, delta, doubt))


def _between(inside: NDArray[np.bool_], outside: NDArray[np.bool_], delta: float, doubt: float) -> float:
    """The least ε with TPR ≤ e^ε·FPR + δ, both rates at the kind end of their intervals."""
    true = lower(int(inside.sum()), len(inside), doubt / 2) - delta
    false = upper(int(outside.sum()), len(outside), doubt / 2)
    return max(0.0, log(true / false)) if true > 0 else 0.0


def _beyond(main: float, control: float) -> float:
    """(main − control)/(1 − control), and nothing below nothing."""
    return max(0.0, (main - control) / (1 - control)) if control < 1 else 0.0


def bound(epsilon: float) -> float:
    """The share of fair coins that nobody can name more of, on average, through a loss of ε.  [KOV15]"""
    return 1 / (1 + exp(-epsilon))


def _list(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "nothing"
