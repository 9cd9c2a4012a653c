"""Prompts to ids: through the tokenizer's chat template or as raw text, with one BOS token or none, and never cut.

content            chat_template: auto                                     off
text               one user turn if the tokenizer has a template, else raw   raw
list of messages   the template; refused if there is none                    refused
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from strop.errors import DataError
from strop.types import Message, Prompt


class Encoder:
    """encoder(prompt) -> the ids that an engine continues and a trainer scores.

    Raw text gets the BOS token if the tokenizer puts one before text by itself; a template is taken at its word.
    Neither gets a second one. Raw text may hold control tokens (it may have been through a template already); the text
    of a message may not, for it could forge a turn.

    With `positions`, what the model has of them, a prompt must leave room for `max_tokens`: the last needs none.

    Raises:
        DataError: naming the prompt: it has no tokens, more than max_prompt_tokens, or too many for the positions;
            a message holds a control token; messages without a template, or a template that refuses them.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_prompt_tokens: int,
        chat_template: Literal["auto", "off"] = "auto",
        positions: int = 0,
        max_tokens: int = 1,
    ) -> None:
        self.positions, self.max_tokens = positions, max_tokens
        self.tokenizer, self.max_prompt_tokens, self.chat_template = tokenizer, max_prompt_tokens, chat_template
        self._templated = chat_template == "auto" and bool(getattr(tokenizer, "chat_template", None))
        self._bos: int | None = getattr(tokenizer, "bos_token_id", None)
        self._raw_has_bos = self._bos is not None and list(tokenizer("")["input_ids"])[:1] == [self._bos]
        self._control = control_ids(tokenizer, templated=self._templated)

    def __call__(self, prompt: Prompt) -> tuple[int, ...]:
        messages = self._messages(prompt)
        ids = self._ids(prompt, messages) if messages else self._with_one_bos(self._plain(str(prompt.content)))
        if not ids:
            raise DataError(f"prompt {prompt.label} has no tokens; give it some text")
        if len(ids) > self.max_prompt_tokens:
            raise DataError(
                f"prompt {prompt.label} has {len(ids)} tokens, over the limit of {self.max_prompt_tokens}; "
                "shorten it or raise task.max_prompt_tokens"
            )
        if self.positions and (needed := len(ids) + self.max_tokens - 1) > self.positions:
            raise DataError(
                f"prompt {prompt.label} has {len(ids)} tokens, and with max_tokens {self.max_tokens} needs {needed} "
                f"positions; the model has {self.positions}: shorten it or lower rollout.max_tokens"
            )
        return tuple(ids)

    def _messages(self, prompt: Prompt) -> Sequence[Message]:
        """The turns to put through the template; none for raw text."""
        if isinstance(prompt.content, str):
            return [{"role": "user", "content": prompt.content}] if self._templated else []
        if self._templated:
            if not prompt.content:
                raise DataError(f"prompt {prompt.label} is an empty list of messages")
            return prompt.content
        reason = "task.chat_template is off" if self.chat_template == "off" else "the tokenizer has no chat template"
        raise DataError(f"prompt {prompt.label} is a list of messages, but {reason}; give it as one text")

    def _ids(self, prompt: Prompt, messages: Sequence[Message]) -> list[int]:
        for place, message in enumerate(messages):
            self._refuse_control_tokens(prompt, place, message)
        try:
            text = render(self.tokenizer, messages, add_generation_prompt=True)
        except template_errors() as error:
            raise DataError(f"prompt {prompt.label}: the chat template refuses it: {error}") from error
        return self._with_one_bos(self._plain(text), needed=False)

    def _refuse_control_tokens(self, prompt: Prompt, place: int, message: Message) -> None:
        for key, text in message.items():
            if not isinstance(text, str):
                raise DataError(f"prompt {prompt.label}: message {place} has a {key!r} that is not text")
            forged = [i for i in self._plain(text) if i in self._control]
            if forged:
                token = self.tokenizer.convert_ids_to_tokens(forged[0])
                raise DataError(
                    f"prompt {prompt.label}: the {key!r} of message {place} holds the control token {token!r}, "
                    "which could forge a turn; remove it from the data"
                )

    def _plain(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _with_one_bos(self, ids: list[int], *, needed: bool = True) -> list[int]:
        text = 0
        while text < len(ids) and ids[text] == self._bos:
            text += 1
        return [self._bos, *ids[text:]] if self._bos is not None and (text or needed and self._raw_has_bos) else ids


def control_ids(tokenizer: Any, *, templated: bool) -> frozenset[int]:
    """The tokens that no message may hold: the special ones, and what added tokens the template itself writes.

    The unknown token is no control token: any odd character becomes it.
    """
    added = getattr(tokenizer, "added_tokens_decoder", {})
    ends = {getattr(tokenizer, f"{name}_token_id", None) for name in ("bos", "eos", "pad")}
    control = {int(i) for i, token in added.items() if token.special} | set(getattr(tokenizer, "all_special_ids", ()))
    if templated:
        try:
            text = render(tokenizer, [{"role": "user", "content": "x"}], add_generation_prompt=False)
        except template_errors():
            text = ""  # a template that wants more than a user turn: its special tokens are known all the same
        control |= set(tokenizer(text, add_special_tokens=False)["input_ids"]) & set(added)
    return frozenset(control - ({getattr(tokenizer, "unk_token_id", None)} - ends))


def render(tokenizer: Any, messages: Sequence[Message], *, add_generation_prompt: bool) -> str:
    turns = [dict(message) for message in messages]
    return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=add_generation_prompt)


def template_errors() -> tuple[type[Exception], ...]:
    from jinja2 import TemplateError

    return (TemplateError, TypeError, KeyError, ValueError)
