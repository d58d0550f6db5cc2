"""Every way to be refused, drawn as a tree.

    ObverseError
    ├── Refusal                 nothing was read and nothing was charged
    │   ├── BadParameter        a number, name or option that has no meaning here
    │   ├── BadSchema           the schema or the settings file, with the line to mend
    │   ├── BadQuestion         a request that cannot be read, or cannot be private as it stands
    │   ├── Forbidden           the policy does not allow this to this account
    │   ├── OverBudget          the ledger has too little left
    │   └── BadSource           a file or database that cannot be opened or read as declared
    ├── Withheld                charged, and the answer may not leave (a check failed, the engine failed)
    ├── Broken                  the ledger is damaged or the disk failed: stop and look
    └── Missing                 an optional part is not installed; says which command installs it

A text here is an output like any other: it may quote the request, the schema and the ledger, never a row.
"""

from __future__ import annotations


class ObverseError(Exception):
    """Something Obverse will not do; `exit_code` is what a script sees."""

    exit_code = 1


class Refusal(ObverseError):
    """Nothing was read and nothing was charged."""

    exit_code = 2


class BadParameter(Refusal, ValueError):
    """A number, a name or an option that has no meaning here."""


class BadSchema(Refusal):
    """A schema or settings file that cannot be used, with the place to mend."""

    exit_code = 3

    def __init__(self, message: str, *, file: str = "", line: int = 0) -> None:
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + message)
        self.file, self.line = file, line


class BadQuestion(Refusal):
    """A request that cannot be read, or that cannot be private as it stands."""

    exit_code = 4


class Forbidden(Refusal):
    """The policy does not allow this to this account."""

    exit_code = 5


class OverBudget(Refusal):
    """The ledger has too little left for this request."""

    exit_code = 6


class BadSource(Refusal):
    """A file or a database that cannot be opened, or is not what the schema declares."""

    exit_code = 7


class Withheld(ObverseError):
    """Charged, and the answer may not leave; `page` may quote rows: it is for the curator's eyes, and no log's."""

    exit_code = 8

    def __init__(self, message: str, *, page: str = "") -> None:
        super().__init__(message)
        self.page = page


class Broken(ObverseError):
    """The ledger is damaged, or the disk failed: stop, and look."""

    exit_code = 9


class Missing(ObverseError, ImportError):
    """An optional part that is not installed."""

    exit_code = 10
