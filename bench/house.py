"""How quickly the house opens its door: imports, help, demonstration, and how much it brings along."""

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).parent.parent
OBVERSE = Path(sys.executable).parent / "obverse"


def seconds(*command: str, times: int = 9) -> float:
    """The median wall time of a command."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(perf_counter() - start)
    return median(taken)


def imports(module: str) -> float:
    """What an import adds to an interpreter's start."""
    return seconds(sys.executable, "-c", f"import {module}") - seconds(sys.executable, "-c", "pass")


def packages() -> int:
    """How many packages `pip install .` brings, itself among them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        before = _listed(pip)
        subprocess.run([*pip, "install", "--quiet", str(ROOT)], check=True, capture_output=True)
        return _listed(pip) - before


def _listed(pip: list[str]) -> int:
    listed = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True)
    return len(listed.stdout.split())


def show(name: str, goal: float, measured: float) -> None:
    print(f"{name:44}  goal ≤ {goal:<6g}  measured {measured:<8.3g}  ratio {measured / goal:.2f}")


def main() -> None:
    show("import obverse / import numpy", 0.3, imports("obverse") / imports("numpy"))
    show("obverse --help, seconds", 0.3, seconds(str(OBVERSE), "--help"))
    show("obverse demo, seconds", 10, seconds(str(OBVERSE), "demo", times=3))
    show("packages that pip install . brings", 12, packages())


if __name__ == "__main__":
    main()
