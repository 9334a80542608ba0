# Each target sets up what it needs in .venv and is quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
DEMO_READY := $(VENV)/demo_ready
WORKERS ?= 2

.PHONY: demo test bench docs lint kernels clean

demo: $(DEMO_READY)
	$(BIN)/linkwork demo

# Linters use one core, so kernels are compiled beside them. Each worker begins with a half of the tests and takes from the other
# when it is done: what a file sets up (the site, molecules) is then set up once. CONTRIBUTING.md says where the time goes.
test: $(READY)
	$(MAKE) --no-print-directory --jobs=2 lint kernels
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=40

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

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("linkwork needs Python 3.11 or later; set PYTHON=/path/to/python3") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	touch $(READY)

# Not before the tests: they compile all kernels, these among them.
$(DEMO_READY): $(READY)
	@echo "compiling kernels, once ..."
	$(BIN)/linkwork demo --quick --no-picture > /dev/null
	touch $(DEMO_READY)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
