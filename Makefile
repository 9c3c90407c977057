# make demo: fit the simulated arm and write its report. make test: everything that must hold. Each sets itself up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test consumers lint wheel clean

demo: $(VENV)/.core
	$(BIN)/ident run experiments/arm5

test: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict ident

# What is exported, read by the programs that it is for: Octave, KDL, libsdformat, Drake, the Robotics Toolbox, pdfTeX.
# The system packages are Debian's; install them by hand on other systems.
DEBS := g++ pkg-config octave texlive-latex-base poppler-utils liborocos-kdl-dev libsdformat-dev liburdfdom-tools
consumers: $(VENV)/.dev .venv-consumers/.ready
	dpkg -s $(DEBS) >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBS); }
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist loadfile tests/consumers

.venv-consumers/.ready: tests/consumers/constraints.txt
	$(PYTHON) -m venv .venv-consumers
	.venv-consumers/bin/python -m pip install -q --disable-pip-version-check -r tests/consumers/constraints.txt
	touch $@

# A wheel, installed where no source lies, must import and run.
wheel: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python tests/wheel.py dist/*.whl

clean:
	rm -rf $(VENV) .venv-consumers build dist results experiments/*/results

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.core
