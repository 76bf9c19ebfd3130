# Two commands: `make demo` shows the product on the bundled samples, `make test` checks everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test tests check lint types docs stores bench leaderboard serve screenshots schema release-check clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

demo: $(VENV)/.plain  ## Score four engines on the bundled samples
	@$(BIN)/assay demo --output demo-results.json

test: $(VENV)/.dev  ## Format, lint, types, import rule and all tests
	@$(MAKE) --no-print-directory -j2 types tests

tests: lint $(VENV)/mcp-1
	rm -f .pytest_cache/v/cache/lastfailed
	$(BIN)/pytest -n auto --dist worksteal || { [ $$? -eq 1 ] && $(AGAIN); }

# What failed while all cores were busy is run once more, alone; a second failure fails, and so does
# a run that ended before it could say what failed: what an earlier one remembered is forgotten first.
AGAIN := echo "Once more, alone:" && $(BIN)/pytest --last-failed --last-failed-no-failures none -n0 -rA

check: lint types  ## Format, lint and types

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: lint  # one core is enough for it: `make test` runs it beside the tests
	$(BIN)/mypy

docs: $(VENV)/.docs  ## The site of the documentation in site/, built without network; fails on a warning
	$(BIN)/mkdocs build --strict --quiet
	@echo "The site is in site/index.html"

stores: $(VENV)/.stores  ## Tests on the stores and packages that are too heavy for make test
	$(BIN)/pytest -rs tests/engines tests/workbench/test_interchange.py tests/workbench/test_cluster.py tests/oracle/test_ranx.py tests/evaluation/test_prediction_powered.py

bench: $(VENV)/.bench  ## Measure speed and memory against peers in the same run
	$(BIN)/python benchmarks/run.py $(if $(FULL),--full)

# ALSO=SET JUDGMENTS=MORE.jsonl compare the order with that on another set
leaderboard: $(VENV)/.base  ## Rank the systems of benchmarks/systems.py on eval/dataset.json (needs the corpus)
	$(BIN)/python benchmarks/leaderboard.py $(if $(ALSO),--also $(ALSO)) $(if $(JUDGMENTS),--judgments $(JUDGMENTS))

# ARGS=--fresh begins anew, ARGS="--port 9000" takes another port
serve: $(VENV)/.serve  ## The workbench on a sample project (assay-demo/), http://127.0.0.1:8350/
	@$(BIN)/assay demo --serve $(ARGS)

# PAGES="home judge" takes only these
screenshots: $(VENV)/.dev $(VENV)/.serve  ## Pictures of every page in docs/screenshots/ (needs Debian's chromium)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pillow
	$(BIN)/python tools/screenshots.py $(PAGES)

schema: $(VENV)/.serve  ## Write docs/results.schema.json after a change of types
	$(BIN)/python -m assay.core.results_file docs/results.schema.json

# ARGS="--extra search" tries one extra alone, ARGS="--python 3.12" one Python
release-check: | $(VENV)/bin/python  ## Build, install in empty environments on 3.11 to 3.13, try every extra: dist/ to upload
	$(BIN)/python tools/release_check.py $(ARGS)

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site demo-results.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@echo "Creating the virtual environment $(VENV)"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Assay needs Python 3.11 or newer"'
	@$(PYTHON) -m venv $(VENV) || { echo "No venv module: on Debian, apt-get install python3-venv"; exit 1; }

# Both packages of this repository: Assay, and the encoders that its search needs.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable packages/models --editable

$(VENV)/.plain: pyproject.toml | $(VENV)/bin/python
	@echo "Installing assay"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@touch $@

$(VENV)/.base: pyproject.toml packages/models/pyproject.toml | $(VENV)/bin/python
	@echo "Installing assay"
	@$(INSTALL) '.[search]'
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "Installing the test tools"
	@$(INSTALL) '.[dev]'
	@touch $@

# The old SDK of MCP, in a folder that its tests put before the new one
$(VENV)/mcp-1: | $(VENV)/.dev
	@echo "Installing mcp 1.x"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $@ 'mcp<2'

$(VENV)/.serve: $(VENV)/.base
	@echo "Installing the server"
	@$(INSTALL) '.[search,serve]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	@echo "Installing what builds the site"
	@$(INSTALL) '.[docs,search]'
	@touch $@

$(VENV)/.stores: $(VENV)/.dev
	@echo "Installing the stores"
	@$(INSTALL) '.[stores]'
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	@echo "Installing the peers to measure against"
	@$(INSTALL) '.[bench]'
	@touch $@
