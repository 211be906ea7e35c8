"""Checks that llama.cpp turns every row into the tokens that the model was trained on.

With other tokens, a GGUF file would read text that the model has not learned. Each row is rendered
again from its messages and tools, by llama-cpp-python with the chat template inside the GGUF, and
compared with the tokens of training. Only the vocabulary of the file is loaded.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from ..llama_cpp.gguf_file import load_vocabulary
from ..read.rows import before_answer
from ..run import Run
from .judged_rows import JudgedRows, Row

Encode = Callable[[Callable[[str], list[int]], Any, str], list[int]]


class Vocabulary:
    """The vocabulary and the chat template of a GGUF file, without its weights."""

    def __init__(self, run: Run, rows: JudgedRows, path: Path) -> None:
        self.run = run
        self.words = load_vocabulary(run, path)
        self._wrote_rows = datetime.fromtimestamp(rows.path.stat().st_mtime)  # noqa: DTZ006

    def encode(self, text: str, *, add_bos: bool = False) -> list[int]:
        """Return the tokens of a text."""
        found: list[int] = self.words.tokenize(text.encode(), add_bos=add_bos, special=True)
        return found

    def render(self, messages: Any, tools: Any, *, answering: bool) -> str:
        """Return a conversation as llama-cpp-python renders it; `answering`: an answer is next.

        Raises TemplateError or ValueError if the template rejects the conversation.
        """
        template = self.words.metadata().get("tokenizer.chat_template")
        self.run.ensure(template, "the GGUF file contains the chat template")
        formatter: Any = Jinja2ChatFormatter(
            template=template,
            eos_token=self.words.token_get_text(self.words.token_eos()),
            bos_token=self.words.token_get_text(self.words.token_bos()),
            add_generation_prompt=answering,
        )
        # A template may print the date: use the one on which prepare.py wrote the rows.
        formatter.strftime_now = self._wrote_rows.strftime
        text: str = formatter(messages=messages, tools=tools).prompt
        return text if answering else text.rstrip()


def compare(run: Run, judged: JudgedRows, path: Path) -> dict[str, Any]:
    """Compare every row and return the counts; ends the stage if a row has other tokens."""
    name, everything = judged.path.name, run.read_rows(judged.path)
    rows = [row for row in everything if row["prompt"]] if judged.is_split else everything
    if not rows:
        run.stop(f"{name} has no row to compare transformers and llama.cpp by")
    vocabulary = Vocabulary(run, judged, path)
    is_right = judged.is_same or is_same
    wrong = [n for n, row in enumerate(rows, 1) if not is_right(vocabulary, row)]
    if wrong:
        run.stop(
            f"llama.cpp reads {len(wrong):,} of {len(rows):,} rows as other tokens than the model"
            f" was trained on; the first are rows {wrong[:5]} of {name}"
        )
    found = {"version": 1, "judged": judged.path.stem, "compared_rows": len(rows)}
    run.say(f"all {len(rows):,} rows are the same tokens in transformers and in llama.cpp")
    if judged.is_split:
        found["later_pieces"] = len(everything) - len(rows)
        if found["later_pieces"]:
            run.say(f"{found['later_pieces']:,} later pieces of texts were not compared")
    if judged.count:
        found |= judged.count(vocabulary, rows)
    vocabulary.words.close()
    return found


def is_same(vocabulary: Vocabulary, row: Row) -> bool:
    """Return whether llama.cpp reads a conversation as the tokens that training read."""
    return render_row(vocabulary, row) == (row["prompt_ids"], row["input_ids"])


def render_row(
    vocabulary: Vocabulary, row: Row, encode: Encode | None = None
) -> tuple[list[int], list[int]] | None:
    """Return the tokens of a conversation before its answer, and all of them.

    `encode` is given messages and their text. Returns None if the template rejects the row, which
    prepare.py would have left out.
    """
    asked, tools = before_answer(row["messages"]), row.get("tools")
    try:
        prompt = whole = vocabulary.render(asked, tools, answering=True)
        if len(asked) < len(row["messages"]):  # not a prompt alone
            whole = vocabulary.render(row["messages"], tools, answering=False)
        if encode is None:
            return vocabulary.encode(prompt), vocabulary.encode(whole)
        texts = (asked, prompt), (row["messages"], whole)
        before, ids = (encode(vocabulary.encode, messages, text) for messages, text in texts)
    except (ValueError, TemplateError):
        return None
    return before, ids
