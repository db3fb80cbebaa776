# Everything runs in .venv, which the first call sets up; later calls install again only after pyproject.toml changed.
#   make demo        the main job in seconds: a table in the terminal and a report beside it
#   make test        all tests                       make test-fast   the core's tests only, under a minute
#   make check       tests, ruff and mypy --strict   make format      let ruff put the code in order
#   make bench       the benchmarks                  make docs        the site, in site/
#   make paper       every table and figure of the paper, in docs/paper/
# PYTHON=python3.12 chooses the interpreter of a new .venv; ARGS="-k area" goes to pytest or to the benchmarks.

PYTHON ?= python3
ARGS   ?=
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The inner loop: doctests of the core as test_boundaries.py finds it, the tests named after its modules, and its laws.
LAWS = attacks boundaries by_hand facts laws many_rows oracle oracle_units refusals
CORE = $(shell $(BIN)/python tests/test_boundaries.py)
FAST = $(CORE:%=src/uccurve/%.py) $(wildcard $(CORE:_%=tests/test_%.py) $(CORE:%=tests/test_%.py) $(LAWS:%=tests/test_%.py))

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast check lint types format bench docs paper clean

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo: .venv/.installed-cli
	$(BIN)/uccurve demo --force

test: .venv/.installed-dev
	$(BIN)/python -m pytest --numprocesses=auto --dist=loadfile $(ARGS)

test-fast: .venv/.installed-dev
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m "not slow" $(FAST) $(ARGS)

check: lint types test

lint: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/.installed-dev
	$(BIN)/mypy

format: .venv/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.installed-dev
	$(BIN)/python -m benchmarks $(ARGS)

# Notebooks in full; what `make paper` has computed is not computed again. NOTEBOOKS=--quick for a look at the site.
docs: .venv/.installed-dev
	$(BIN)/python notebooks/execute.py $(NOTEBOOKS)
	$(BIN)/mkdocs build --strict

paper: .venv/.installed-dev
	$(BIN)/uccurve reproduce all -o docs/paper

clean:
	rm -rf .venv build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@echo "making .venv with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uccurve needs Python 3.11 or later: make PYTHON=...")'
	@$(PYTHON) -m venv .venv

.venv/.installed-cli: pyproject.toml | $(BIN)/python
	@echo "installing uccurve with its command line"
	@$(PIP) install --editable '.[cli]'
	@touch $@

# Holds all that the command line needs, so its stamp is set too.
.venv/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing uccurve with all extras, test and documentation tools: a few minutes the first time"
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --editable '.[all]' --group dev
	@touch $@ .venv/.installed-cli
