# Each target sets up what it needs in .venv and is quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/made
READY := $(VENV)/ready
DEMO_READY := $(VENV)/demo_ready
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
WORKERS ?= 2

# Laws and borders on small trees, for the time between two thoughts; kernels whose code changed compile again.
QUICK := $(addprefix tests/laws/test_, $(addsuffix .py, algebra joints dynamics dca virtual_work reroot loops couplings spatial \
	inertias regions quasi_statics quasi_static_limits adaptive_loops variational full_dynamics single_contact joint_efforts \
	derivatives reactions quantities sensors units settling reaching water haptics checkpoint)) \
	tests/closed_form/test_loops.py tests/interface/core/test_easy_mistakes.py tests/interface/model/test_rods.py

.PHONY: demo test quick bench docs lint kernels clean

demo: $(DEMO_READY)
	@echo "the demo:"
	$(BIN)/linkwork demo

# Linters use one core, so kernels are compiled beside them. Each worker begins with a half of the tests and takes from the other
# when it is done: what a file sets up (the site, molecules) is then set up once. CONTRIBUTING.md says where the time goes.
test: $(READY)
	$(MAKE) --no-print-directory --jobs=2 lint kernels
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=40

quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(QUICK)

# Every kernel, once and before the tests: else each worker compiles what it needs, often the same at the same time.
kernels: $(READY)
	@echo "compiling kernels, once ..."
	$(BIN)/python tests/helpers/compile_kernels.py $(WORKERS)

bench: $(READY)
	$(BIN)/linkwork bench dynamics

# Not --quiet: it drops warnings before --strict can count them.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the documentation is in site/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(MADE):
	$(PYTHON) -c 'import sys; sys.exit("linkwork needs Python 3.11 or later; set PYTHON=/path/to/python3") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	touch $(MADE)

$(READY): pyproject.toml | $(MADE)
	@echo "installing Linkwork and all that its tests use into $(VENV): 2.7 GB, minutes over the network ..."
	$(INSTALL) -e '.[dev]'
	touch $(READY)

# In small first: steps are timed in the demo, and kernels compile on first use. Not before the tests, which compile all of them.
$(DEMO_READY): pyproject.toml | $(MADE)
	@echo "installing Linkwork, and what it draws with, into $(VENV) ..."
	$(INSTALL) -e '.[plots,viewer]'
	@echo "compiling the kernels of the demo, once: two minutes of one processor. Each part runs in small:"
	$(BIN)/linkwork demo --quick --no-picture
	touch $(DEMO_READY)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
