"""Every bench in this folder, one after the other: `python -m bench`, or `python -m bench house ledger`."""

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    found = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))
    for name in sys.argv[1:] or found:
        module = import_module(f"bench.{name}")
        if hasattr(module, "main"):
            print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
            module.main()


if __name__ == "__main__":
    main()
