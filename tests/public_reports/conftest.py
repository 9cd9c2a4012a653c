"""The tokenizers of tests/rollout, for reports about prompts."""

from tests.rollout.conftest import chat, words

__all__ = ["chat", "words"]
