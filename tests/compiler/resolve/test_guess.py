"""Columns that no name tells: what is proposed for them, and as which objective they are read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.resolver import Resolver
from ftc.compiler.resolve.rows.guess import guess_columns
from ftc.spec.finding import Finding

COUNT = 40
TEXTS = [f"the {n}th message that somebody wrote" for n in range(COUNT)]
REPLIES = [f"the {n}th reply that somebody got" for n in range(COUNT)]
SPAM = [str(n % 2) for n in range(COUNT)]
DAYS = [f"2026-01-{n % 28 + 1:02}T10:{n:02}" for n in range(COUNT)]


@pytest.mark.parametrize(
    ("columns", "guess"),
    [
        ({"when": DAYS, "customer": TEXTS, "agent": REPLIES}, ("customer", "agent")),
        ({"when": DAYS, "tweet": TEXTS, "is_spam": SPAM}, ("tweet", "is_spam")),
        ({"tweet": TEXTS, "is_spam": SPAM, "is_rude": SPAM}, None),
        ({"a": TEXTS, "b": REPLIES, "c": [f"{text}!" for text in TEXTS]}, None),
        ({"a": TEXTS, "b": ["", *["a reply of words"] * (COUNT // 2)] + [""] * COUNT}, None),
        ({"when": DAYS, "is_spam": SPAM}, None),
        ({}, None),
    ],
)
def test_columns_are_guessed_from_what_they_hold(
    columns: dict[str, list[str]], guess: tuple[str, str] | None
) -> None:
    """A guess needs two columns of texts, or one and one of labels."""
    rows = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=False)
    ]
    assert guess_columns(list(columns), rows) == guess


def find(make_spec: Any, folder: Path, header: str, cells: Iterable[tuple[str, ...]]) -> Finding:
    """Write a file and return the finding about its columns."""
    lines = [header, *(",".join(row) for row in cells)]
    (folder / "data.csv").write_text("\n".join(lines), encoding="utf-8")
    data = Resolver().resolve(make_spec(), folder=folder).data
    assert isinstance(data, Unknown)
    return data.finding


def test_guessed_columns_are_proposed_with_a_fix(make_spec: Any, tmp_path: Path) -> None:
    """A guess is never applied as a safe fix."""
    finding = find(make_spec, tmp_path, "tweet,is_spam", zip(TEXTS, SPAM, strict=True))
    assert (finding.code, finding.fix_safety) == ("FTC206", "unsafe")
    value = {"prompt": "tweet", "completion": "is_spam"}
    assert finding.fix == ({"op": "add", "path": "/data/columns", "value": value},)
    assert '"prompt": "tweet"' in finding.help


def test_columns_of_another_objective_name_it(make_spec: Any, tmp_path: Path) -> None:
    """Pairs of answers are for `dpo`."""
    rows = zip(TEXTS, REPLIES, SPAM, strict=True)
    finding = find(make_spec, tmp_path, "question,chosen,rejected", rows)
    assert finding.fix == ({"op": "add", "path": "/objective/type", "value": "dpo"},)
    assert "set `objective` to `dpo`" in finding.help
