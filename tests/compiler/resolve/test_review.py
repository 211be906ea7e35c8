"""The rows to look at, by their numbers in the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from tests.compiler.resolve.resolving import CHAT, chat_rows, known

REFUSES = (
    "{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{{ m.content }}{% endfor %}"
)


@pytest.mark.usefixtures("model_folder")
def test_rows_that_the_template_refuses(make_spec: Any, tmp_path: Path) -> None:
    """Those with a system message, past a row that was no example."""
    (tmp_path / "refuses.jinja").write_text(REFUSES, encoding="utf-8")
    user, answer = CHAT
    rows = [[{**user, "content": f"what is {n}?"}, answer] for n in range(6)]
    system = {"role": "system", "content": "be brief"}
    rows = [[system, *row] if n in (2, 4) else row for n, row in enumerate(rows)]
    chat_rows(tmp_path, [user], *rows)
    spec = make_spec(model={"id": "./model", "chat_template": "refuses.jinja"}, data="chat.jsonl")
    facts = resolve_model(spec, folder=tmp_path)
    tokenizer = resolve_tokenizer(spec, folder=tmp_path, model=facts)
    found = resolve_data(spec, folder=tmp_path, tokenizer=tokenizer)
    assert isinstance(found, DataFacts)
    assert found.faults == {"refused": 2, "unanswered": 1}
    assert found.contents.review == {"unanswered": (1,), "refused": (4, 6)}


@pytest.mark.parametrize("long", ["chosen", "rejected"])
def test_a_pair_that_is_far_longer_than_the_others(
    make_spec: Any, tmp_path: Path, long: str
) -> None:
    """A pair is one row, whichever of its answers is long."""
    rows = [
        {"prompt": f"what is {n} and {n}?", "chosen": "four", "rejected": "no"} for n in range(300)
    ]
    rows[6][long] = "word " * 500
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    spec = make_spec(data="pairs.jsonl", objective={"type": "dpo"})
    assert known(spec, tmp_path).contents.review == {"long": (7,)}


def test_damage_and_secrets(make_spec: Any, tmp_path: Path) -> None:
    """By reason; a mixture leaves the numbers to its sources."""
    key = "ghp_Zk3Lr8Qw0Tn5Vb7Xc1Mf9Hd2Js6Gp4YaEuRi"
    said = ["one", "two \ufffd", f"the token {key}", "four", "fi\x01ve"]
    for name in ("a", "b"):
        lines = [json.dumps({"prompt": f"{name} {text}", "completion": text}) for text in said]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    wanted = {"misencoded": (2,), "lost": (2,), "control": (5,), "access_token": (3,)}
    assert known(make_spec(data="a.jsonl"), tmp_path).contents.review == wanted
    both = {"sources": [{"source": "a.jsonl"}, {"source": "b.jsonl"}]}
    mixed = known(make_spec(data=both), tmp_path)
    assert mixed.contents.review == {}
    assert [part.contents.review for part in mixed.sources] == [wanted, wanted]
