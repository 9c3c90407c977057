# make demo: fit the simulated arm and write its report. make test: everything that must hold. Each sets itself up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Into the environment $(1) what $(2) says: by uv, which takes a tenth of pip's time, or by pip where uv cannot be had.
PIP := bin/python -m pip install -q --disable-pip-version-check
install = $(1)/$(PIP) uv && $(1)/bin/uv pip install -q --python $(1) $(2) || $(1)/$(PIP) $(2)

# What Numba compiled for one clone serves the others.
export NUMBA_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/numba

# Bytecode is kept, whatever the environment says: to rewrite all asserts takes ten seconds a process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo kernels test test-quick nightly portability portability-short lowest pythons consumers lint docs notebooks wheel bench clean

demo: $(VENV)/.core
	$(BIN)/ident run experiments/arm5

# The kernels, half of them by each of two processes, where none are kept yet: two workers would both compile all.
FIRST := test_dynamics.py test_dynamics_matrices.py test_log_det_newton.py test_cut_off.py
SECOND := test_forward_dynamics.py test_regressor_pull_back.py test_distance.py test_regression.py
kernels: $(VENV)/.dev
	@kept=$$($(BIN)/python -c "from ident.jit import cache_folder; print(*cache_folder().glob('*.nbc'))"); \
	compile() { $(BIN)/python -m pytest -q --seeds 2 -m "not slow" $$(printf ' tests/%s' $$*) >/dev/null; }; \
	if [ -z "$$kept" ]; then echo "compiling kernels"; export $(TWO); compile $(FIRST) & compile $(SECOND); wait; fi

# A quarter of the random cases; `make nightly` tries them all, `make test-quick` a tenth of those not marked slow.
TWO := OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE
test: $(VENV)/.dev kernels
	$(TWO) $(BIN)/python -m pytest -n 2 --dist worksteal

test-quick: $(VENV)/.dev kernels
	$(TWO) $(BIN)/python -m pytest -n 2 --dist worksteal --seeds 2 -m "not slow"

nightly: $(VENV)/.dev kernels
	$(TWO) $(BIN)/python -m pytest -n 2 --dist worksteal --seeds 20

# Other machines, emulated: five draws of the last bits of all inputs (tests/conftest.py), kernels compiled for a plain
# processor, NumPy and BLAS without vector units, one and two BLAS threads. A test that fails there tests the machine.
NUMERICAL := $(addprefix tests/test_,base_parameters.py bounds_kept.py compare.py constrained.py covariance.py criteria.py \
  estimate.py feasible.py interval.py log_det_newton.py model.py payload.py prior.py refine.py regression.py worth.py)
SHORT := $(addprefix tests/test_,base_parameters.py constrained.py log_det_newton.py refine.py regression.py)
PLAIN := OPENBLAS_CORETYPE=Nehalem NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c \
  "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f; print(*(x for x in d if f[x]))")"
NUMBERS := NUMBA_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist worksteal

portability: $(VENV)/.dev
	for seed in 1 2 3 4 5; do OPENBLAS_NUM_THREADS=1 IDENT_TEST_ROUNDING=$$seed $(NUMBERS) $(NUMERICAL) || exit 1; done
	OPENBLAS_NUM_THREADS=1 NUMBA_CPU_NAME=generic $(NUMBERS) $(NUMERICAL)
	OPENBLAS_NUM_THREADS=1 $(PLAIN) $(NUMBERS) $(NUMERICAL)
	OPENBLAS_NUM_THREADS=2 $(NUMBERS) $(NUMERICAL)

portability-short: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=2 IDENT_TEST_ROUNDING=6 $(PLAIN) $(NUMBERS) $(SHORT)

# The demo and the tests that need no oracle, with the lowest versions that pyproject.toml declares, and on other Pythons.
CORE_TESTS := $(addprefix tests/test_,bags.py cad_table.py cli.py compare.py config.py constrained.py interval.py \
  kernel_cache.py layers.py log_det_newton.py logs_process.py logs_read.py prior.py robot_dh.py robot_file.py spatial.py)
TESTERS := pytest pytest-xdist hypothesis

lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/$(PIP) uv
	.venv-lowest/bin/uv pip install -q --python .venv-lowest --resolution lowest-direct -e ".[all]"
	.venv-lowest/bin/uv pip install -q --python .venv-lowest $(TESTERS)
	.venv-lowest/bin/python -m ident run experiments/arm5 --out results/lowest
	$(TWO) .venv-lowest/bin/python -m pytest -n 2 --dist worksteal $(CORE_TESTS)

# Those of 3.12 and 3.13 that the machine has, on the path or in pyenv; PINS= takes the newest versions of all packages.
PINS := -c constraints.txt
pythons:
	@set -e; found=; for v in 3.12 3.13; do \
	  python=; for p in python$$v $$HOME/.pyenv/versions/$$v*/bin/python$$v; do "$$p" -c "" 2>/dev/null && python=$$p; done; \
	  if [ -z "$$python" ]; then echo "no Python $$v here"; continue; fi; \
	  found=yes; echo "Python $$v: $$python"; "$$python" -m venv --clear .venv-$$v; \
	  .venv-$$v/$(PIP) $(PINS) -e ".[all]" $(TESTERS); \
	  .venv-$$v/bin/python -m ident run experiments/arm5 --out results/python$$v; \
	  $(TWO) .venv-$$v/bin/python -m pytest -n 2 --dist worksteal $(CORE_TESTS); \
	done; [ -n "$$found" ]

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict ident

# The notebooks with what they print and draw, as they are stored; a test compares.
notebooks: $(VENV)/.dev
	$(BIN)/python notebooks/execute.py

# The site, in build/site: every warning is an error, and nothing is fetched.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What is exported, read by the programs that it is for: Octave, KDL, libsdformat, Drake, the Robotics Toolbox, pdfTeX.
# The system packages are Debian's; install them by hand on other systems.
DEBS := g++ pkg-config octave texlive-latex-base poppler-utils liborocos-kdl-dev libsdformat-dev liburdfdom-tools
consumers: $(VENV)/.dev .venv-consumers/.ready
	dpkg -s $(DEBS) >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBS); }
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist worksteal tests/consumers

.venv-consumers/.ready: tests/consumers/constraints.txt
	$(PYTHON) -m venv .venv-consumers
	$(call install,.venv-consumers,-r tests/consumers/constraints.txt)
	touch $@

# Wheel and source as they would be published; the wheel, installed where no source lies, must import and run.
wheel: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/wheel.py dist/*.whl dist/*.tar.gz

# The rows of experiments/benchmarks/README.md, ours beside the peers', one thread on both sides, in a quarter of an hour.
ROWS := accuracy regressor forward endtoend codegen controllers fit "refine 20" "memory csv 1e6" "memory parquet 1e6" cli
bench: $(VENV)/.dev kernels
	@for row in $(ROWS); do \
	  set -- $$row; name=$$1; shift; printf '\n%s %s\n' "$$name" "$$*"; \
	  OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE \
	    $(BIN)/python experiments/benchmarks/$$name.py "$$@" || echo "$$name failed"; \
	done

clean:
	rm -rf $(VENV) .venv-* build dist results experiments/*/results

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(call install,$(VENV),-c constraints.txt -e ".[parquet]")
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(call install,$(VENV),-c constraints.txt -e ".[dev]")
	touch $@ $(VENV)/.core
