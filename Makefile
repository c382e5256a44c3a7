# starlab: `make reproduce` runs the whole experiment, `make test` checks the code. Both make .venv first.
# Needs Python 3.11 or newer, git and make; everything else comes from requirements.lock.

SHELL := /bin/bash
VENV := .venv
READY := $(VENV)/installed.lock
PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p))))
CORES ?= all
RUN := PATH="$(abspath $(VENV))/bin:$$PATH"

.PHONY: help env reproduce smoke test lint lock

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

reproduce: $(READY) ## everything, from nothing: data, models, 33 cells x 3 seeds, findings
	$(RUN) snakemake --cores $(CORES)

smoke: $(READY) ## the same path in minutes: few cells, one seed, few steps
	$(RUN) snakemake --cores $(CORES) --configfile presets/smoke.yaml

test: $(READY) ## the tests, with one smoke run of the real Snakefile among them
	$(RUN) pytest

lint: $(READY) ## ruff, mypy, snakefmt
	$(RUN) ruff check .
	$(RUN) mypy
	$(RUN) snakefmt --check Snakefile rules

env: $(READY) ## only the environment

# The lock is what counts, not its date: an environment made from the same lock is kept.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "starlab needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@if cmp -s requirements.lock $@; then echo "environment: $(VENV) is up to date"; else \
	  echo "environment: making $(VENV) from requirements.lock (several minutes)" && \
	  rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) && $(VENV)/bin/python -m pip install --quiet -r requirements.lock; fi
	@$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@cp requirements.lock $@

lock: ## resolve requirements*.in anew into requirements.lock
	rm -rf $(VENV) && $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet -r requirements.in -r requirements-dev.in
	{ echo "# Written by 'make lock' from requirements.in and requirements-dev.in."; \
	  $(VENV)/bin/python -m pip freeze --all --exclude pip --exclude starlab | sed -E 's/\+cpu$$//'; } > requirements.lock
