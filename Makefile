# Two commands for a fresh machine: `make demo` and `make test`. The rest are parts of the second.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fast lint bench docs clean

demo: .venv/demo
	@$(BIN)/obverse demo

test: .venv/test
	@.ci/test

fast: .venv/test
	$(BIN)/pytest -n 2 -m "not slow"

lint: .venv/test
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/test
	$(BIN)/python -m bench

.venv/bin/python:
	@.ci/venv $(PYTHON)
	$(BIN)/pip install --quiet --upgrade pip

.venv/demo: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet -e .
	@touch $@

.venv/test: .venv/bin/python pyproject.toml .ci/system
	.ci/system
	$(BIN)/pip install --quiet -e .[test]
	@touch $@ .venv/demo

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
