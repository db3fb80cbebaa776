# Everything runs in .venv, which the first call sets up with the versions of constraints.txt; later calls install again
# only after that file or pyproject.toml changed.
#   make demo        the main job in seconds: a table in the terminal and a report beside it
#   make test        the tests, some minutes         make test-fast   the core's tests only, under a minute
#   make test-all    also those marked `ci`: clusters and regressors once more, at length (.ci/run)
#   make coverage    the tests once more, with the share of lines that they run
#   make trackers    the recipes for MLflow, W&B and DVC, with these libraries in build/trackers
#   make check       tests, ruff and mypy --strict   make format      let ruff put the code in order
#   make pictures    screenshots and figures of thirty cases in build/pictures, compared with the accepted ones
#   make bench       the benchmarks                  make docs        the site, in site/
#   make paper       every table and figure of the paper, in docs/paper/
#   make study       the study of interval methods, in docs/study.md
#   make dist        wheel and sdist, checked         make lock        constraints.txt anew, from the newest releases
#   make newest      all tests with the newest releases of everything, in build/newest
#   make floors      the tests with the oldest releases that the extras allow, in build/floors
#   make mutants     breaks evidence, assess and words in 300 places and lists what no test notices (an hour)
# PYTHON=python3.12 chooses the interpreter of a new .venv; ARGS="-k area" goes to pytest or to the benchmarks;
# CONSTRAINTS= installs the newest releases.

PYTHON ?= python3
ARGS   ?=
VENV   ?= .venv
CONSTRAINTS ?= constraints.txt
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PINNED := $(CONSTRAINTS:%=--constraint %)

# The inner loop: doctests of the core as test_boundaries.py finds it, the tests named after its modules, and its laws.
LAWS = attacks boundaries by_hand facts laws many_rows oracle oracle_units refusals
CORE = $(shell $(BIN)/python tests/test_boundaries.py)
FAST = $(CORE:%=src/uccurve/%.py) $(wildcard $(CORE:_%=tests/test_%.py) $(CORE:%=tests/test_%.py) $(LAWS:%=tests/test_%.py))

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-fast coverage trackers mutants check lint types format bench pictures docs paper study dist lock newest floors clean

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

demo: $(VENV)/.installed-cli
	$(BIN)/uccurve demo --force

# One process per core, and one file of tests at a time for each, in the order of conftest.py.
EACH_CORE = --numprocesses=auto --dist=loadfile --no-loadscope-reorder

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(EACH_CORE) -m "not ci" $(ARGS)

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(EACH_CORE) $(ARGS)

test-fast: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m "not slow" $(FAST) $(ARGS)

# From Python 3.12 on the interpreter itself counts lines, at hardly any cost; before, tests take about twice as long.
coverage: $(VENV)/.installed-dev
	COVERAGE_CORE=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
		$(BIN)/python -m coverage run -m pytest $(EACH_CORE) -m "not ci" $(ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py $(ARGS)

trackers:
	$(MAKE) VENV=build/trackers CONSTRAINTS= build/trackers/.installed-cli
	build/trackers/bin/python -m pip install --quiet --group test --group trackers pandas pyyaml utilsforecast
	build/trackers/bin/python -m pytest tests/test_adoption.py

check: lint types test

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

types: $(VENV)/.installed-dev
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# ARGS="--accept phone" accepts what was looked at.
pictures: $(VENV)/.installed-dev
	$(BIN)/python tests/pictured.py $(ARGS)

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks $(ARGS)

# Notebooks in full; what `make paper` has computed is not computed again. NOTEBOOKS=--quick for a look at the site.
docs: $(VENV)/.installed-dev
	$(BIN)/python notebooks/execute.py $(NOTEBOOKS)
	$(BIN)/mkdocs build --strict

paper: $(VENV)/.installed-dev
	$(BIN)/python -m paper all -o docs/paper
	$(BIN)/python -m paper.results docs/paper-recomputed.md docs/paper

study: $(VENV)/.installed-dev
	$(BIN)/python -m paper study -o docs

dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m twine check --strict dist/*

lock:
	rm -rf build/newest
	$(MAKE) VENV=build/newest CONSTRAINTS= build/newest/.installed-dev
	build/newest/bin/python -m pip list --format=freeze --exclude-editable | grep -vE '^(pip|setuptools)=' > constraints.txt

# uv, because pip cannot take the oldest releases that are allowed. Their own warnings about each other are no failures.
floors:
	$(PYTHON) -m venv build/floors
	build/floors/bin/python -m pip install --quiet uv
	build/floors/bin/uv pip install --quiet --python build/floors/bin/python --resolution lowest-direct \
		--editable '.[all]' --group test 'pandas>=2.2'
	build/floors/bin/python -m pytest $(EACH_CORE) -W default -m "not ci" tests $(ARGS)

newest:
	$(MAKE) VENV=build/newest CONSTRAINTS= test-all

clean:
	rm -rf .venv build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@echo "making $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "uccurve needs Python 3.11 or later: make PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-cli: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "installing uccurve with its command line"
	@$(PIP) install $(PINNED) --editable '.[cli]'
	@touch $@

# Holds all that the command line needs, so its stamp is set too.
$(VENV)/.installed-dev: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "installing uccurve with all extras, test and documentation tools: a few minutes the first time"
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install $(PINNED) --editable '.[all]' --group dev
	@touch $@ $(VENV)/.installed-cli
