"""Prompts to ids: through the tokenizer's chat template or as raw text, with one BOS token or none.

content            chat_template: auto                                     off
text               one user turn if the tokenizer has a template, else raw   raw
list of messages   the template; refused if there is none                    refused

A prompt over the limit is an error, or is cut if the policy says so: raw text to its last or first tokens, behind its
BOS token; under a template the last user message loses the beginning or the end of its text, and the template stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from strop.errors import DataError
from strop.types import Message, Prompt

LongPrompts = Literal["error", "drop", "left", "right"]
"""What is done about a prompt over the limit: refused, taken out before the run, or cut, its left or right going."""

SHOWN = ("user", "system", "developer")
"""Roles whose text a template must show. What it leaves out of earlier answers, such as thoughts, is its own affair."""


class Encoder:
    """encoder(prompt) -> the ids that an engine continues and a trainer scores.

    Raw text gets the BOS token if the tokenizer puts one before text by itself; a template is taken at its word.
    Neither gets a second one. Raw text may hold control tokens (it may have been through a template already); the text
    of a message may not, for it could forge a turn.

    With `positions`, what the model has of them, a prompt must leave room for `max_tokens`: the last needs none.

    Raises:
        DataError: naming the prompt: it has no tokens, more than max_prompt_tokens, or too many for the positions, and
            `long_prompts` does not cut it; a message holds a control token; messages without a template, or a template
            that refuses them or leaves one out.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        max_prompt_tokens: int,
        chat_template: Literal["auto", "off"] = "auto",
        positions: int = 0,
        max_tokens: int = 1,
        long_prompts: LongPrompts = "error",
    ) -> None:
        self.positions, self.max_tokens, self.long_prompts = positions, max_tokens, long_prompts
        self.tokenizer, self.max_prompt_tokens, self.chat_template = tokenizer, max_prompt_tokens, chat_template
        self._templated = chat_template == "auto" and bool(getattr(tokenizer, "chat_template", None))
        self._bos: int | None = getattr(tokenizer, "bos_token_id", None)
        self._raw_has_bos = self._bos is not None and list(tokenizer("")["input_ids"])[:1] == [self._bos]
        self._control = control_ids(tokenizer, templated=self._templated)
        self.warnings: tuple[str, ...] = template_warnings(tokenizer) if self._templated else ()

    @property
    def room(self) -> int:
        """The most tokens that a prompt may have."""
        if not self.positions:
            return self.max_prompt_tokens
        return min(self.max_prompt_tokens, self.positions - self.max_tokens + 1)

    def __call__(self, prompt: Prompt) -> tuple[int, ...]:
        ids = self.whole(prompt)
        if len(ids) <= self.room:
            return ids
        if self.long_prompts in ("left", "right") and self.room > 0:
            return self._cut(prompt, ids)
        raise DataError(self._too_long(prompt, len(ids)))

    def whole(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids of a prompt of any length."""
        messages = self._messages(prompt)
        ids = self._ids(prompt, messages) if messages else self._with_one_bos(self._plain(str(prompt.content)))
        if not ids:
            raise DataError(f"prompt {prompt.label} has no tokens; give it some text")
        return tuple(ids)

    def _too_long(self, prompt: Prompt, tokens: int) -> str:
        if self.long_prompts == "drop":
            way = "task.data.long_prompts drop takes out what is known before the run, and this one was not: use left"
            return f"prompt {prompt.label} has {tokens} tokens, over the limit of {self.room}; {way} or right"
        if tokens > self.max_prompt_tokens:
            way = "shorten it, raise task.max_prompt_tokens, or say with task.data.long_prompts: drop, left or right"
            return f"prompt {prompt.label} has {tokens} tokens, over the limit of {self.max_prompt_tokens}; {way}"
        needed = tokens + self.max_tokens - 1
        return (
            f"prompt {prompt.label} has {tokens} tokens, and with max_tokens {self.max_tokens} needs {needed} "
            f"positions; the model has {self.positions}: shorten it or lower rollout.max_tokens"
        )

    def _cut(self, prompt: Prompt, ids: Sequence[int]) -> tuple[int, ...]:
        messages = self._messages(prompt)
        if messages:
            return self._cut_message(prompt, messages)
        start = tuple(ids[:1]) if ids[0] == self._bos else ()
        body, keep = ids[len(start) :], self.room - len(start)
        if not keep:
            raise DataError(f"prompt {prompt.label}: a limit of {self.room} tokens leaves only the start token of it")
        return (*start, *(body[-keep:] if self.long_prompts == "left" else body[:keep]))

    def _cut_message(self, prompt: Prompt, messages: Sequence[Message]) -> tuple[int, ...]:
        """The ids with as many characters of the last user message as there is room for."""
        users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
        place = users[-1] if users else len(messages) - 1
        text = messages[place]["content"]

        def kept(count: int) -> tuple[int, ...]:
            part = text[len(text) - count :] if self.long_prompts == "left" else text[:count]
            turns = [*messages[:place], {**messages[place], "content": part}, *messages[place + 1 :]]
            return tuple(self._ids(prompt, turns))

        count = most(len(text), lambda count: len(kept(count)) <= self.room)
        if not count:
            rest = len(kept(0))
            raise DataError(
                f"prompt {prompt.label}: without its last user message it has {rest} tokens already, and the limit of "
                f"{self.room} leaves no room for that; raise task.max_prompt_tokens"
            )
        return kept(count)

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
        for place, message in enumerate(messages):
            if message.get("role") in SHOWN and message["content"].strip() not in text:
                raise DataError(
                    f"prompt {prompt.label}: the chat template leaves out or changes the text of message {place} "
                    f"({message['role']}); take that message out, or use another template"
                )
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


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `limit` that fits, if what fits begins at 0 and has no gap; 0 if none does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


PROBES = ([{"role": "user", "content": "x"}], [{"role": "system", "content": "x"}, {"role": "user", "content": "x"}])


def template_warnings(tokenizer: Any) -> tuple[str, ...]:
    """What is odd about a template: that it has no mark where the answer begins."""
    for probe in PROBES:
        try:
            texts = {render(tokenizer, probe, add_generation_prompt=wanted) for wanted in (True, False)}
        except template_errors():
            continue  # a template that wants other turns
        if len(texts) == 2:
            return ()
        return (
            "the chat template has no mark where the answer begins (add_generation_prompt changes nothing): right for "
            "templates such as Llama 2's, whose user turn ends in one; with others a completion first writes that mark "
            "itself, or goes on with the user's text",
        )
    return ()


def render(tokenizer: Any, messages: Sequence[Message], *, add_generation_prompt: bool) -> str:
    turns = [dict(message) for message in messages]
    return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=add_generation_prompt)


def template_errors() -> tuple[type[Exception], ...]:
    from jinja2 import TemplateError

    return (TemplateError, TypeError, KeyError, ValueError, AttributeError, ArithmeticError, RecursionError)
