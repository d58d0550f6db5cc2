"""The respondent's side as a program of a few lines: exact, readable in a minute, and needing nothing but Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

HEAD = """\
# Asks you, and prints a report that is {epsilon}-differentially private: send that, and nothing else.
from secrets import randbelow

def rarely(n=E_TOP, d=E_BOTTOM):  # true with probability exp(-n/d), exactly  [CKS20, Algorithm 1]
    while n > d:
        if not rarely(1, 1): return False
        n -= d
    k = 1
    while randbelow(d * k) < n: k += 1
    return k % 2 == 1

def say(truth, lies):  # the truth, or one of `lies` lies that are each exp(-epsilon) as likely
    while True:
        pick = randbelow(lies + 1)
        if pick == 0: return truth
        if rarely(): return (truth + pick) % (lies + 1)
"""

ASK = """
answers = {answers!r}
mine = answers.index(input(" / ".join(answers) + "? "))
"""

BODY = {
    "response": ASK + "print(say(mine, {lies}))\n",
    "unary": ASK
    + 'print("".join(str(randbelow(2) if i == mine else say(0, 1)) for i in range(len(answers))))\n',
    "hadamard": ASK
    + "row, column = mine + 1, randbelow({columns})\n"
    + "minus = bin(row & column).count('1') % 2\n"
    + "print(column if say(0, 1) == minus else column ^ (row & -row))\n",
    "mean": """
low, high, steps = {low}, {high}, 1 << 20
from fractions import Fraction
mine = Fraction(input(f"a number from {{low}} to {{high}}? "))
place = round((min(max(mine, low), high) - low) * 2 * steps / Fraction(high - low))
print(2 * say(int(randbelow(2 * steps) < place), 1) - 1)
""",
}


def script(kind: str, epsilon: Fraction, size: int, answers: Sequence[str] = (), **bounds: Fraction) -> str:
    """The program for one kind of report.

    >>> script("response", Fraction(1), 2, ("yes", "no")).splitlines()[-1]
    'print(say(mine, 1))'
    """
    head = HEAD.replace("E_TOP", str(epsilon.numerator)).replace("E_BOTTOM", str(epsilon.denominator))
    written = {name: f"Fraction({str(bound)!r})" for name, bound in bounds.items()}
    body = BODY[kind].format(answers=list(answers), lies=size - 1, columns=1 << size.bit_length(), **written)
    if kind == "mean":  # bounds are fractions, so the name comes first
        body = (
            "\nfrom fractions import Fraction\n"
            + body.replace("from fractions import Fraction\n", "").lstrip()
        )
    return head.format(epsilon=epsilon) + body
