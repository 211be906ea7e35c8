"""Asks a GGUF file that can call tools; calls are parsed and run as in training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ..llama_cpp.gguf_file import write_turn
from ..reward.offered_tools import Tool
from ..reward.tool_loop import Tokens, exchange
from ..run import Run
from .ask_calls import Turn, read, render


def answer(
    run: Run,
    llm: Any,
    folder: Path,
    turns: Sequence[Turn],
    answer_tokens: int,
    *,
    tools: Sequence[Tool],
    rounds: int,
) -> str:
    """Return the text after the last tool call; `folder` has the tokenizer of the file's model.

    Ends the script if the question does not fit into the file's context.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt, room = render(tokenizer, turns, tools), llm.n_ctx()
    if len(prompt) + answer_tokens > room:
        most = room - answer_tokens
        run.stop(
            f"the question and the tools have {len(prompt):,} tokens, and at most {most:,} fit"
        )

    def generate(prompts: Sequence[Tokens]) -> list[Tokens]:
        left = [min(answer_tokens, room - len(ids)) for ids in prompts]
        return [write_turn(run, llm, ids, most) for ids, most in zip(prompts, left, strict=True)]

    (chat,) = exchange(tokenizer, [prompt], generate, answer_tokens, tools=tools, rounds=rounds)
    return read(chat)
