# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need; a second run skips what is done.

# The Pythons that headish is checked on. One that lies on the path may be a shim that runs nothing: it is tried.
PYTHONS = 3.11 3.12 3.13 3.14
INSTALLED = $${PYENV_ROOT:-$$HOME/.pyenv}/versions
PYTHON ?= $(shell for python in python3 $(foreach version,$(PYTHONS),python$(version) $(INSTALLED)/$(version).*/bin/python3); do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
find = $(shell for python in python$(1) $(INSTALLED)/$(1).*/bin/python$(1); do \
	$$python -c 'import ensurepip' 2>/dev/null && echo $$python && break; done)
VENV = .venv
BIN = $(VENV)/bin
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

.PHONY: help demo test test-http test-mcp test-typescript test-peers quick pythons tests-quick soak strikes mutants fuzz bench bench-peers docs examples man site aio fix dist audit lock clean mypy basedpyright $(STEPS)

help:
	@echo "make demo   a tour: import, branch, merge, resolve, export"
	@echo "make quick  format lint mypy floors, and tests of what changed since main that need no server, browser or wheel"
	@echo "make test   every check: $(STEPS)"
	@echo "make pythons  quick on each other Python of $(PYTHONS); quick-3.13, test-3.13 on that one alone"
	@echo "make test-peers  the adapters, each beside its framework in an environment of its own"
	@echo "make test-http  the store's own tests on a store over HTTP (HTTP='tests/history')"
	@echo "make test-mcp   the conformance suite of MCP against /mcp"
	@echo "make test-typescript  a client of the HTTP API with types made of its OpenAPI document"
	@echo "make soak   kills, failing and full disks, restarts, interrupts, erasures, backups …, for MINUTES=10"
	@echo "make strikes  each verb that writes is killed, ended at each statement, interrupted, for TIMES=100"
	@echo "make mutants  changes MUTANTS=20 places of each folder, one at a time, and says which share its tests notice"
	@echo "make fuzz   feeds each parser what a fuzzer thinks of, for SECONDS=600 each"
	@echo "make site   the pages of docs/ as a site in build/site, every link checked"
	@echo "make fix    format, and mend what the linter can mend"
	@echo "make docs   write the generated pages anew"
	@echo "make man    the man pages alone: then man ./docs/man/headish.1"
	@echo "make examples  write the examples of the HTTP API anew"
	@echo "make aio    write the verbs for asyncio from the sync ones"
	@echo "make bench  the benchmarks, each against a limit measured in the same run"
	@echo "make bench-serve  what the gateway adds to a call, and what a page and the API take beside the store"
	@echo "make bench-peers  the same beside the stores that others use, in an environment of their own"
	@echo "make dist   the wheel, the sdist and the bill of materials in build/dist, built twice and compared"
	@echo "make audit  known holes of the pinned dependencies"
	@echo "make lock   pin the dependencies anew; LOCK=--upgrade takes newer ones"
	@echo "make clean  remove the environment, the caches and what was built"

demo: $(VENV)/.run
	@$(BIN)/headish demo

# What reads the sources and what runs them go side by side: half of the tests' time is spent waiting.
test: $(VENV)/.dev
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

quick: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs 6 format lint floors mypy tests-quick

# The same checks on another Python, each in an environment of its own.
quick-3.% test-3.%:
	@test -n "$(call find,3.$*)" || { echo "Python 3.$* is neither on the path nor among pyenv's"; exit 1; }
	@$(MAKE) --no-print-directory $(firstword $(subst -, ,$@)) VENV=.venv-3.$* PYTHON=$(call find,3.$*)

pythons: $(VENV)/.dev
	@$(foreach version,$(filter-out $(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'),$(PYTHONS)),\
		$(if $(call find,$(version)),echo "Python $(version):" && $(MAKE) --no-print-directory quick-$(version),\
			echo "Python $(version) is neither on the path nor among pyenv's: nothing was checked on it") &&) true

# Rounds of each kind until the minutes are over; one line per kind says what was lost.
MINUTES ?= 10
soak: $(VENV)/.dev
	$(BIN)/python tests/soak/run.py --minutes $(MINUTES) $(SOAK)

# Each verb that writes: kill -9 TIMES, an end at each of its statements, TIMES interrupts. STRIKES='interrupts --on sqlite': some.
TIMES ?= 100
strikes: $(VENV)/.dev
	$(BIN)/python tests/soak/strikes.py --times $(TIMES) $(STRIKES)

# Changes to the code that the tests of its folder should notice: MUTANTS places of each, or of FLOORS alone. Takes hours.
MUTANTS ?= 20
mutants: $(VENV)/.dev .venv-mutants/.installed
	.venv-mutants/bin/python tests/mutants/run.py --pytest $(BIN)/pytest --places $(MUTANTS) $(FLOORS)

# Each parser is fed what a fuzzer thinks of, for SECONDS, from what build/fuzz keeps of earlier runs. FUZZ='json events': some.
SECONDS ?= 600
fuzz: $(VENV)/.dev .venv-fuzz/.installed
	$(BIN)/python tests/fuzz/seeds.py build/fuzz
	.venv-fuzz/bin/python tests/fuzz/run.py --corpus build/fuzz --seconds $(SECONDS) $(FUZZ)

bench: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/throughput.py $(BENCH)
	$(BIN)/python tests/benchmarks/transcripts.py $(BENCH)
	$(BIN)/python tests/benchmarks/providers.py $(BENCH)

# What the gateway adds to a call, beside direct calls in the same run; what a page and the API take beside the store;
# what a thread takes that is sent whole with each request.
bench-serve: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/gateway.py $(BENCH)
	$(BIN)/python tests/benchmarks/pages.py $(BENCH)
	$(BIN)/python tests/benchmarks/resending.py $(BENCH)
	$(BIN)/python tests/benchmarks/lagging.py $(BENCH)

# What others use has its packages in an environment of its own: nothing of headish needs them.
bench-peers: .venv-peers/.installed
	.venv-peers/bin/python tests/benchmarks/peers.py $(BENCH)
	.venv-peers/bin/python tests/benchmarks/sessions.py

aio: $(VENV)/.dev
	$(BIN)/python docs/async_verbs.py

# The examples of the HTTP API, each as a real server answers.
examples: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m support.api_examples

# The store's own tests on a store over HTTP; what is left out is told with its reason.
HTTP ?= tests/history tests/store tests/searching tests/erasing tests/feeds tests/content
test-http: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/pytest -p support.over_http.plugin -rs $(HTTP)

# The conformance suite of MCP, in each revision of the protocol.
test-mcp: $(VENV)/.dev .node/.installed
	cd tests && ../$(BIN)/python -m serve.mcp.conformance --suite ../.node

# The page about TypeScript: its program, with types made of the OpenAPI document, compiled and run beside a server.
test-typescript: $(VENV)/.dev .node/.installed
	cd tests && ../$(BIN)/python -m serve.typescript.check --packages ../.node --work ../build/typescript

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/man_pages.py

man: $(VENV)/.dev
	$(BIN)/python docs/man_pages.py

# The pages as a site: a link or an anchor that leads nowhere ends it. Nothing of it asks the network.
site: .venv-site/.installed
	rm -rf build/site build/doctrees
	.venv-site/bin/sphinx-build --quiet --fail-on-warning --keep-going -b html -d build/doctrees docs build/site
	@echo "build/site/index.html"

fix: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

format: $(VENV)/.dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: mypy basedpyright

mypy: $(VENV)/.dev
	$(BIN)/mypy --cache-dir .mypy_cache$(VENV:.venv%=%)
	$(BIN)/mypy --cache-dir .mypy_cache$(VENV:.venv%=%) tests/aio/typed.py

basedpyright: $(VENV)/.dev
	$(BIN)/basedpyright

floors: $(VENV)/.dev
	$(BIN)/lint-imports

pytest: $(VENV)/.dev
	$(PYTEST_ALL) $(PYTEST)

# On SQLite alone, a few cases of each test, the first few examples of each property. QUICK=--all: whatever changed.
tests-quick: $(VENV)/.dev
	@chosen=$$($(BIN)/python tests/support/touched.py $(QUICK)) && \
		HYPOTHESIS_PROFILE=quick $(PYTEST_ALL) -m "not slow and not postgresql and not memory" $$chosen $(PYTEST)

# The wheel, installed alone in an empty environment.
wheel: $(VENV)/.dev
	rm -rf build
	$(BIN)/python -m build --quiet --wheel --no-isolation --outdir build/dist
	$(BIN)/python tests/wheel/check_contents.py build/dist
	$(BIN)/python -m venv --without-pip build/empty
	$(PIP) --python build/empty/bin/python install --require-hashes -r requirements/run.txt
	$(PIP) --python build/empty/bin/python install --no-deps build/dist/*.whl
	build/empty/bin/python tests/wheel/smoke.py

# What is published. It is built again from its own sources, by a stricter umask, and must come out byte for byte the same.
# The wheel is then installed alone on each Python, which takes the tour, an upgrade and a request to every provider.
dist: $(VENV)/.dev .venv-release/.installed
	rm -rf build
	$(BIN)/python -m build --quiet --no-isolation --outdir build/dist
	mkdir -p build/again && tar -xzf build/dist/*.tar.gz -C build/again --strip-components 1
	cd build/again && umask 077 && $(CURDIR)/$(BIN)/python -m build --quiet --no-isolation --outdir dist
	cd build/dist && for file in *; do cmp $$file ../again/dist/$$file || exit 1; done
	.venv-release/bin/twine check --strict build/dist/*
	@set -e; $(foreach version,$(PYTHONS),$(if $(call find,$(version)),\
		$(call find,$(version)) -m venv --without-pip build/bare-$(version); \
		$(BIN)/uv pip install --quiet --python build/bare-$(version) --constraint requirements/run.txt build/dist/*.whl; \
		build/bare-$(version)/bin/python tests/wheel/smoke.py;,\
		echo "Python $(version) is neither on the path nor among pyenv's: the wheel was not tried on it";))
	version=$$($(BIN)/headish --version | cut -d' ' -f2) && \
		sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/again/pyproject.toml && \
		.venv-release/bin/cyclonedx-py environment --pyproject build/again/pyproject.toml --output-reproducible \
		--output-file build/dist/headish-$$version.cdx.json $$(ls -d build/bare-* | sort -V | tail -n 1)
	$(BIN)/python tests/wheel/check_contents.py build/dist
	@ls -l build/dist

# Known holes of the pinned dependencies. Where the list of holes cannot be had, the pins that are behind are told instead.
audit: $(VENV)/.run .venv-release/.installed
	.venv-release/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements/run.txt || \
		{ echo "no list of holes: these are behind"; $(BIN)/python -m pip --disable-pip-version-check list --outdated; }

lock: $(VENV)/.dev
	cd requirements/node && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts \
		--no-audit --no-fund --loglevel error
	$(LOCK_ONE) --output-file requirements/run.txt requirements/run.in
	$(LOCK_ONE) --output-file requirements/dev.txt --constraint requirements/run.txt requirements/dev.in
	$(LOCK_ONE) --output-file requirements/peers.txt --constraint requirements/run.txt requirements/peers.in
	$(LOCK_ONE) --output-file requirements/site.txt --constraint requirements/run.txt requirements/site.in
	$(LOCK_ONE) --output-file requirements/release.txt --constraint requirements/run.txt requirements/release.in
	$(LOCK_ONE) --output-file requirements/mutants.txt requirements/mutants.in
	$(LOCK_ONE) --output-file requirements/fuzz.txt --constraint requirements/run.txt requirements/fuzz.in
	for peer in $(PEERS); do $(LOCK_ONE) --output-file requirements/peers-$$peer.txt \
		--constraint requirements/run.txt requirements/peers-$$peer.in || exit 1; done

clean:
	rm -rf .venv .venv-* .node build .mypy_cache* .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "headish needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

.venv-site/.installed: requirements/site.txt | $(BIN)/python
	$(BIN)/python -m venv .venv-site
	.venv-site/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/site.txt
	@touch $@

.venv-release/.installed: requirements/release.txt | $(BIN)/python
	$(BIN)/python -m venv .venv-release
	.venv-release/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/release.txt
	@touch $@

.venv-fuzz/.installed: requirements/fuzz.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/fuzz.txt
	.venv-fuzz/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@

.venv-mutants/.installed: requirements/mutants.txt | $(BIN)/python
	$(BIN)/python -m venv .venv-mutants
	.venv-mutants/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/mutants.txt
	@touch $@

# What is checked from node, by the hashes of its lock. A node that is new enough for the suite comes with it.
.node/.installed: requirements/node/package.json requirements/node/package-lock.json
	@npm --version > /dev/null || { echo "this needs npm, which comes with node 20 or newer"; exit 1; }
	mkdir -p .node && cp requirements/node/package*.json .node/
	cd .node && npm ci --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@

# Packages of the frameworks ask for the same one with different extras: pip 23.2 then looks for a version whose hash it misses.
.venv-peers/.installed: requirements/peers.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=24'
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/peers.txt
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@

.venv-peers-%/.installed: requirements/peers-%.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv .venv-peers-$*
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=24'
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/peers-$*.txt
	.venv-peers-$*/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable .
	@touch $@
