# Two commands do everything: `make run` and `make test`. CONTRIBUTING.md says what the others are for.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One thread for each process: the linear algebra here is small, and threads would make timings noisy.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# Packages are installed into VENV, and `make clean` removes it: it has to be a directory that this file made.
MARK := $(VENV)/.made-by-make
ifeq ($(strip $(VENV)),)
$(error VENV is empty; give a directory that does not exist yet, such as VENV=.venv)
endif
ifneq ($(words $(VENV)),1)
$(error VENV is '$(VENV)'; give a path without spaces)
endif
ifneq ($(wildcard $(VENV)),)
ifeq ($(wildcard $(MARK) $(VENV)/.installed),)
$(error VENV is '$(VENV)', which was not made by make and is left alone; give a directory that does not exist yet)
endif
endif

.PHONY: run compare test test-slow test-lowest browser lint types bench docs licences dist clean

$(VENV)/.installed: pyproject.toml constraints.txt
	mkdir -p $(VENV)
	touch $(MARK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

run: $(VENV)/.installed
	$(BIN)/steering reproduce all --quick

compare: $(VENV)/.installed
	$(BIN)/steering run deepsea:8 --agent q_learning --agent bayesian_q --agent ube --agent mm --agent psrl \
	    --agent psrl:concentration=learned,reward_scale=learned,replan=learned --agent ids \
	    --agent ids:concentration=learned,reward_scale=learned,replan=learned,planning=mean --agent steering \
	    --steps 5000 --seeds 10 --out results/deepsea-8

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed
	$(BIN)/mypy

# The report is tested in a real browser. Without one, and without the right to install it, that test says what to do.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	    echo "no browser found and none could be installed; the tests of the report need chromium" >&2

test: lint types browser
	$(BIN)/pytest -n 2 -m "not slow"

# rliable is an oracle of the statistics. It asks for more than its formulas need, hence without what it depends on.
test-slow: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt rliable
	$(BIN)/pytest -n 2 -m slow
	$(BIN)/pytest -n 2 -m "hypothesis and not slow" --hypothesis-profile=search

# The lowest versions that pyproject.toml claims, in an environment of their own that is removed afterwards.
test-lowest:
	PYTHON=$(PYTHON) .ci/test_lowest

bench: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt quantecon stein_thinning
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed
	$(BIN)/mkdocs build --strict --site-dir site

licences: $(VENV)/.installed
	$(BIN)/python .ci/licences.py

# What is released: built from a clean copy (the wheel from the sdist), then tried where nothing else is installed.
dist: $(VENV)/.installed
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist
	$(PYTHON) .ci/try_wheel.py dist

clean:
	rm -rf $(VENV) results site dist
