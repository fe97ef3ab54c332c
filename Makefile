# Everything runs in .venv, made on first use and reinstalled only when
# pyproject.toml or constraints.txt change.
PYTHON ?= python3
BIN := .venv/bin
# Tests run in several processes at once.
WORKERS := -n auto --maxprocesses 4

.PHONY: help demo test test-core test-slow test-oldest lint format types workflows coverage doc dist replicate benchmark clean

help:
	@echo "make demo       run examples/quickstart.py"
	@echo "make test       run all tests (make test-slow: the long ones)"
	@echo "make test-core  the tests without torch, boosters and Dask: a minute"
	@echo "make test-oldest  the tests with the lowest versions that are supported"
	@echo "make lint       ruff check, format check and spelling (make format: apply ruff's)"
	@echo "make types      mypy;  make coverage: tests with branch coverage"
	@echo "make workflows  check the files of .github against their schemas"
	@echo "make doc        build the documentation into doc/_build/html"
	@echo "make dist       build the wheel and the sdist, and check them"
	@echo "make replicate  the paper's experiments, quickly: synthetic data, into results/paper"
	@echo "make benchmark  speed and memory as ratios against peers"

demo: .venv/.installed-demo
	$(BIN)/python examples/quickstart.py

test: .venv/.installed-test
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

# With an environment of its own, whose few packages are installed in seconds. Tests of
# libraries that it lacks are skipped.
test-core: .venv-core/.installed
	.venv-core/bin/python -m pytest $(WORKERS) $(ARGS) sklearn_superior tests \
		--ignore=tests/test_common.py -k "not killed and not false_alarms"

test-slow: .venv/.installed-test
	$(BIN)/python -m pytest -m slow --timeout 3600 $(ARGS)

# With an environment of its own. LightGBM 4.6 has other names for validation data than
# ours shows, and warns of feature names that it has made up itself; scikit-learn 1.7
# warns of few samples.
test-oldest: .venv-oldest/.installed
	.venv-oldest/bin/python -m pytest $(WORKERS) $(ARGS) \
		--deselect sklearn_superior/integrations/lightgbm.py \
		-W "ignore:X does not have valid feature names" \
		-W "ignore:The number of unique classes is greater than 50%"

lint: .venv/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell *.md benchmarks doc examples sklearn_superior studies tests

format: .venv/.installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.installed-test
	$(BIN)/mypy

workflows: .venv/.installed-test
	$(BIN)/python -m pip install --quiet check-jsonschema
	$(BIN)/python -m pytest -n 0 $(ARGS) tests/test_project.py

coverage: .venv/.installed-test
	$(BIN)/python -m pytest $(WORKERS) --cov --cov-report=term $(ARGS)

doc: .venv/.installed-doc
	$(BIN)/python -m sphinx -W --keep-going -b html doc doc/_build/html

dist: .venv/bin/python
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

replicate: .venv/.installed-test
	$(BIN)/python -m studies paper run --quick
	$(BIN)/python -m studies paper report

benchmark: .venv/.installed-test
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv .venv-core .venv-oldest build dist doc/_build doc/generated doc/gallery *.egg-info results

# The extras and groups that each job needs.
NEEDS_demo := ".[plot]"
NEEDS_lint := . --group lint
NEEDS_test := . --group test
NEEDS_doc := . --group doc

# Environment, constraints, needs. pip knows groups since 25.1; Python may bring another.
define install
$(1)/bin/python -m pip install --quiet "pip>=25.1"
$(1)/bin/python -m pip install --quiet --constraint $(2) --editable $(3)
endef

.venv/.installed-%: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,.venv,constraints.txt,$(NEEDS_$*))
	@touch $@

.venv-core/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-core
	$(call install,.venv-core,constraints.txt,. --group test-core)
	@touch $@

.venv-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	$(call install,.venv-oldest,constraints-oldest.txt,. --group test-without-torch)
	@touch $@

.venv/bin/python:
	$(PYTHON) -m venv .venv
