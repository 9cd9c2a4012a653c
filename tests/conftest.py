"""What every test runs under: no network, one thread a process, the same examples each time, no user's own settings."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TERM"] = "dumb"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("FORCE_COLOR", None)

# A busy machine is no failure, so there is no deadline; a failure must come back, so the examples are fixed.
settings.register_profile(
    "strop", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("strop")
