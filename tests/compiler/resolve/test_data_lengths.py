"""Lengths of the rows of a data file: exact, estimated and sampled."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from ftc.compiler.resolve.content import scan as scan_module
from ftc.compiler.resolve.data import facts as data_module
from tests.compiler.resolve.resolving import CHAT, chat_rows, exact, known


def test_exact_lengths_are_those_of_the_tokenizer(
    make_spec: Any, model_folder: Path, tokenizer_json: str
) -> None:
    """Each row is rendered by the template and encoded whole; the prompt ends where it answers."""
    folder = model_folder.parent
    rows = [(f"where is my card x{'x' * i}", f"answer {i}") for i in range(40)]
    lines = ["prompt,completion", *(f"{prompt},{answer}" for prompt, answer in rows)]
    (folder / "data.csv").write_text("\n".join(lines), encoding="utf-8")
    tokenizer = Tokenizer.from_str(tokenizer_json)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    totals = sorted(count(f"<s><|user|>{p}<|assistant|>{a}</s>") for p, a in rows)
    prompts = sorted(count(f"<s><|user|>{p}<|assistant|>") for p, _ in rows)
    lengths = exact(make_spec(), folder).lengths
    assert not lengths.estimate
    assert lengths.mean == round(sum(totals) / 40, 2)
    assert (lengths.p50, lengths.p90, lengths.max) == (totals[19], totals[35], totals[-1])
    assert (lengths.prompt_p95, lengths.prompt_max) == (prompts[37], prompts[-1])
    assert sum(rows for _, rows in lengths.histogram) == 40
    edges = [edge for edge, _ in lengths.histogram]
    assert edges == sorted(set(edges))
    for edge, _ in lengths.histogram:
        below = sum(rows for upper, rows in lengths.histogram if upper <= edge)
        assert below == sum(total <= edge for total in totals)
    spec = make_spec(data={"source": "data.csv", "system": "the card"})
    longer = exact(spec, folder).lengths
    assert longer.max == totals[-1] + count("<|system|>the card")


def test_lengths_without_a_template(
    make_spec: Any, model_folder: Path, tokenizer_json: str
) -> None:
    """Prompt, line break, answer and eos are one text; plain text has no prompt."""
    folder = model_folder.parent
    path = model_folder / "tokenizer_config.json"
    config = json.loads(path.read_bytes()) | {"chat_template": None}
    path.write_text(json.dumps(config), encoding="utf-8")
    tokenizer = Tokenizer.from_str(tokenizer_json)
    (folder / "data.csv").write_text("prompt,completion\nwhere is,my card\n", encoding="utf-8")
    lengths = exact(make_spec(), folder).lengths
    assert lengths.max == len(tokenizer.encode("where is\n")) + len(tokenizer.encode("my card")) + 1
    assert lengths.prompt_max == len(tokenizer.encode("where is\n"))
    (folder / "data.csv").write_text("text\nwhere is my card\n", encoding="utf-8")
    lengths = exact(make_spec(), folder).lengths
    assert lengths.max == len(tokenizer.encode("where is my card</s>"))
    assert lengths.prompt_max == 0


def test_a_conversation_that_the_template_refuses_is_malformed(
    make_spec: Any, model_folder: Path
) -> None:
    """A template's own error counts against the row."""
    folder = model_folder.parent
    refuses = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}x"
    (model_folder / "chat_template.jinja").write_text(refuses, encoding="utf-8")
    chat_rows(folder, CHAT, [{"role": "system", "content": "s"}, *CHAT])
    facts = exact(make_spec(data="chat.jsonl"), folder)
    assert (facts.rows, facts.malformed_rows, facts.usable_rows) == (2, 1, 1)


def test_estimates_are_marked_and_never_too_low(make_spec: Any, model_folder: Path) -> None:
    """Letters beyond ASCII lower the ratio, so that estimates stay on the safe side."""
    folder = model_folder.parent
    for text in ("a" * 400, "à" * 400):
        (folder / "data.csv").write_text(f"text\n{text}\n", encoding="utf-8")
        lengths = known(make_spec(), folder).lengths
        assert lengths.estimate
        assert lengths.max > 100
    assert lengths.max > 150
    (folder / "data.csv").write_text(f"text\n{'我的包裹' * 100}\n", encoding="utf-8")
    assert known(make_spec(), folder).lengths.max >= 400


def test_large_files_are_sampled(
    make_spec: Any, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are of all rows, lengths of a sample that is the same each time."""
    folder = model_folder.parent
    rows = [f"where is my card {'x' * (i % 50)} {i},a{i % 2}" for i in range(500)]
    (folder / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    whole = exact(make_spec(), folder)
    monkeypatch.setattr(data_module, "LARGE_BYTES", 100)
    monkeypatch.setattr(scan_module, "SAMPLE_ROWS", 100)
    sampled = exact(make_spec(), folder)
    assert (sampled.rows, sampled.sampled_rows, sampled.usable_rows) == (500, 100, 500)
    assert whole.sampled_rows == 500
    assert sampled == exact(make_spec(), folder)
    assert sampled.labels == whole.labels
    assert abs(sampled.lengths.mean - whole.lengths.mean) < whole.lengths.mean / 5
