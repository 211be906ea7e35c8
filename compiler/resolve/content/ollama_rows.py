"""Compares Ollama's TEMPLATE with the chat template on the rows of the data.

A family of templates is recognised by a few conversations; rows may have turns that those lack.
Only the text is compared: export.py compares the tokens of both tokenizers on every row it judges.
"""

from collections.abc import Sequence
from typing import Final

from ftc.compiler.knowledge.text.ollama_templates import find_ollama_family
from ftc.compiler.resolve.chat_template.ollama import writes_same
from ftc.compiler.resolve.content_facts import OllamaRows
from ftc.compiler.resolve.detail_facts import OllamaFacts
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.rows import add_system

#: Rows that are compared, evenly spaced.
_MOST_ROWS: Final = 500
_PLAIN: Final = frozenset({"system", "user", "assistant"})


def compare_rows(
    examples: Sequence[Example],
    numbers: Sequence[int],
    tokenizer: LoadedTokenizer,
    ollama: OllamaFacts | None,
    *,
    system: str | None,
) -> OllamaRows | None:
    """Return for how many rows Ollama would write another prompt than training does.

    `numbers` are the rows' numbers in the data, counted from 1. A row with tools is left out: no
    TEMPLATE of the table writes tools. Returns None where Ollama gets no TEMPLATE.
    """
    template = tokenizer.template
    if template is None or ollama is None or find_ollama_family(ollama.family or "") is None:
        return None
    compared, other = 0, []
    step = max(1, -(-len(examples) // _MOST_ROWS))
    for example, number in list(zip(examples, numbers, strict=True))[::step]:
        turns = add_system(example.prompt, system) if example.prompt else ()
        messages, tools = tokenizer.read_turns(turns) if turns else ([], None)
        if not messages or tools or not _PLAIN.issuperset(role for role, _ in turns):
            continue
        same = writes_same(ollama, template, messages)
        if same is not None:
            compared += 1
            other += [] if same else [number]
    return OllamaRows(compared=compared, other=len(other), first=min(other, default=None))
