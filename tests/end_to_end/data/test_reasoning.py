"""Rows with reasoning through a bundle: what is learned of them, and one mode in every stage."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import check, mask_rows
from tests.end_to_end.process import ROOT, compile_spec, read_json, read_rows, run

pytestmark = pytest.mark.prove

ROWS: Final = 60
NOT_LEARNED: Final = -100
#: Writes reasoning from its key, an empty block without any, and the effort that it is asked for.
TEMPLATE: Final = (
    "{{ bos_token }}<|system|> effort {{ effort | default('high') }}{% for m in messages %}"
    "{{ '<|' + m.role + '|>' }}{% if m.role == 'assistant' and loop.last %}"
    "{{ '<think>\n' + (m.reasoning_content or '') + '\n</think>\n\n' }}{% endif %}"
    "{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
QUESTION: Final = "where is order 7?"
THOUGHT: Final = "the parcel of order {} is late"
ANSWER: Final = "order {} is on its way"


def compile_rows(folder: Path, model: Path, reasoning: str, **sections: Any) -> Path:
    """Compile a spec on rows that have reasoning under a key, in their text, or not at all."""
    folder.mkdir()
    (folder / "model").symlink_to(model)
    (folder / "own.jinja").write_text(TEMPLATE, encoding="utf-8")
    lines = []
    for n in range(ROWS):
        answer: dict[str, Any] = {"role": "assistant", "content": ANSWER.format(n)}
        if n % 3 == 0:
            answer["reasoning_content"] = THOUGHT.format(n)
        elif n % 3 == 1:
            answer["content"] = f"<think>{THOUGHT.format(n)}</think> {answer['content']}"
        question = {"role": "user", "content": f"where is order {n}?"}
        lines.append(json.dumps({"messages": [question, answer]}) + "\n")
    (folder / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    spec = {
        "name": "reasons",
        "model": {"id": "./model", "chat_template": "own.jinja"},
        "data": {
            "source": "rows.jsonl",
            "reasoning": reasoning,
            "template_options": {"effort": "low"},
        },
        "hardware": "cpu",
        **sections,
    }
    return compile_spec(folder, spec)


def run_all(*stages: str | Path) -> str:
    """Run stages of bundles to their ends, in one process; return what they printed."""
    ended = run("python", "-m", "tests.end_to_end.run_stages", *stages, cwd=ROOT)
    assert ended.code == 0, ended.said
    return ended.err


def read_all(bundle: Path) -> list[dict[str, Any]]:
    """Return the rows of all splits."""
    return [row for file in (bundle / "run/data").glob("*.jsonl") for row in read_rows(file)]


def hold_masks(bundle: Path, rows: list[dict[str, Any]], tokenizer: Any) -> list[str]:
    """Assert that ftc and the script learn the same; return the text that is learned of each."""
    found = mask_rows(check(str(bundle.parent / "spec.json")), ROWS)
    assert found is not None
    told = sorted((row.tokens, row.learned) for row in found)
    labels = [[label for label in row["labels"] if label != NOT_LEARNED] for row in rows]
    sizes = zip(rows, labels, strict=True)
    assert told == sorted((len(row["input_ids"]), len(learned)) for row, learned in sizes)
    return [tokenizer.decode(learned) for learned in labels]


def number_of(row: Mapping[str, Any]) -> int:
    """Return the number in a row's question."""
    return int(row["messages"][0]["content"].removesuffix("?").rpartition(" ")[2])


def test_reasoning_is_masked_or_stripped(tmp_path: Path, model: Path) -> None:
    """Only answers are learned, and all stages ask with the effort of the spec.

    Of another bundle, which strips reasoning, only the rows are made.
    """
    transformers = pytest.importorskip("transformers")
    settings = {"max_steps": 2, "global_batch": 4, "evaluation": {"allow_worse": True}}
    verify = {"tokens": 512, "min_agreement": 0, "max_perplexity_ratio": 1_000_000}
    bundle = compile_rows(
        tmp_path / "mask",
        model,
        "mask",
        training=settings,
        export={"types": ["F16"], "verify": verify},
    )
    stripped = compile_rows(tmp_path / "strip", model, "strip")
    names = ("prepare.py", "train.py", "export.py", "evaluate.py", f"ask.py:{QUESTION}")
    said = run_all(*(bundle / name for name in names), stripped / "prepare.py")
    assert said.count("| with reasoning | 40 |") == 1
    report = read_json(bundle / "run/data/report.json")
    assert report["reasoning"] == {"with": 40, "without": 20}

    tokenizer = transformers.AutoTokenizer.from_pretrained(bundle / "run/merged")
    rows = read_all(bundle)
    for row, learned in zip(rows, hold_masks(bundle, rows, tokenizer), strict=True):
        assert learned == f"{ANSWER.format(number_of(row))}</s>"
        whole = tokenizer.decode(row["input_ids"])
        assert (THOUGHT.format(number_of(row)) in whole) == (number_of(row) % 3 < 2)
        # the merged model's own template asks as prepare.py did, with no options given
        asked = tokenizer.apply_chat_template(
            row["messages"][:1], tokenize=False, add_generation_prompt=True
        )
        assert "effort low" in asked
        assert tokenizer(asked, add_special_tokens=False)["input_ids"] == row["prompt_ids"]
    # llama.cpp renders rows, and ask.py its question, with the template inside the GGUF file
    compared = read_json(bundle / "run/quantize/tokens.json")
    assert compared["compared_rows"] == len(read_rows(bundle / "run/data/test.jsonl"))
    assert read_json(bundle / "run/evaluate/report.json")["rows"] == compared["compared_rows"]

    # no token of reasoning is left; what the template writes in its place is learned
    rows = read_all(stripped)
    for row, learned in zip(rows, hold_masks(stripped, rows, tokenizer), strict=True):
        assert learned.endswith(f"</think>\n\n{ANSWER.format(number_of(row))}</s>")
        assert "late" not in tokenizer.decode(row["input_ids"])
