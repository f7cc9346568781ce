# Every target makes its own environment in .venv; nothing needs to be installed by hand but Python, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export TF_CPP_MIN_LOG_LEVEL ?= 3

.DEFAULT_GOAL := help
.PHONY: help demo test browser unit live live-all lint format bench field workers gains claims recorded docs site clean watch-bench workers-scale attach-pythons attach-bench screenshots chaos matrix

help: ## Show what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml
	@echo "==> making an environment in $(VENV) with TensorFlow for the CPU (a few minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "unslow needs Python 3.10 or later; name one with: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install -qq --editable . --group dev
	@# tf-keras asks for the distribution `tensorflow`, which would be a second copy of tensorflow-cpu.
	@$(BIN)/python -m pip install -qq --no-deps "tf-keras==2.21.*"
	@touch $@

demo: $(READY) ## Record a slow training, say why it is slow, fix it and prove the fix
	@$(BIN)/python bench/demo.py

test: $(READY) browser lint unit live ## Run all checks and tests

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		echo "==> a browser for the tests of the HTML report (Debian's Chromium)"; \
		{ test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } 2>/dev/null || \
		echo "    it could not be installed: the tests of the HTML page will be skipped"; }

lint: $(READY) ## Check style and types
	@echo "==> style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

unit: $(READY) ## Run the tests that need no TensorFlow
	@echo "==> tests without TensorFlow"
	@$(BIN)/python -m pytest tests --ignore tests/live -n 2 -q -m "not slow"

live: $(READY) ## Run the tests with real TensorFlow processes
	@echo "==> tests with TensorFlow, in real processes (some minutes)"
	@$(BIN)/python -m pytest tests/live -n 2 -q -m "not slow"

live-all: $(READY) ## Run every live test, with the proof of every fix, and what is slow without TensorFlow
	@$(BIN)/python -m pytest tests/live -n 1 -q
	@$(BIN)/python -m pytest tests --ignore tests/live -q -m slow

# Environments of other interpreters, with TensorFlow and without unslow, outside of the tree.
ATTACH_ENVS ?= $(HOME)/.cache/unslow/attach
PYTHONS ?= python3.10 python3.11 python3.12 python3.13

attach-pythons: $(READY) ## Attach to processes of other Pythons: make attach-pythons PYTHONS="python3.10 …"
	@for python in $(PYTHONS); do \
		version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || \
			{ echo "    $$python does not run here: left out"; continue; }; \
		env=$(ATTACH_ENVS)/$$version; \
		test -x $$env/bin/python || $$python -m venv $$env; \
		$$env/bin/python -m pip install -qq "tensorflow-cpu==2.21.*"; \
		found="$$found $$env/bin/python"; \
	done; \
	UNSLOW_ATTACH_PYTHONS="$$found" $(BIN)/python -m pytest -q -s tests/attach/test_session.py && \
	$(BIN)/python -m bench.attach pythons $$found && $(BIN)/python bench/make_docs.py

attach-bench: $(READY) ## Measure what attaching costs a training: fifty rounds, and steps after detaching (five minutes)
	@$(BIN)/python -m bench.attach && $(BIN)/python bench/make_docs.py

recorded: $(READY) ## Record every example again into examples/recorded
	@$(BIN)/python bench/record_examples.py

docs: $(READY) ## Generate the pages of the causes
	@$(BIN)/python bench/make_docs.py

site: $(READY) ## Build the documentation site into site/, strictly
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "==> written: site/index.html"

bench: $(READY) browser ## Measure what unslow costs, beside other tools and at scale (two and a half hours)
	@echo "==> start-up"
	@$(BIN)/python bench/startup.py
	@echo "==> a step with recording on and off, in one process"
	@$(BIN)/python bench/blocks.py
	@echo "==> a step under unslow and other profilers, which are put into an environment of their own"
	@$(BIN)/python bench/turns.py
	@$(BIN)/python bench/overhead.py
	@echo "==> recordings of 10³ to 10⁷ steps and of 1 to 1 000 processes"
	@$(BIN)/python bench/scale.py
	@$(BIN)/python bench/report.py && echo "==> written: docs/benchmarks.md"

field: $(READY) ## Run programs of strangers and score the answers (about an hour; what is there is kept)
	@$(BIN)/python -m bench.field

workers: $(READY) ## Run real jobs of several processes with one fault each, and score the answers (an hour; what is there is kept)
	@$(BIN)/python -m bench.workers
	@$(BIN)/python -m bench.workers.whatif
	@$(BIN)/python -m bench.workers.overhead

watch-bench: $(READY) ## Measure the alerts of `unslow watch`: simulated months and twenty real minutes (half an hour)
	@$(BIN)/python -m bench.watch && echo "==> written: docs/watch-results.md"

workers-scale: $(READY) ## Diagnose simulated jobs of 16 to 1,000 workers with known faults (ten minutes)
	@$(BIN)/python -m bench.workers_scale
	@$(BIN)/python -m bench.workers_scale --cost 16,100,1000 --steps 100000

gains: $(READY) ## Measure what each automatic fix gives back, against what was promised (an hour; what is there is kept)
	@$(BIN)/python bench/gains.py

claims: $(READY) ## Put the claims of advice found on the web to the test (a quarter of an hour)
	@$(BIN)/python -m bench.claims

chaos: $(READY) ## Attack unslow in every way we know, best as root with bindfs and btrfs-progs; writes docs/reliability.md (40 minutes; what held is kept)
	@$(BIN)/python -m bench.chaos

matrix: $(READY) ## Record on every supported TensorFlow and Python; writes docs/support.md (hours; what is there is kept)
	@$(BIN)/python -m bench.matrix

screenshots: $(READY) browser ## Make the README's pictures from a real run
	@$(BIN)/python bench/screenshots.py

format: $(READY) ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## Remove the environment and all that was generated
	@rm -rf $(VENV) .chaos .unslow .pytest_cache .mypy_cache .ruff_cache site
