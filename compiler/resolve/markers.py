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
