"""The learned tokens: every answer with its end, and nothing that the model would not write."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import check, mask_rows
from ftc.report.mask import report_masks
from ftc.spec.findings.finding import EnvironmentFailure
from tests.tiny_models import write_model

CHAT: Final = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "where is it?"},
    {"role": "assistant", "content": "on its way"},
    {"role": "user", "content": "thanks"},
    {"role": "assistant", "content": "bye"},
]
READ: Final = "<s><system>be brief<user>where is it?<assistant>"
#: As Qwen3's: the last answer has a part that earlier ones lose.
REASONING: Final = (
    "{{ bos_token }}{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.role == 'assistant' and loop.last %}<thought></thought>{% endif %}"
    "{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


def masks(
    folder: Path, rows: list[Any], objective: Mapping[str, Any], **model: str
) -> list[list[tuple[str, bool]]]:
    """Return the pieces of the rows of a spec on a small model."""
    write_model(folder / "model")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    spec = {
        "name": "mask",
        "model": {"id": "./model", **model},
        "data": "rows.jsonl",
        "objective": objective,
        "hardware": "cpu",
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    outcome = check(str(folder / "spec.json"))
    found = mask_rows(outcome, len(rows))
    assert found is not None, outcome.findings
    return [list(row.pieces) for row in found]


def test_every_answer_is_learned_with_its_end(tmp_path: Path) -> None:
    """Of a conversation both answers, of a broken row nothing is shown."""
    rows = [{"messages": CHAT}, {"messages": []}, {"messages": CHAT[1:3]}]

    first, second = masks(tmp_path, rows, {"type": "sft"})

    assert first == [
        (READ, False),
        ("on its way</s>", True),
        ("<user>thanks<assistant>", False),
        ("bye</s>", True),
    ]
    assert second == [("<s><user>where is it?<assistant>", False), ("on its way</s>", True)]


def test_the_last_turn_alone(tmp_path: Path) -> None:
    """With `last_turn` the first answer is only read."""
    (pieces,) = masks(tmp_path, [{"messages": CHAT}], {"type": "sft", "loss_on": "last_turn"})

    assert pieces == [(f"{READ}on its way</s><user>thanks<assistant>", False), ("bye</s>", True)]


def test_everything(tmp_path: Path) -> None:
    """With `all` no token is left out."""
    (pieces,) = masks(tmp_path, [{"messages": CHAT}], {"type": "sft", "loss_on": "all"})

    assert [learned for _, learned in pieces] == [True]


def test_an_answer_that_is_rewritten_is_read(tmp_path: Path) -> None:
    """Earlier answers without their reasoning are not what the model would write."""
    (tmp_path / "own.jinja").write_text(REASONING, encoding="utf-8")

    (pieces,) = masks(tmp_path, [{"messages": CHAT}], {"type": "sft"}, chat_template="own.jinja")

    assert pieces == [
        (f"{READ}on its way</s><user>thanks<assistant>", False),
        ("<thought></thought>bye</s>", True),
    ]


def test_plain_text(tmp_path: Path) -> None:
    """A document is learned from its first token to its end."""
    (pieces,) = masks(tmp_path, [{"text": "once upon a time"}], {"type": "sft"})

    assert len(pieces) == 1
    assert pieces[0][1]
    assert pieces[0][0].endswith("once upon a time</s>")


def test_the_report_marks_lines_without_colour(tmp_path: Path) -> None:
    """Each line has its mark, line ends are shown, and control characters cannot act."""
    rows = [{"prompt": "two\nlines", "completion": "an \x1b[31manswer"}]
    write_model(tmp_path / "model")
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]), encoding="utf-8")
    spec = {"name": "mask", "model": "./model", "data": "rows.jsonl", "hardware": "cpu"}
    (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    found = mask_rows(check(str(tmp_path / "spec.json")), 1)
    assert found is not None

    shown = report_masks(found, max_tokens=4, colour=False).splitlines()

    assert shown[1:4] == [
        "  | <s><user>two\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}",
        "  | lines<assistant>",
        r"  + an \x1b[31manswer</s>",
    ]
    assert "longer than `max_length` (4)" in shown[0]
    assert "\x1b[32m" in report_masks(found, max_tokens=None, colour=True)


def test_objectives_without_a_mask_are_refused(tmp_path: Path) -> None:
    """A classification learns a label, and no token."""
    rows = [{"text": f"text {n}", "label": "ab"[n % 2]} for n in range(40)]
    with pytest.raises(EnvironmentFailure, match="classification"):
        masks(tmp_path, rows, {"type": "classification"})
