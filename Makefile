# pyusdt: every entry point. `make help` lists them; each does all of its own set-up.
# The set-up itself (packages, .venv, the build) is .ci/setup.

PYTHON ?= python3
VENV := .venv/bin
# What the extension is built from; Python files need no rebuild, .venv sees src/ itself.
SOURCES := $(wildcard setup.py pyproject.toml requirements-dev.txt include/*.d include/*.h c/*/*.[ch] c/bpf/helpers/*.[ch] c/generators/*.py \
	src/py*/*.pyx src/py*/*.px[di] src/pyusdt/_core_c/*.[ch] src/pyusdt/_core_c/vm/*.[ch] src/pyusdt/*.in)
BUILT := .venv/built
TOOLS := .venv/requirements.installed
PYTEST := $(VENV)/python -m pytest -q
# A test that hangs is one that fails, by its name.
WORKERS := $(PYTEST) --timeout 300 -n 3 --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help build tools nif packages demo test test-more test-units test-long pictures bench bench-pythons lint site sanitize clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

build: $(BUILT) nif ## build pyusdt into .venv (a minute), and the Erlang application where Erlang is

$(BUILT): $(SOURCES)
	.ci/setup venv $(PYTHON)
	touch $@

tools: build $(TOOLS) ## build, and install what tests and linters need into .venv (`make test` and `make lint` do it, too)

$(TOOLS): requirements-dev.txt | $(BUILT)
	.ci/setup tools

nif:
	.ci/setup erlang

packages: ## install the system packages of .ci/packages.txt (as root)
	.ci/setup packages

demo: build ## trace the example web server through 2,000 requests and print its histograms
	$(VENV)/python examples/demo.py

# Three workers on two processors: the tests wait for about a third of their time.
test: packages tools ## the quick tests (at most six minutes on two quiet cores)
	$(WORKERS) -m "not long and not more" tests

test-more: packages tools ## the tests that are slow and rarely fail (some twelve minutes)
	$(WORKERS) -m "more and not long" tests

test-units: tools ## the unit tests: no package of the system, no root
	$(WORKERS) -m "not long" tests/unit

test-long: packages tools ## kill loops, fuzzing and exhaustive checks (hours)
	$(PYTEST) -m long tests

pictures: packages tools ## make the pictures of the docs that a browser draws, by the tests that check them
	PYUSDT_PICTURES=1 $(PYTEST) tests/integration/test_web_picture.py tests/integration/test_flamegraph_browser.py

bench: packages tools ## the performance budgets, measured beside their peers
	$(VENV)/python benchmarks/run.py; status=$$?; $(VENV)/python benchmarks/erlang_bench.py && exit $$status

bench-pythons: packages tools ## what an application pays while nobody traces, on every CPython here
	$(VENV)/python benchmarks/pythons.py

lint: tools ## ruff, mypy, both formatters, words of pages and messages, gcc's and clang's warnings
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	git ls-files '*.[ch]' | xargs $(VENV)/clang-format --dry-run -Werror
	$(VENV)/mypy
	$(VENV)/python .ci/lint-prose
	.ci/lint-c

site: tools ## the documentation as a site in build/site; a dead link or anchor is an error
	$(VENV)/mkdocs build

sanitize: tools ## the C core's tests under ASan, UBSan and TSan
	$(PYTEST) --timeout 300 -m "not long" --sanitize tests/c

clean: ## remove what was built (.venv stays until `rm -rf .venv`)
	rm -rf build c/generated src/py*/*.so src/*.egg-info $(BUILT)
	$(MAKE) -s -C erlang_nif clean
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
