"""What every test runs under: no network, one thread a process, and no traces of a user's own settings."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TERM"] = "dumb"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("FORCE_COLOR", None)
