# Everything a contributor needs. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
PIP := python -m pip --disable-pip-version-check install --quiet --use-pep517
SCRIPTS := .ci/run $(wildcard tools/*)
# What "make run" keeps is kept here: all settings have their defaults but where it writes.
TRIAL := .cache/trial
ASK := $(BIN)/clock-agent --config $(TRIAL)/config.yaml

.PHONY: help setup run test check fix bench dist

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.dev ## Make the environment .venv, with the tools for testing and checking

run: .venv/.run ## Run the daemon on this host, in the foreground: a reading every 5 s
	@mkdir -p $(TRIAL)/run
	@printf "paths:\n  state: '%s'\n  runtime: '%s'\n" "$(abspath $(TRIAL)/state)" "$(abspath $(TRIAL)/run)" \
	    >$(TRIAL)/config.yaml
	@echo "Ask it from another terminal: $(ASK) status (or history, check, doctor)"
	@exec $(ASK) run --interval 5s

test: .venv/.dev .cache/npm/.ready ## Install what the tests need, and run them all
	@tools/packages test
	@$(BIN)/pytest
	@others=$$(tools/pythons | awk 'NR > 1 {print "unit-" $$1}') && \
	    $(MAKE) -j "$$(nproc)" --output-sync=target $$others

check: .venv/.dev .cache/mypy/.ready ## Check format, lint and types; change nothing
	@tools/packages check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy --python-version 3.9
	@.cache/mypy/bin/mypy --python-executable $(BIN)/python --python-version 3.13
	@shellcheck $(SCRIPTS)

fix: .venv/.dev ## Format the code, and mend what the linter can mend by itself
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: .venv/.dev ## Print speed and memory against the tools the program runs
	@tools/packages test
	@$(BIN)/python -m bench $(CYCLES)

dist: .cache/dist/.ready ## Build sdist, wheel, .deb and .rpm into dist/
	@.cache/dist/bin/python packaging/build.py

# The rest makes the environments, and brings them up to date when what they are made from changes.

.venv/.made:
	@python=$$(tools/pythons | awk 'NR == 1 {print $$2}'); \
	if [ -z "$$python" ]; then tools/packages run; python=/usr/bin/python3; fi; \
	echo "Making .venv with $$python"; \
	"$$python" -m venv --clear .venv
	@touch $@

.venv/.run: .venv/.made pyproject.toml requirements/run.txt
	@$(BIN)/$(PIP) --requirement requirements/run.txt
	@$(BIN)/$(PIP) --no-deps --editable .
	@touch $@

.venv/.dev: .venv/.run requirements/test.txt requirements/dev.txt
	@$(BIN)/$(PIP) --requirement requirements/dev.txt
	@touch $@

.cache/mypy/.ready: requirements/mypy-current.txt .venv/.run
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/$(PIP) --requirement $<
	@touch $@

.cache/dist/.ready: requirements/dist.txt .venv/.made
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/$(PIP) --require-hashes --requirement $<
	@touch $@

.PRECIOUS: .cache/python-%/.ready
.cache/python-%/.ready: requirements/test.txt requirements/run.txt
	@"$$(tools/pythons | awk '$$1 == "$*" {print $$2}')" -m venv --clear $(@D)
	@$(@D)/bin/$(PIP) --requirement $<
	@touch $@

.cache/npm/.ready:
	@tools/packages test
	@npm install --prefix $(@D) --no-audit --no-fund --ignore-scripts --omit=optional statsd@0.9.0
	@touch $@

# The tests that need no service, on one Python.
unit-%: .cache/python-%/.ready
	@echo "Python $*"
	@$(<D)/bin/python -m pytest --quiet --ignore=tests/system --ignore=tests/packages
