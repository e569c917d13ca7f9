# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need; a second run skips what is done.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	command -v $$python >/dev/null && $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' && \
	echo $$python && break; done)
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
# The tests' files lie in /dev/shm, in memory, where that has 4 GB of room and programs may run from it: a fifth less time.
# TMPDIR wins.
ROOM = $(shell test -w /dev/shm && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')
PYTEST_ALL = $(if $(TMPDIR),,$(ROOM)) $(BIN)/pytest -n auto --dist loadgroup
# A pin keeps its extras: without them, pip 23.2 looks for a newer version with the extra, whose hash it then misses.
LOCK_ONE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate --no-strip-extras $(LOCK)
STEPS = format lint types floors pytest wheel

# The checks start Python hundreds of times: it keeps its bytecode, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# Nothing of the tests reaches the network: LiteLLM would fetch a table of prices when it is imported.
export LITELLM_LOCAL_MODEL_COST_MAP = True

.PHONY: help demo test test-peers quick tests-quick soak bench bench-peers docs aio fix lock clean mypy basedpyright $(STEPS)

help:
	@echo "make demo   a tour: import, branch, merge, resolve, export"
	@echo "make quick  in a minute: format lint mypy floors, and two cases of each test that needs no server, browser or wheel"
	@echo "make test   every check: $(STEPS)"
	@echo "make test-peers  the adapters, each beside its framework in an environment of its own"
	@echo "make soak   kills, failing and full disks, restarts, interrupts, erasures, backups …, for MINUTES=10"
	@echo "make fix    format, and mend what the linter can mend"
	@echo "make docs   write the generated pages anew"
	@echo "make aio    write the verbs for asyncio from the sync ones"
	@echo "make bench  the benchmarks, each against a limit measured in the same run"
	@echo "make bench-peers  the same beside the stores that others use, in an environment of their own"
	@echo "make lock   pin the dependencies anew; LOCK=--upgrade takes newer ones"
	@echo "make clean  remove the environment, the caches and what was built"

demo: .venv/.run
	@$(BIN)/headish demo

# What reads the sources and what runs them go side by side: half of the tests' time is spent waiting.
test: .venv/.dev
	@$(MAKE) --no-print-directory --jobs 3 $(STEPS)

# Frameworks do not go together with each other's pins. Each gets the tests of all adapters, and skips those of others: so
# what an environment is for is imported first, or its own tests could be skipped, too. PYTEST=-rs lists the skips.
PEERS = $(sort $(patsubst requirements/peers-%.in,%,$(wildcard requirements/peers-*.in)))
PEER_TESTS = tests/integrations $(wildcard tests/cli/test_llm_plugin.py)
PEER_MODULE = $(if $(wildcard store/headish/integrations/$(subst -,_,$*)),headish.integrations.)$(subst -,_,$*)

test-peers: $(PEERS:%=test-peers-%)

test-peers-%: .venv-peers-%/suites/.fetched
	.venv-peers-$*/bin/python -c "import $(PEER_MODULE)"
	.venv-peers-$*/bin/python -m pytest -m peers -r fE $(PEER_TESTS) $(PYTEST)

# Tests of theirs that come with the source of a package: the one that is pinned, by its hash.
SUITES_agents = openai-agents
SUITES_langchain = langchain-core langchain-community
SUITES_langgraph = langgraph

.venv-peers-%/suites/.fetched: .venv-peers-%/.installed
	rm -rf $(@D) && mkdir -p $(@D)
	@set -e; for package in $(SUITES_$*); do \
		folder=$(@D)/$$package; mkdir $$folder; echo "fetching the source of $$package"; \
		sed -n "/^$$package==/,/[^\\\\]\$$/p" requirements/peers-$*.txt > $$folder/pinned.txt; \
		.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet download --require-hashes --no-deps \
			--no-build-isolation --no-binary $$package --dest $$folder -r $$folder/pinned.txt; \
		tar -xzf $$folder/*.tar.gz -C $$folder --strip-components 1; \
	done
	@touch $@

.PRECIOUS: .venv-peers-%/.installed .venv-peers-%/suites/.fetched

quick: .venv/.dev
	@$(MAKE) --no-print-directory --jobs 6 format lint floors mypy tests-quick

# Rounds of each kind until the minutes are over; one line per kind says what was lost.
MINUTES ?= 10
soak: .venv/.dev
	$(BIN)/python tests/soak/run.py --minutes $(MINUTES) $(SOAK)

bench: .venv/.dev
	$(BIN)/python tests/benchmarks/throughput.py $(BENCH)
	$(BIN)/python tests/benchmarks/transcripts.py $(BENCH)
	$(BIN)/python tests/benchmarks/providers.py $(BENCH)

# What others use has its packages in an environment of its own: nothing of headish needs them.
bench-peers: .venv-peers/.installed
	.venv-peers/bin/python tests/benchmarks/peers.py $(BENCH)
	.venv-peers/bin/python tests/benchmarks/sessions.py

aio: .venv/.dev
	$(BIN)/python -m headish.aio

docs: .venv/.dev
	$(BIN)/python docs/generate.py

fix: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

format: .venv/.dev
	$(BIN)/ruff format --check .

lint: .venv/.dev
	$(BIN)/ruff check .

types: mypy basedpyright

mypy: .venv/.dev
	$(BIN)/mypy

basedpyright: .venv/.dev
	$(BIN)/basedpyright

floors: .venv/.dev
	$(BIN)/lint-imports

pytest: .venv/.dev
	$(PYTEST_ALL) $(PYTEST)

# On SQLite alone, two cases of each test, the first few examples of each property. Frameworks take seconds to import: their
# tests are left out.
tests-quick: .venv/.dev
	HYPOTHESIS_PROFILE=quick $(PYTEST_ALL) --few 2 --ignore tests/integrations \
		-m "not slow and not postgresql and not memory" $(PYTEST)

# The wheel, installed alone in an empty environment.
wheel: .venv/.dev
	rm -rf build
	$(BIN)/python -m build --quiet --wheel --no-isolation --outdir build/dist
	$(BIN)/python tests/wheel/check_contents.py build/dist
	$(BIN)/python -m venv build/empty
	build/empty/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/run.txt
	build/empty/bin/python -m pip --disable-pip-version-check --quiet install --no-deps build/dist/*.whl
	build/empty/bin/python tests/wheel/smoke.py

lock: .venv/.dev
	$(LOCK_ONE) --output-file requirements/run.txt requirements/run.in
	$(LOCK_ONE) --output-file requirements/dev.txt --constraint requirements/run.txt requirements/dev.in
	$(LOCK_ONE) --output-file requirements/peers.txt --constraint requirements/run.txt requirements/peers.in
	for peer in $(PEERS); do $(LOCK_ONE) --output-file requirements/peers-$$peer.txt \
		--constraint requirements/run.txt requirements/peers-$$peer.in || exit 1; done

clean:
	rm -rf .venv .venv-peers .venv-peers-* build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "headish needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.run: requirements/run.txt pyproject.toml | .venv/bin/python
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.run
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.venv-peers/.installed: requirements/peers.txt pyproject.toml | .venv/bin/python
	.venv/bin/python -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/peers.txt
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@

.venv-peers-%/.installed: requirements/peers-%.txt pyproject.toml | .venv/bin/python
	.venv/bin/python -m venv .venv-peers-$*
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/peers-$*.txt
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@
