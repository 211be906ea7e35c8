"""Mixtures: each source has facts of its own, and the whole is what they add up to."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.data.mixture import allot
from ftc.spec.sections import Spec
from ftc.spec.validate import to_spec
from tests.compiler.resolve.resolving import known, unknown

TURNS = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello there"}]


def mixture(*sources: Any, **data: Any) -> Spec:
    """Return a spec on several sources."""
    return to_spec({"name": "x", "model": "./m", "data": {**data, "sources": list(sources)}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write forty pairs, sixty conversations and thirty stories."""
    pairs = "".join(f"where is box {n}?,{'late' if n % 2 else 'lost'}\n" for n in range(40))
    (tmp_path / "pairs.csv").write_text(f"question,reply\n{pairs}")
    chats = [{"messages": [{**TURNS[0], "content": f"hi {n}"}, TURNS[1]]} for n in range(60)]
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, chats)))
    (tmp_path / "stories.csv").write_text("text\n" + "\n".join(f"story {n}" for n in range(30)))
    return tmp_path


def test_sources_have_facts_of_their_own(folder: Path) -> None:
    """Rows, columns, forms and formats are each source's; the whole adds them up."""
    facts = known(mixture("pairs.csv", {"source": "chats.jsonl", "max_rows": 50}), folder)

    assert [(part.form, part.format, part.usable_rows) for part in facts.sources] == [
        ("prompt_completion", "csv", 40),
        ("chat", "jsonl", 50),
    ]
    assert facts.sources[0].prompt == "question"
    assert (facts.form, facts.rows, facts.usable_rows) == ("chat", 100, 90)
    assert (facts.prompt, facts.completion, facts.messages) == ("prompt", "completion", "messages")
    assert facts.labels == ()  # conversations have none
    assert sum(rows for _, rows in facts.lengths.histogram) == pytest.approx(90, abs=2)


def test_an_objective_for_some_of_the_sources_is_not_proposed(folder: Path) -> None:
    """No objective reads both sources, so a fix for one would break the other, and back again."""
    header = "prompt,chosen,rejected\n"
    for name in ("ranked", "more"):
        (folder / f"{name}.csv").write_text(header + f"why {name}?,because of it,no idea\n" * 3)
    alone = unknown(mixture("ranked.csv", "more.csv"), folder)
    assert alone.fix == ({"op": "add", "path": "/objective/type", "value": "dpo"},)

    beside = unknown(mixture("chats.jsonl", "ranked.csv"), folder)
    assert (beside.code, beside.fix) == ("FTC206", ())
    assert "in a separate run with the objective `dpo`" in beside.help


def test_new_tokens_that_no_row_holds(folder: Path) -> None:
    """Each source is searched, and a token in one of them is there; so is one that is always said.

    `box` is in the pairs, `story` only in a source that is not named.
    """
    model = {"id": "./m", "new_tokens": ["box", "hello", "story", "<sys>"]}
    sources = {"sources": ["pairs.csv", "chats.jsonl"], "system": "<sys> Be short."}
    facts = known(to_spec({"name": "x", "model": model, "data": sources}), folder)
    assert [part.absent_tokens for part in facts.sources] == [("hello", "story"), ("box", "story")]
    assert facts.absent_tokens == ("story",)


def test_copies_of_an_earlier_source_are_copies(folder: Path) -> None:
    """A row that another source had is no usable one, and its labels are counted once."""
    (folder / "more.csv").write_text((folder / "pairs.csv").read_text() + "a new one,lost\n")

    facts = known(mixture("pairs.csv", "more.csv"), folder)

    assert [part.usable_rows for part in facts.sources] == [40, 1]
    assert (facts.duplicate_rows, facts.usable_rows, facts.prompts) == (40, 41, 41)
    assert {label.name: label.rows for label in facts.labels} == {"late": 20, "lost": 21}


def test_weights_move_the_lengths(folder: Path) -> None:
    """The lengths are those of an epoch: a source that weighs more counts more."""
    (folder / "long.csv").write_text(
        "question,reply\n" + "".join(f"{'long ' * 99}{n}?,late\n" for n in range(40))
    )
    even = known(mixture("pairs.csv", "long.csv"), folder).lengths
    heavy = [{"source": "pairs.csv", "weight": 1}, {"source": "long.csv", "weight": 4}]
    skewed = known(mixture(*heavy), folder).lengths

    assert skewed.mean > even.mean
    assert skewed.max == even.max


def test_unlike_forms_are_refused(folder: Path) -> None:
    """Plain text does not mix with conversations."""
    found = unknown(mixture("chats.jsonl", "stories.csv"), folder)

    assert (found.code, found.pointer) == ("FTC256", "/data/sources/1")


@pytest.mark.parametrize(
    ("source", "code", "pointer"),
    [
        ("pears.csv", "FTC200", "/data/sources/1"),
        ({"source": "pears.csv", "weight": 1}, "FTC200", "/data/sources/1/source"),
        (
            {"source": "pairs.csv", "columns": {"prompt": "ask"}},
            "FTC205",
            "/data/sources/1/columns/prompt",
        ),
    ],
)
def test_findings_point_at_their_source(folder: Path, source: Any, code: str, pointer: str) -> None:
    """What is wrong with one source is said of that one."""
    found = unknown(mixture("chats.jsonl", source), folder)

    assert (found.code, found.pointer) == (code, pointer)
    if code == "FTC200":
        assert found.fix[0]["value"] == "pairs.csv"


@pytest.mark.parametrize(
    ("rows", "weights", "repeats", "epoch"),
    [
        ((300, 100), (None, None), (4, 4), (300, 100)),
        ((300, 100), (1, 1), (4, 4), (300, 300)),
        ((300, 100), (1, 1), (1, 1), (100, 100)),
        ((300, 100), (3, 1), (1, 1), (300, 100)),
        ((300, 0), (3, 1), (4, 4), (300, 0)),
        ((0, 0), (3, 1), (4, 4), (0, 0)),
        ((1000, 10), (1, 1), (4, 4), (40, 40)),
        ((7, 5, 3), (0.5, 0.3, 0.2), (2, 2, 2), (8, 5, 3)),
    ],
)
def test_an_epoch_keeps_the_weights(
    rows: tuple[int, ...],
    weights: tuple[float | None, ...],
    repeats: tuple[int, ...],
    epoch: tuple[int, ...],
) -> None:
    """Every row is seen where the limits of repeats allow it, none more often than they say."""
    assert allot(rows, weights, repeats) == epoch
    assert all(seen <= n * most for seen, n, most in zip(epoch, rows, repeats, strict=True))


def test_a_file_mixes_with_the_hub(folder: Path, hub: Any) -> None:
    """Each source is pinned in its own way: a file by its path, a data set by its commit."""
    hub.add("datasets/acme/pairs", {"train.csv": (folder / "pairs.csv").read_bytes()})

    facts = known(mixture("chats.jsonl", "acme/pairs"), folder)

    assert [(part.path, part.files) for part in facts.sources] == [
        ("chats.jsonl", ()),
        (None, ("train.csv",)),
    ]
    assert (facts.origin, facts.path, facts.revision) == ("hub", None, None)
    assert facts.sources[1].revision == "a" * 40
