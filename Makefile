# Two commands do all set-up by themselves: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Stealing work mostly keeps the tests of a file together, so that what they share is made once; nobody is idle.
PYTEST := $(BIN)/python -m pytest --dist worksteal
# Where the environment forbids to keep bytecode, every process a test starts would compile all it imports again.
export PYTHONDONTWRITEBYTECODE :=
KERNEL := $(shell find native -name '*.?pp')
CLANG_FORMAT := 14

.DEFAULT_GOAL := help
.PHONY: fuzz help demo test lint types layers fast slow native-tests long sanitize clean docs images bench lock mutants

help:
	@echo "make demo   install into $(VENV), measure phantoms, rank five models on them, write pages to site/"
	@echo "make test   install, then lint, types, layers, fast tests, slow tests"
	@echo "make long   what \`make test\` leaves out: the same checks on more data and more examples"
	@echo "make native-tests  the unit tests of the kernel in C++, under address and undefined-behaviour sanitizers"
	@echo "make sanitize  the tests of the kernel with one that stops at every read or write outside of memory, and at undefined behaviour"
	@echo "make docs   build the documentation site into build/docs; warnings are errors"
	@echo "make images make the pictures of README and docs again (needs chromium)"
	@echo "make bench  run speed, scale, accuracy and coverage, rewrite docs/benchmarks.md (ARGS=--quick to try)"
	@echo "make mutants  change single operators of a module and list the changes that its tests do not notice (FILE=, TESTS=, ARGS=--sample 40)"
	@echo "make lock   write the hashes of all pinned packages into constraints.txt again"
	@echo "make clean  remove the environment and what the builds left"

$(VENV)/.installed: pyproject.toml constraints.txt CMakeLists.txt native/sources.cmake $(filter-out native/tests/%,$(KERNEL))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement constraints.txt
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --config-settings=cmake.define.SEGAUGE_WERROR=ON --editable .
	@$(BIN)/python -m pip check >/dev/null || { $(BIN)/python -m pip check; echo "constraints.txt lacks a package: add it and run make lock."; exit 1; }
	@$(BIN)/python -c 'import segauge.geometry._kernel' || { echo "The kernel was not built: pip install --verbose --editable . shows why."; exit 1; }
	@touch $@

# The pinned versions with the hashes of all their files. Edit a version in constraints.txt, then run this.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet uv
	grep -E '^[A-Za-z]' constraints.txt | sed 's/ .*//' > build/lock/versions.txt
	{ grep '^#' constraints.txt; build/lock/bin/uv pip compile --quiet --no-deps --universal --python-version 3.11.7 \
		--generate-hashes --no-header --no-annotate build/lock/versions.txt; } > build/lock/constraints.txt
	cp build/lock/constraints.txt constraints.txt

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py
	$(BIN)/segbench run --config configs/phantom.yaml --render site
	$(BIN)/python examples/demo_report.py
	@echo "Open site/index.html (which model is best, and is it real?) and site/report.html (one model in detail)."

test: lint types layers fast slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@if clang-format --version 2>/dev/null | grep -q 'version $(CLANG_FORMAT)\.'; then \
		clang-format --dry-run --Werror $(KERNEL); \
	else echo "clang-format $(CLANG_FORMAT) is missing: the layout of native/ was not checked (other versions break lines elsewhere)"; fi

types: $(VENV)/.installed
	$(BIN)/mypy

layers: $(VENV)/.installed
	$(BIN)/lint-imports

fast: $(VENV)/.installed
	$(PYTEST) -n $(JOBS) -m "not slow and not long" --durations=15

# One worker more than there are cores: much of it waits, for browsers and for processes that are killed. By whole
# files: what they share (a site, a browser) takes longest. Files of many tests come first, so that none is the tail.
slow: $(VENV)/.installed native-tests
	$(BIN)/python -m pytest --dist loadfile -n $$(( $(JOBS) + 1 )) -m "slow and not long" --durations=15
	SEGAUGE_ENGINE=reference $(PYTEST) -n $(JOBS) -m "not slow and not long and not shared" \
		--ignore tests/metrics/test_surface.py tests/metrics tests/test_measurement.py

# On the reference the tests of single surfaces take minutes: it cuts pieces until HD is exact. The fast stage compares
# it with the kernel.
long: $(VENV)/.installed
	SEGAUGE_ENGINE=reference $(PYTEST) -n $(JOBS) -m "not slow and not long and not shared" tests/metrics/test_surface.py
	$(PYTEST) -n $(JOBS) -m long
	SEGAUGE_FUZZ_EXAMPLES=1000 $(PYTEST) -n $(JOBS) --hypothesis-profile=others tests/io/test_fuzz.py
	$(PYTEST) -n $(JOBS) -m "hypothesis and not long" --hypothesis-profile=others

# Damaged files of every format and damaged trees of JSON and YAML, many more than `make test` tries.
fuzz: $(VENV)/.installed
	SEGAUGE_FUZZ_EXAMPLES=1000 $(PYTEST) -n $(JOBS) --hypothesis-profile=others tests/io/test_fuzz.py
	SEGAUGE_FUZZ_TREES=10000 $(PYTEST) -s tests/io/test_fuzz_trees.py

# An environment of its own, with a kernel that checks itself. What it says must not be captured with the tests' output.
sanitize:
	CXXFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined" $(MAKE) VENV=build/sanitized build/sanitized/.installed
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so.6)" ASAN_OPTIONS=detect_leaks=0 \
		build/sanitized/bin/python -m pytest --quiet --capture=no -m "not slow and not long" tests/geometry

# The unit tests of the kernel in C++ under both sanitizers; what they need is not everywhere.
native-tests:
	@if ! command -v cmake >/dev/null || ! echo '#include <doctest/doctest.h>' | $(CXX) -fsyntax-only -x c++ - 2>/dev/null; then \
		echo "cmake or doctest (Debian: doctest-dev) is missing: the unit tests of native/ were not run"; \
	elif ! echo 'int main() {}' | $(CXX) -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null; then \
		echo "the compiler has no sanitizers: the unit tests of native/ were not run"; \
	else \
		cmake -S native/tests -B build/native-tests >/dev/null && cmake --build build/native-tests --parallel $(JOBS) >/dev/null && \
		build/native-tests/kernel_tests; \
	fi

docs: $(VENV)/.installed
	$(BIN)/python -m sphinx --builder html --fail-on-warning --fresh-env --quiet docs build/docs
	@echo "Open build/docs/index.html."

images: $(VENV)/.installed
	$(BIN)/python docs/images/make_images.py

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.publish $(ARGS)

FILE ?= src/segauge/grid.py
TESTS ?= tests/test_grid.py tests/test_placement.py
mutants: $(VENV)/.installed
	$(BIN)/python benchmarks/mutants.py $(FILE) --tests $(TESTS) $(ARGS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
