"""Rows are compared as tokens in transformers and in llama.cpp, tools included, and never none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.compare.same_tokens import JudgedRows
from ftc.runtime.run import Run
from tests.end_to_end.process import read_json, write_json
from tests.gguf_vocabulary import write_gguf_vocabulary
from tests.tiny_tokenizers import sentencepiece_tokenizer

pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")
from ftc.runtime.compare import conversations, plain_rows, row_kinds, same_tokens
from ftc.runtime.export import tool_calls

AS_SAVED = "PreTrainedTokenizerFast"  # followed for a llama, and not for a qwen2
MARKERS = ("<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% if tools %}<|im_start|>tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<call>{{ call.function | tojson }}</call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOL = {
    "type": "function",
    "function": {"name": "find", "parameters": {"city": "C\u00f3rdoba <b>", "km": 1.5}},
}
CALL = {"type": "function", "function": {"name": "find", "arguments": {"where": "the parcel"}}}
ASKED = {"role": "user", "content": "where is\nthe parcel?"}
CHAT: Sequence[Mapping[str, Any]] = [ASKED, {"role": "assistant", "content": "it is late"}]
CALLED: Sequence[Mapping[str, Any]] = [
    ASKED,
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "content": '{"late": true}', "name": "find"},
    {"role": "assistant", "content": "it is late"},
]
CALLING = CALLED[:2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle's folder, its tokenizer, and the GGUF vocabulary that belongs to that."""

    folder: Path
    tokenizer: Any
    gguf: Path

    @property
    def rows(self) -> Path:
        """The file of the test split."""
        return self.folder / "run/data/test.jsonl"

    def write(self, *rows: tuple[Sequence[Mapping[str, Any]], Any]) -> None:
        """Write rows of messages and tools as prepare.py does, into the test split."""
        lines = [json.dumps(self.row(list(messages), tools)) for messages, tools in rows]
        self.rows.parent.mkdir(parents=True, exist_ok=True)
        self.rows.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def row(self, messages: list[Mapping[str, Any]], tools: Any) -> dict[str, Any]:
        """Return the record of a conversation, by transformers alone."""

        def encode(turns: Any, *, asked: bool) -> Any:
            text = self.tokenizer.apply_chat_template(
                turns, tools, tokenize=False, add_generation_prompt=asked
            )
            text = text if asked else text.rstrip()
            return self.tokenizer(text, add_special_tokens=False)["input_ids"]

        ids, prompt_ids = encode(messages, asked=False), encode(messages[:-1], asked=True)
        return {
            "input_ids": ids,
            "prompt_ids": prompt_ids,
            "messages": messages,
            "tools": tools,
            "answer": self.tokenizer.decode(ids[len(prompt_ids) :], skip_special_tokens=True),
        }


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """Return a bundle for rows with tools; it has no rows yet."""
    return make(tmp_path, model_type="llama")


def make(folder: Path, *, model_type: str) -> Bundle:
    """Write a tokenizer that transformers loads by its model type, and its GGUF."""
    transformers = pytest.importorskip("transformers")
    model = sentencepiece_tokenizer(folder / "model", added=MARKERS)
    write_json(model / "config.json", {"model_type": model_type})
    settings = read_json(model / "tokenizer_config.json") | {"tokenizer_class": AS_SAVED}
    write_json(model / "tokenizer_config.json", settings)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = TEMPLATE
    gguf = folder / "run/quantize/case-Q8_0.gguf"
    gguf.parent.mkdir(parents=True)
    write_gguf_vocabulary(model, gguf, template=TEMPLATE)
    return Bundle(folder=folder, tokenizer=tokenizer, gguf=gguf)


def compare(bundle: Bundle, **settings: Any) -> dict[str, Any]:
    """Compare the rows of a bundle, tools included."""
    run = Run(bundle.folder, stage="quantize", script="export.py")
    count = settings.pop("count", tool_calls.count_rows)
    is_split = settings.pop("is_split", False)
    kind = settings.pop("kind", row_kinds if settings else conversations)
    is_same = partial(kind.is_same, **settings)
    rows = JudgedRows(path=bundle.rows, count=count, is_split=is_split, is_same=is_same)
    return same_tokens.compare(run, rows, bundle.gguf)


def test_rows_with_tools_are_compared(bundle: Bundle, capfd: pytest.CaptureFixture[str]) -> None:
    """With their lists of tools, calls and results; the counts are of what was compared."""
    bundle.write((CHAT, None), (CALLED, [TOOL]), (CALLING, [TOOL]))

    found = compare(bundle)

    assert (found["compared_rows"], found["rows_with_tools"]) == (3, 2)
    assert "all 3 rows are the same tokens" in capfd.readouterr().out


def test_arguments_as_text_are_told(bundle: Bundle) -> None:
    """A call before the answer reads otherwise in OpenAI's form; the last call is an answer."""
    bundle.write((CALLED, [TOOL]), (CALLING, [TOOL]))

    assert compare(bundle)["rows_with_calls_as_objects"] == 1


@pytest.mark.parametrize("messages", [CALLED, CALLING])
def test_tools_that_are_written_otherwise_are_caught(
    bundle: Bundle, messages: Sequence[Mapping[str, Any]]
) -> None:
    """A template in the GGUF that differs by the spaces of its JSON alone."""
    bundle.write((messages, [TOOL]))
    compact = TEMPLATE.replace("tool | tojson", "tool | tojson(separators=(',', ':'))")
    write_gguf_vocabulary(bundle.folder / "model", bundle.gguf, template=compact)

    with pytest.raises(SystemExit, match=r"llama\.cpp reads 1 of 1 rows as other tokens"):
        compare(bundle)


def test_no_row_is_a_failure(bundle: Bundle, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing was compared, so nothing is said to be the same."""
    bundle.write()

    with pytest.raises(SystemExit, match=r"test\.jsonl has no row to compare"):
        compare(bundle)

    assert "the same tokens" not in capfd.readouterr().out


@pytest.mark.parametrize("lost", ["input_ids", "prompt_ids"])
def test_a_row_is_compared_to_its_end(bundle: Bundle, lost: str) -> None:
    """One token less than llama.cpp reads is another row, though all that is left agrees."""
    bundle.write((CHAT, None))
    path = bundle.folder / "run/data/test.jsonl"
    row = read_json(path)
    path.write_text(json.dumps({**row, lost: row[lost][:-1]}) + "\n", encoding="utf-8")

    with pytest.raises(SystemExit, match="reads 1 of 1 rows as other tokens"):
        compare(bundle)


def test_a_tokenizer_of_another_class_is_caught(tmp_path: Path) -> None:
    """What transformers loads as Qwen2Tokenizer agrees with llama.cpp on no row, tools or not."""
    bundle = make(tmp_path, model_type="qwen2")
    bundle.write((CHAT, None), (CALLED, [TOOL]))

    with pytest.raises(SystemExit, match=r"llama\.cpp reads 2 of 2 rows as other tokens"):
        compare(bundle)


def test_a_cut_row_has_the_length_that_rows_are_cut_to(bundle: Bundle) -> None:
    """A row that ends early is only accepted at the length of the plan."""
    bundle.write((CHAT, None))
    row = read_json(bundle.rows)
    cut = {**row, "input_ids": row["input_ids"][:-2]}
    bundle.rows.write_text(json.dumps(cut) + "\n", encoding="utf-8")
    length = len(cut["input_ids"])

    assert compare(bundle, max_length=length)["compared_rows"] == 1
    for other in (length - 1, length + 1):
        with pytest.raises(SystemExit, match="reads 1 of 1 rows as other tokens"):
            compare(bundle, max_length=other)


def test_an_added_end_token_is_accepted_if_it_was_added(bundle: Bundle) -> None:
    """prepare.py adds it where the template does not end an answer."""
    bundle.write((CHAT, None))
    row = read_json(bundle.rows)
    ended = {**row, "input_ids": [*row["input_ids"], bundle.tokenizer.eos_token_id]}
    bundle.rows.write_text(json.dumps(ended) + "\n", encoding="utf-8")

    assert compare(bundle, adds_end=True)["compared_rows"] == 1
    with pytest.raises(SystemExit, match="reads 1 of 1 rows as other tokens"):
        compare(bundle)


def test_later_pieces_of_a_text_are_counted(
    bundle: Bundle, capfd: pytest.CaptureFixture[str]
) -> None:
    """Texts without a template: the first piece has the text, the others only tokens."""
    words = same_tokens.Vocabulary(
        Run(bundle.folder, stage="quantize"),
        JudgedRows(path=bundle.gguf, is_same=plain_rows.is_same),
        bundle.gguf,
    )
    ids = words.encode("where is the parcel", add_bos=True)
    bundle.rows.parent.mkdir(parents=True)
    rows = [{"input_ids": ids, "prompt": "where is the parcel"}, {"input_ids": ids, "prompt": ""}]
    bundle.rows.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    found = compare(bundle, kind=plain_rows, is_split=True, count=None)

    assert (found["compared_rows"], found["later_pieces"]) == (1, 1)
    assert "1 later pieces of texts were not compared" in capfd.readouterr().out
