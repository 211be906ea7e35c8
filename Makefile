# `make demo` and `make test` set up what they need; see CONTRIBUTING.md for the rest.
PYTHON ?= python3
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ftc
RUN := .venv/bin
# two processes, each with whole test files, so that fixtures are made once; a process that hangs in
# C code, which no timeout of a test can end, prints its stacks and exits after 20 minutes
PYTEST := $(RUN)/python -m pytest -n 2 --dist loadfile -o faulthandler_timeout=1200 \
	-o faulthandler_exit_on_timeout=true

# the source archive of llama-cpp-python, because a wheel lacks the converter; it is looked up when
# a recipe runs, because the setup downloads it
export FTC_LLAMA_CPP_SDIST ?= $(shell ls "$(CACHE)"/sdist/llama?cpp?python-*.tar.gz 2>/dev/null | tail -n 1)
# torchvision for tests of images, beside the other packages: see .ci/setup
export FTC_VISION ?= $(CURDIR)/.venv/vision
export TOKENIZERS_PARALLELISM := false
# modules, templates and rewritten assertions are compiled once, and not by each process again
unexport PYTHONDONTWRITEBYTECODE
# waiting threads sleep, which makes two parallel trainings four times as fast on two cores
export OMP_WAIT_POLICY := passive

.PHONY: install links sections demo quickstart-model quick test prove prove-all rehearse-all fuzz audit site check clean

# the tests of `make quick`: folders whose tests do not train
IN ?= tests/spec tests/compiler/plan tests/compiler/verify tests/runtime tests/templates tests/test_golden.py

install:  ## make .venv with all pinned packages; does nothing if it is up to date
	@PYTHON="$(PYTHON)" .ci/setup

links:  ## make new files importable (strict editable install)
	@PYTHON="$(PYTHON)" .ci/setup links

sections: install  ## write the typed spec and the settings of train.py from their tables
	$(RUN)/python .ci/sections.py
	$(RUN)/python .ci/settings.py
	$(RUN)/python .ci/rule_names.py

demo: install  ## compile the quickstart, run its bundle, print its results
	@PATH="$(CURDIR)/$(RUN):$$PATH" examples/quickstart/demo.sh

quickstart-model: install  ## build only the small model of the quickstart
	$(RUN)/python examples/quickstart/make_model.py

quick: install  ## lint and fast tests, under a minute; IN=tests/tui selects others
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/lint-imports
	$(PYTEST) -q -m "not prove and not prove_all" $(IN)

test: install check  ## all checks that a change must pass
	$(PYTEST) -m "not prove and not prove_all"

prove: install  ## one miniature run per feature
	$(PYTEST) -m prove

prove-all: install  ## also the large test matrices; started by hand
	$(RUN)/python -m pytest -m "prove or prove_all"

rehearse-all: install  ## rehearse every model family, into benchmarks/rehearsals.md; up to an hour
	$(RUN)/python -m benchmarks.rehearsals

fuzz: install  ## fuzz every reader for ten minutes, into benchmarks/fuzz.md
	$(RUN)/python -m benchmarks.fuzz --write

audit: install  ## look up known vulnerabilities of the locked packages
	$(RUN)/python .ci/audit.py

site: install  ## build the documentation site into .site/html; fails on a broken link
	$(RUN)/python -m docs.site

check: install  ## format, lint, types, import contracts
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy --num-workers 2
	$(RUN)/mypy --num-workers 2 tests docs benchmarks
	$(RUN)/lint-imports

clean:  ## remove generated files, except .venv
	rm -rf .site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
