"""The documentation runs, is complete, and its links lead somewhere."""

import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import obverse
from obverse import errors
from obverse.cli.demo import unpack
from obverse.cli.main import verbs
from obverse.curator.account import Account
from obverse.curator.curator import Curator
from obverse.data import settings
from obverse.query.answer import Answered

ROOT = Path(__file__).parent.parent
ESSAYS = {"architecture.md", "style.md"}
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for page in DOCS if page.name not in ESSAYS)]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))], ids=name
)
def test_every_python_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one namespace, in a folder with adult.csv and census.toml in it."""
    unpack(tmp_path)
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(encoding="utf-8"), {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


MODULES = sorted(
    ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    for file in (ROOT / "src").rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_every_example_in_the_source_runs(module: str) -> None:
    failed, tried = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried and not failed


def words(*found: str) -> list[str]:
    return sorted(set(found))


@pytest.mark.parametrize("verb", verbs())
def test_every_command_is_documented(verb: str) -> None:
    assert re.search(rf"\bobverse {re.escape(verb)}\b", TEXT)


def policy_keys(tmp_path: Path) -> Iterator[str]:
    """As the refusals name them."""
    text = (obverse.__file__ and Path(obverse.__file__).parent / "sample" / "census.toml").read_text()
    for header in ("[policy]\n", "[accounts.research]\n"):
        (tmp_path / "census.toml").write_text(text.replace(header, header + "zzzzzz = 1\n"))
        with pytest.raises(errors.BadSchema) as refusal:
            obverse.open(tmp_path / "census.toml")
        yield from str(refusal.value).partition("known are ")[2].split(", ")


def test_every_setting_is_documented(tmp_path: Path) -> None:
    keys = [
        *settings.TOP,
        *settings.LIMITS,
        *settings.TABLE,
        *settings.COLUMN,
        *settings.UNIT,
        *policy_keys(tmp_path),
    ]
    page = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    missing = [key for key in keys if not re.search(rf"`{re.escape(key)}`", page)]
    assert len(keys) > 25 and not missing


@pytest.mark.parametrize("member", words(*obverse.__all__))
def test_every_public_name_is_documented(member: str) -> None:
    assert re.search(rf"\bobverse\.{member}\b", TEXT)


@pytest.mark.parametrize("kind", [Curator, Account, Answered], ids=lambda kind: kind.__name__)
def test_every_public_method_is_documented(kind: type) -> None:
    methods = [m for m, _ in inspect.getmembers(kind) if not m.startswith("_")]
    missing = [method for method in methods if not re.search(rf"\.{method}\b", TEXT)]
    assert methods and not missing


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    missing = [
        kind.__name__ for kind in kinds if not re.search(rf"^\| {kind.exit_code} \|", page, re.MULTILINE)
    ]
    assert not missing


def test_every_page_is_found_from_the_first() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in DOCS if page.name != "index.md"]
    assert not [page for page in pages if f"({page})" not in index]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


CITED = re.compile(r"\[([A-Z][^\W\d_]+\+?\d\d[a-z]?\b[^\]\n]*)\]")
KEY = re.compile(r"^\s*([A-Z][^\W\d_]+\+?\d\d[a-z]?)\b")


def test_every_citation_is_in_the_bibliography() -> None:
    known = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "docs" / "references.bib").read_text(), re.MULTILINE))
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py")]
    cited = {part for source in sources for found in CITED.findall(source) for part in found.split(";")}
    keys = {match[1] for part in cited if (match := KEY.match(part))}
    assert len(keys) > 10 and not keys - known


def test_every_module_stands_in_the_tree() -> None:
    """docs/architecture.md names every file of the source."""
    tree = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = {file.name for file in (ROOT / "src" / "obverse").rglob("*.py") if file.name != "__init__.py"}
    assert not {name for name in files if f" {name} " not in tree}
