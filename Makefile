# make demo | test | test-gpu | test-report | test-all | test-asan | fuzz | chaos | mutate | lint | format | stubs | docs | pictures | bench | reproduce | supply | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(wildcard core/include/pegasos/*.hpp core/include/pegasos/*/*.hpp core/src/*.cpp core/src/*.hpp core/bindings/*)
CORE_TESTS := $(wildcard core/tests/*)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
CHECKED_CPP = $(shell git ls-files 'core/*.hpp' 'core/*.cpp')

.PHONY: demo test test-gpu test-report test-all test-asan fuzz chaos mutate core-test lint format stubs docs pictures bench bench-certify bench-epoch reproduce supply clean

demo: $(VENV)/installed
	$(BIN)/pegasos demo

# Files of tests side by side, on as many processes as there are cores, at most four.
test: $(VENV)/installed core-test
	$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 4 --dist loadfile

# What runs on a GPU, on torch's CPU device; kernels by Triton's interpreter.
test-gpu: $(VENV)/gpu-tools
	$(BIN)/python -m pytest tests/gpu
	$(BIN)/python -m pytest tests/docs/test_code_blocks.py -k "gpu or embeddings"
	$(BIN)/python -m pytest tests/docs/test_offered.py

# Reports in Chromium, if there is one, and in the W3C's validator, if there is Java.
test-report: $(VENV)/browser-tools
	$(BIN)/python -m pytest tests/report/test_browser.py tests/report/test_validator.py \
	  tests/report/test_injection.py

# The slow tests too, property tests on a thousand examples that differ every time, and what
# tests/hardening promises at the size of half an hour: one table (test, cases, failures).
test-all: $(VENV)/installed core-test $(VENV)/fuzz-tools
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest $(IN_TABLE:%=--ignore=%)
	$(BIN)/python -m tests.hardening all

# Of which the table counts the cases.
IN_TABLE := tests/hardening tests/checkpoint/test_kill.py tests/dask/test_faults.py

# The same for as long as you like, each going on where it was: make fuzz SECONDS=3600
SECONDS := 600
fuzz: build/asan/built $(VENV)/fuzz-tools
	$(BIN)/python -m tests.hardening fuzz --seconds $(SECONDS) --built build/asan

chaos: $(VENV)/installed
	$(BIN)/python -m tests.hardening chaos --seconds $(SECONDS)

# Changes the code, one place at a time: of certificate.py, solve.py and the model file. Which
# changes no test notices: python -m tests.hardening.mutate --survivors
mutate: $(VENV)/mutation-tools
	$(BIN)/python -m tests.hardening.mutate --seconds $(SECONDS)

# The core's unit tests, under AddressSanitizer and UndefinedBehaviorSanitizer.
core-test: build/core-test/passed

build/core-test/passed: $(VENV)/tools CMakeLists.txt $(CORE) $(CORE_TESTS)
	$(BIN)/cmake -G Ninja -S . -B build/core-test -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPEGASOS_BUILD_TESTS=ON -DPEGASOS_WERROR=ON > /dev/null
	$(BIN)/cmake --build build/core-test
	$(BIN)/ctest --test-dir build/core-test --output-on-failure
	touch $@

# The module under the sanitizers.
build/asan/built: $(VENV)/installed $(shell git ls-files src)
	$(PIP) install --no-deps --no-build-isolation --upgrade --target build/asan \
	  -C cmake.define.PEGASOS_SANITIZE=ON -C build-dir=build/asan-build .
	touch $@

# Files that are cut off or damaged, with the module itself under the sanitizers; make fuzz tries more.
ASAN_TESTS := tests/model_file tests/data/test_cache.py tests/data/test_svmlight.py
test-asan: build/asan/built
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(BIN)/python tests/under_asan.py $(ASAN_TESTS) -k "not takes_no_memory"

lint: $(VENV)/installed $(VENV)/lint-tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CHECKED_CPP)
	$(BIN)/python -m nanobind.stubgen -q -m pegasos._core -o build/_core.pyi
	diff -u src/pegasos/_core.pyi build/_core.pyi  # differs? run: make stubs

format: $(VENV)/lint-tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CHECKED_CPP)

stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -q -m pegasos._core -o src/pegasos/_core.pyi

# The documentation, into build/site: python -m http.server -d build/site shows it. Warnings are errors;
# what its code blocks do is tested by `make test` (tests/docs); here those that need MLflow.
docs: $(VENV)/docs-tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m pytest tests/docs/test_code_blocks.py -k track-runs

pictures: $(VENV)/installed
	$(BIN)/python -m docs.pictures

# Pegasos against its peers, into benchmarks/results. The whole takes hours: 54 cells (9 data sets x
# 6 strengths) of 2 to 10 minutes; interrupted, it goes on where it was. make bench BENCH=--quick
# takes minutes; other options: python -m benchmarks --help.
bench: $(VENV)/bench-tools
	$(BIN)/python -m benchmarks $(BENCH)

# LinearSVC to a certified 1e-6 on all of the benchmark's data: 45 cells of at most 10 minutes.
bench-certify: $(VENV)/bench-tools
	$(BIN)/python -m benchmarks.certify_grid

bench-epoch: $(VENV)/installed
	$(BIN)/python benchmarks/epoch.py

# The sources' tables and figures, run again, into reproduce/RESULTS.md: a quarter of an hour on two
# cores. One of them: pegasos reproduce NAME.
reproduce: $(VENV)/installed
	$(BIN)/pegasos reproduce --all

# What is given away: sdist, wheel, licences, vulnerabilities, SBOM, into build/supply; needs a package index.
supply: build/supply/tools/installed
	build/supply/tools/bin/python -m tests.supply

# What follows runs once, and again when its inputs change.
$(VENV)/tools: pyproject.toml
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install 'pip>=25.1'
	$(PIP) install --group build --group test
	touch $@

$(VENV)/docs-tools: $(VENV)/installed
	$(PIP) install --group docs
	touch $@

# libFuzzer comes with clang; where it cannot be had, its row of the table says so.
$(VENV)/fuzz-tools: $(VENV)/installed
	$(PIP) install --group fuzz
	command -v clang++ > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get && \
	  apt-get update && apt-get install -y clang; } > /dev/null 2>&1 || true
	touch $@

$(VENV)/mutation-tools: $(VENV)/installed
	$(PIP) install --group mutation
	touch $@

$(VENV)/gpu-tools: $(VENV)/installed
	$(PIP) install --group gpu
	touch $@

$(VENV)/browser-tools: $(VENV)/installed
	$(PIP) install --group browser
	touch $@

build/supply/tools/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --quiet --disable-pip-version-check install 'pip>=25.1'
	$(@D)/bin/python -m pip --quiet --disable-pip-version-check install --group supply
	touch $@

$(VENV)/lint-tools: $(VENV)/tools
	$(PIP) install --group lint
	touch $@

$(VENV)/installed: $(VENV)/tools CMakeLists.txt $(CORE)
	$(PIP) install --no-build-isolation -C cmake.define.PEGASOS_WERROR=ON --editable '.[demo]'
	touch $@

$(VENV)/bench-tools: $(VENV)/installed
	$(PIP) install --no-build-isolation -C cmake.define.PEGASOS_WERROR=ON --editable '.[demo,bench]'
	touch $@

clean:
	rm -rf build $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
