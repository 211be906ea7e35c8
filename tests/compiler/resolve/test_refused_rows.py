"""Data of which every row fails: the finding says why, with the commonest reasons."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from tests.compiler.resolve.resolving import CHAT, chat_rows, unknown

REFUSES = (
    "{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{{ m.content }}{% endfor %}"
)


def test_rows_that_all_fail_say_why(make_spec: Any, tmp_path: Path) -> None:
    """The commonest three reasons with their counts, and none of the others."""
    user, answer = CHAT
    wizard = {"role": "wizard", "content": "x"}
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "[1]"}}]}
    bad = [[user, wizard]] * 4 + [[user, call]] * 3 + [[answer, user, answer]] * 2 + [[user]]
    chat_rows(tmp_path, *bad)
    finding = unknown(make_spec(data={"source": "chat.jsonl"}), tmp_path)
    assert finding.code == "FTC204"
    assert finding.message == (
        "`chat.jsonl` has no usable row: of 10 rows, 4 have a message with an unknown role; "
        "3 have a call of a tool without a name or with broken arguments; "
        "2 have roles out of order"
    )


@pytest.mark.usefixtures("model_folder")
def test_what_the_template_says_is_told(make_spec: Any, tmp_path: Path) -> None:
    """Where it refuses every row, its own words are the reason."""
    (tmp_path / "refuses.jinja").write_text(REFUSES, encoding="utf-8")
    systems = [{"role": "system", "content": f"be brief {number}"} for number in range(3)]
    again = [systems[0], *CHAT]  # a copy is no usable row either
    chat_rows(tmp_path, *[[system, *CHAT] for system in systems], again)
    model = {"id": "./model", "chat_template": "refuses.jinja"}
    spec = make_spec(model=model, data="chat.jsonl")
    facts = resolve_model(spec, folder=tmp_path)
    tokenizer = resolve_tokenizer(spec, folder=tmp_path, model=facts)
    found = resolve_data(spec, folder=tmp_path, tokenizer=tokenizer)
    assert isinstance(found, Unknown)
    assert "3 are refused by the chat template (System role not supported)" in found.finding.message
    assert "model.chat_template" in found.finding.help


@pytest.mark.parametrize(
    ("chosen", "rejected", "says"),
    [
        ("a", "a", "5 have the chosen answer as the rejected one too"),
        (
            [{"role": "user", "content": "x"}, {"role": "assistant", "content": "a"}],
            [{"role": "user", "content": "y"}, {"role": "assistant", "content": "b"}],
            "5 have answers to two prompts",
        ),
    ],
)
def test_pairs_that_all_fail_say_why(
    make_spec: Any, tmp_path: Path, chosen: Any, rejected: Any, says: str
) -> None:
    """A pair of equal answers, or of answers to different prompts."""
    row = json.dumps({"prompt": "q", "chosen": chosen, "rejected": rejected})
    (tmp_path / "pairs.jsonl").write_text(f"{row}\n" * 5)
    finding = unknown(make_spec(data="pairs.jsonl", objective={"type": "dpo"}), tmp_path)
    assert (finding.code, says in finding.message) == ("FTC204", True), finding.message
