"""Markers: what a chat template writes between texts, and whether the tokenizer has it whole."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ftc.compiler.resolve.chat_template import ChatTemplate, ChatTemplateError, Message

if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Tokenizer

#: Control markers as families write them: `<|im_start|>`, `<start_of_turn>`; `[INST]` is plain text
#: in most of the families that write it.
_MARKER: Final = re.compile(r"<\|[^<>|\s]{1,40}\|>|<[a-z]+_of_[a-z]+>")


def find_split_markers(
    template: ChatTemplate, tokenizer: "Tokenizer", messages: Sequence[Message]
) -> tuple[str, ...]:
    """Return the markers of a rendered conversation that are no token of the tokenizer, sorted."""
    try:
        text = template.render(messages)
    except ChatTemplateError:
        return ()
    markers = sorted(set(_MARKER.findall(text)))
    return tuple(marker for marker in markers if tokenizer.token_to_id(marker) is None)


def mask_generated(
    template: ChatTemplate,
    tokenizer: "Tokenizer",
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool = False,
) -> tuple[list[int], list[bool]]:
    """Return a conversation's tokens, and for each whether it stands in a `{% generation %}` block.

    The rule is that of transformers' `return_assistant_tokens_mask`: a block takes every token that
    holds one of its characters. Raises ChatTemplateError.
    """
    text, spans = template.render_marked(messages, add_generation_prompt=add_generation_prompt)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    mask = [False] * len(encoding.ids)
    for begin, end in spans:
        if begin == end:
            continue
        first = encoding.char_to_token(begin)
        if first is None:
            break
        last = encoding.char_to_token(end - 1)
        upto = last + 1 if last else len(mask)
        mask[first:upto] = [True] * (upto - first)
    return encoding.ids, mask
