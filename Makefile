# Everything starts from a clean clone and a Python of 3.11 to 3.14 with venv. Nothing outside this directory is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: test slow demo bench lock check format clean setup

setup: $(READY)

# The stamp is newer than what it was made from; an interrupted installation leaves no stamp.
$(READY): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] < (3, 15), "unstick needs Python 3.11 to 3.14, this is " + sys.version.split()[0]'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

# Each line is a check of its own; the first that fails makes the target fail.
check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Threads that wait must not hold the cores that others need: see docs/benches.md.
test slow: export OMP_WAIT_POLICY ?= passive

test: check
	$(BIN)/python -m pytest -m "not slow"

slow: check
	$(BIN)/python -m pytest

demo: $(READY)
	$(BIN)/unstick run circle --resolution 256 --frames 80 --walls both --out out/demo --resume

# NAME=frames ARGS="--sizes 32 64"; without NAME the benches are listed.
bench: $(READY)
	$(BIN)/unstick bench $(NAME) $(ARGS)

# A fresh environment from pyproject.toml, written down exactly; only names and versions, no places.
lock:
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	build/lock/bin/python -m pip freeze --exclude-editable --exclude unstick > constraints.txt
	rm -rf build/lock

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf build dist out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
