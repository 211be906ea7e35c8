"""Calls the model's tokenizer and its chat template for many texts at once; finds what is learned.

An answer is found by comparing the tokens of the row with those of its beginnings, since a chat
template may write anything around a text. The compiler shows masks with the same function. Standard
library only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..read.rows import Turn

NOT_LEARNED: Final = -100  # the label that the loss ignores
Message = dict[str, Any]
Chats = Sequence[Sequence[Message]]
Tools = Sequence[list[Any] | None]
Tokens = list[int]
#: From the turns of a conversation: its messages, and the tools that they call.
ToMessages = Callable[[Sequence[Turn]], tuple[list[Message], list[Any] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """The tokenizer that transformers loaded; `tools` of a chat are those that it may call.

    `place_reasoning` is that of `reasoned_chats`, for data with reasoning.
    """

    tokenizer: Any
    place_reasoning: Callable[..., list[list[Message]]] | None = None

    @property
    def eos(self) -> int:
        """The token that ends an answer."""
        return int(self.tokenizer.eos_token_id)

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text, without special tokens around it.

        A fast tokenizer is called through its own library: the code that transformers runs around
        each call takes as long as the library itself.
        """
        if not self.tokenizer.is_fast:
            return list(self.tokenizer(texts, add_special_tokens=False)["input_ids"])
        found = self.tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def encode_marked(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text, with the special tokens that the tokenizer adds."""
        return list(self.tokenizer(texts)["input_ids"])

    def decode(self, ids: Tokens, *, skip_special_tokens: bool = False) -> str:
        """Return the text of tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens))

    def arrange(self, chats: Chats) -> list[list[Message]]:
        """Return conversations with their reasoning where the chat template reads it."""
        if self.place_reasoning is None:
            return [list(chat) for chat in chats]
        return self.place_reasoning(chats, lambda messages: self._apply([messages], None)[0])

    def render(self, chats: Chats, tools: Tools | None = None) -> list[Tokens]:
        """Return the tokens of each conversation; white space after its last turn is left out."""
        return self.encode([text.rstrip() for text in self._apply(chats, tools)])

    def render_prompts(self, chats: Chats, tools: Tools | None = None) -> list[Tokens]:
        """Return the tokens of each conversation up to the beginning of the model's answer."""
        return self.encode(self._apply(chats, tools, add_generation_prompt=True))

    def _apply(self, chats: Chats, tools: Tools | None, **options: bool) -> list[str]:
        apply = self.tokenizer.apply_chat_template
        if tools is None:
            return list(apply(chats, tokenize=False, **options))
        pairs = zip(chats, tools, strict=True)
        return [apply(chat, given, tokenize=False, **options) for chat, given in pairs]


def count_shared(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two lists have in common at their start."""
    if first[: len(second)] == second:
        return len(second)
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))
