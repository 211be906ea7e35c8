# `make demo` and `make test` set up what they need; see CONTRIBUTING.md for the rest.
PYTHON ?= python3
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ftc
RUN := .venv/bin
# two processes, each of which takes whole files: their fixtures are made once
PYTEST := $(RUN)/python -m pytest -n 2 --dist loadfile

# the sources of llama-cpp-python, for the converter that a wheel lacks; looked up when a recipe
# runs, since the set-up fetches them
export FTC_LLAMA_CPP_SDIST ?= $(shell ls "$(CACHE)"/sdist/llama?cpp?python-*.tar.gz 2>/dev/null | tail -n 1)
export TOKENIZERS_PARALLELISM := false

.PHONY: install links demo quickstart-model test prove prove-all rehearse-all fuzz audit docs check clean

install:  ## make .venv with every pinned package; nothing to do the second time
	@PYTHON="$(PYTHON)" .ci/setup

links:  ## make new files importable (strict editable install)
	@PYTHON="$(PYTHON)" .ci/setup links

demo: install  ## the main job: compile the quickstart, run its bundle, print the table
	@PATH="$(CURDIR)/$(RUN):$$PATH" examples/quickstart/demo.sh

quickstart-model: install  ## build the small model of the quickstart alone
	$(RUN)/python examples/quickstart/make_model.py

test: install check  ## everything that a change must pass
	$(PYTEST) -m "not prove and not prove_all"

prove: install  ## one miniature run per capability
	$(PYTEST) -m prove

prove-all: install  ## whole matrices, by hand
	$(RUN)/python -m pytest -m "prove or prove_all"

rehearse-all: install  ## rehearse every family, into benchmarks/rehearsals.md; up to an hour
	$(RUN)/python -m benchmarks.rehearsals

fuzz: install  ## ten minutes of hostile inputs for every reader, into benchmarks/fuzz.md
	$(RUN)/python -m benchmarks.fuzz --write

audit: install  ## known faults of the locked packages, where a service of advisories answers
	$(RUN)/python .ci/audit.py

docs: install  ## write docs/fields.md and docs/rules/ from what `ftc explain` says
	$(RUN)/python -m pytest -q tests/test_docs.py --update-golden

check: install  ## format, lint, types, floors
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/mypy tests
	$(RUN)/lint-imports

clean:  ## everything that was made here but .venv
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
