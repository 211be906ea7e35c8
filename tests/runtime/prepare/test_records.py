"""Records: a group of rows gives what each row gives alone, with the tokens of transformers."""

import json
import random
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from ftc.runtime.prepare import overlong
from ftc.runtime.prepare.records import RowWork, Source
from ftc.runtime.read.message_cells import read_answer
from ftc.runtime.read.rows import DataError, Turns, before_answer
from ftc.runtime.read.text_rows import read_text
from ftc.runtime.read.tool_rows import to_messages
from ftc.runtime.tokens.chat_labels import learn_every_answer
from ftc.runtime.tokens.chat_records import learn_last_answer, make_chats
from ftc.runtime.tokens.class_records import count_labels, make_classes
from ftc.runtime.tokens.compared_records import (
    count_pair,
    cut_answers,
    make_feedback,
    make_pairs,
    make_plain_feedback,
    make_plain_pairs,
)
from ftc.runtime.tokens.encoding import NOT_LEARNED, Encoder
from ftc.runtime.tokens.plain_records import make_answers
from ftc.runtime.tokens.prompt_records import make_plain_prompts, make_prompts
from ftc.runtime.tokens.text_records import make_texts, split_text

Make = Callable[..., Sequence[dict[str, Any]]]
REFUSAL = "{% if 'zz' in messages[0]['content'] %}{{ raise_exception('no') }}{% endif %}"


@pytest.fixture
def encoder(model: Path) -> Encoder:
    """Return the quickstart's tokenizer."""
    return Encoder(tokenizer=AutoTokenizer.from_pretrained(model))


def work_with(make: Make, **settings: Any) -> RowWork:
    """Return the work on one source of prompts and answers."""
    columns = {"prompt": "prompt", "completion": "completion"}
    source = Source(columns=columns, read=read_answer, chunks=lambda: iter(()))
    options: dict[str, Any] = {
        "sources": [source],
        "max_length": 512,
        "repair": True,
        "keep_answers": False,
    }
    return RowWork(make=make, **{**options, **settings})


def test_a_library_alone_gives_the_same_tokens(tmp_path: Path, model: Path) -> None:
    """Of texts with markers, accents, white space at the edges, and longer than a file's cut."""
    shutil.copytree(model, tmp_path / "model")
    file = tmp_path / "model" / "tokenizer.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    said["truncation"] = {
        "direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0
    }  # fmt: skip
    said["padding"] = {
        "strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 3, "pad_type_id": 0, "pad_token": "<pad>",
    }  # fmt: skip
    file.write_text(json.dumps(said), encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    encoder = Encoder(tokenizer=tokenizer)
    assert len(encoder.encode(["one two three four five six seven"])[0]) == 9
    tokenizer("")  # as prepare.py begins
    pick = random.Random(5)  # noqa: S311 - a fixed sample
    marks = ["<s>", "</s>", "<|user|>", "<|assistant|>"]
    letters = [*marks, " ", "\n", "\t", "é", "大", "🙂", *"abcxyz19.,'"]
    texts = ["", *("".join(pick.choices(letters, k=pick.randint(1, 60))) for _ in range(500))]
    alone = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    assert encoder.encode(texts) == alone


MAKERS: dict[str, Make] = {
    "last": partial(make_chats, learn=learn_last_answer),
    "every": partial(make_chats, learn=learn_every_answer),
    "system": partial(make_chats, learn=learn_last_answer, system="be kind", append_eos=True),
    "tools": partial(make_chats, learn=learn_every_answer, to_messages=to_messages),
    "prompts": partial(make_chats, learn=learn_last_answer, keep_prompt=True),
    "pairs": partial(make_pairs, whole=False),
    "reward": partial(make_pairs, whole=True),
    "feedback": make_feedback,
}


@pytest.mark.parametrize("name", MAKERS)
def test_rows_of_a_group_are_what_each_is_alone(encoder: Encoder, name: str) -> None:
    """The same if the template rejects some of them: these are None at their places."""
    refusal = REFUSAL if name != "system" else REFUSAL.replace("[0]", "[1]")
    encoder.tokenizer.chat_template = refusal + encoder.tokenizer.chat_template
    work = work_with(partial(MAKERS[name], encoder=encoder))
    pick = random.Random(7)  # noqa: S311 - a fixed sample
    group: list[Turns] = []
    for row in range(40):
        begin = [("user", " ".join(pick.choices(["a", "bc", "def", "zz"], [9, 9, 9, 1], k=5)))]
        turns = pick.randrange(4) if name in {"every", "tools"} else 0
        begin += [("assistant", f"yes {row}"), ("user", f"why {row}")] * turns
        answers = [("assistant", f"because {row}")]
        if name in {"pairs", "reward"}:
            answers = [("chosen", f"because {row}"), ("rejected", "worse")]
        elif name == "feedback":
            answers += [("label", "true")]
        group.append((*begin, *answers))
    alone = [work.try_make([turns])[0] for turns in group]
    refused = [any("zz" in text for text in turns[0]) for turns in group]
    assert [row is None for row in alone] == refused
    assert 0 < sum(refused) < len(group)
    assert work.try_make(group) == alone
    learned = [label for row in alone if row for label in row["labels"]]
    assert 0 < learned.count(NOT_LEARNED) < len(learned)


@pytest.mark.parametrize("system", [None, "be brief"])
def test_a_prompt_alone_is_that_of_a_row_with_an_answer(
    encoder: Encoder, system: str | None
) -> None:
    """The same tokens and text, with the template and without it; nothing of it is learned."""
    asked: list[Turns] = [(("user", f"what is {row}"),) for row in range(20)]
    whole: list[Turns] = [(*turns, ("assistant", "it is")) for turns in asked]
    learned = make_chats(
        whole, encoder=encoder, learn=learn_last_answer, system=system, keep_prompt=True
    )
    alone = make_prompts(asked, encoder=encoder, system=system)
    plain = make_plain_prompts(asked, encoder=encoder, system=system)
    lines = make_answers(whole, encoder=encoder, learn_all=False, system=system)
    for found, expected in ((alone, learned), (plain, lines)):
        for row, other in zip(found, expected, strict=True):
            assert (row["prompt"], row["prompt_ids"]) == (other["prompt"], other["prompt_ids"])
            assert row["input_ids"] == row["prompt_ids"]
            assert {"labels", "answer"}.isdisjoint(row)
    assert [list(before_answer(row["messages"])) for row in learned] == [
        list(before_answer(row["messages"])) for row in alone
    ]


def test_rows_without_a_template(encoder: Encoder) -> None:
    """Each row is its prompt, a line feed, its answer and the end; the answer is learned."""
    tokenizer = encoder.tokenizer
    group: list[Turns] = [
        (("user", f"what is {row}"), ("assistant", f"it is {row}")) for row in range(20)
    ]
    rows = make_answers(group, encoder=encoder, learn_all=False)
    whole = make_answers(group, encoder=encoder, learn_all=True, system="be brief")
    for ((_, prompt), (_, answer)), row, all_learned in zip(group, rows, whole, strict=True):
        read = tokenizer(f"{prompt}\n")["input_ids"]
        learned = tokenizer(answer, add_special_tokens=False)["input_ids"]
        learned.append(tokenizer.eos_token_id)
        assert row["input_ids"] == read + learned
        assert row["labels"] == [NOT_LEARNED] * len(read) + learned
        assert all_learned["labels"] == all_learned["input_ids"]
        assert all_learned["prompt"] == f"be brief\n{prompt}\n"


@pytest.mark.parametrize("whole", [True, False])
def test_compared_answers_without_a_template(encoder: Encoder, whole: bool) -> None:
    """Both answers follow the same prompt; feedback has one answer and its verdict."""
    pair: Turns = (("user", "who?"), ("chosen", "Ada"), ("rejected", "Bob and Carl"))
    (row,) = make_plain_pairs([pair], encoder=encoder, whole=whole)
    begin = len(row["prompt_ids"]) if whole else 0
    assert row["input_ids"] == row["prompt_ids"] + row["chosen_ids"][begin:]
    assert row["labels"] == [NOT_LEARNED] * len(row["prompt_ids"]) + row["chosen_ids"][begin:]
    judged: Turns = (("user", "who?"), ("assistant", "Ada"), ("label", "false"))
    (fed,) = make_plain_feedback([judged], encoder=encoder)
    assert fed["completion_ids"] == row["chosen_ids"][begin:]
    assert fed["label"] is False


def test_a_long_preference_is_cut_behind_its_prompt(encoder: Encoder) -> None:
    """The prompt is kept; the answers share the room that is left."""
    pair: Turns = (("user", "who was it?"), ("chosen", "Ada " * 9), ("rejected", "Bob"))
    (row,) = make_plain_pairs([pair], encoder=encoder, whole=False)
    before, most = list(row["prompt_ids"]), len(row["prompt_ids"]) + 4
    assert count_pair(row) > most
    cut_answers(row, most)
    assert (row["prompt_ids"], len(row["chosen_ids"])) == (before, 4)


def test_a_text_is_learned_with_its_end(encoder: Encoder) -> None:
    """In pieces of the maximum length; the first keeps the text."""
    source = Source(columns={"text": "text"}, read=read_text, chunks=lambda: iter(()))
    make = partial(make_texts, encoder=encoder)
    work = work_with(make, sources=[source], max_length=8, shorten=split_text)
    (made,) = work.make_records((0, [{"text": "one two three " * 6}], [True]))
    pieces = [json.loads(line) for line in made.line.splitlines()]
    ids = [token for piece in pieces for token in piece["input_ids"]]
    assert made.change == "split"
    assert ids == make([(("text", ("one two three " * 6).strip()),)])[0]["input_ids"]
    assert ids[-1] == encoder.eos
    assert [bool(piece["prompt"]) for piece in pieces] == [True] + [False] * (len(pieces) - 1)
    assert all(len(piece["input_ids"]) <= 8 for piece in pieces)


@pytest.mark.parametrize("shorten", [None, overlong.truncate])
def test_a_row_that_is_too_long(encoder: Encoder, shorten: Any) -> None:
    """It is left out, or cut; what has nothing left to learn is left out as well."""
    make = partial(make_answers, encoder=encoder, learn_all=False)
    work = work_with(make, max_length=12, shorten=shorten)
    rows = [
        {"prompt": "who", "completion": "it was " * 9},
        {"prompt": "who " * 20, "completion": "me"},
        {"prompt": "who", "completion": "me"},
    ]
    long, empty, short = work.make_records((0, rows, [True] * 3))
    assert (short.change, short.is_learned) == ("", True)
    assert long.tokens > 12
    if shorten is None:
        assert (long.change, long.line, empty.change) == ("overlong", b"", "overlong")
    else:
        assert (long.change, len(json.loads(long.line)["labels"])) == ("truncated", 12)
        assert (empty.change, empty.line) == ("nothing to learn within max_length", b"")


def test_rows_are_looked_at() -> None:
    """Columns, changes and keys: copies share a key, and rows that are left out have none."""
    work = work_with(make_answers)
    rows = [
        {"prompt": "who", "completion": "me"},
        {"prompt": " who ", "completion": "me", "more": 1},
        {"prompt": "café".encode().decode("cp1252"), "completion": "me"},
        {"prompt": "who", "completion": " "},
        {"prompt": "half \ud83d", "completion": "me"},
        {"prompt": ["who"], "completion": "me"},
        None,
    ]
    number, columns, looks = work.scan((0, rows))
    changes, keys = zip(*looks, strict=True)
    assert (number, columns) == (0, {"prompt", "completion", "more"})
    assert changes == ("", "", "repaired", "blank", *["malformed"] * 3)
    assert keys[0] == keys[1] != keys[2]
    assert all(keys[:3])
    assert not any(keys[3:])


def test_labels_have_the_numbers_of_the_plan(encoder: Encoder) -> None:
    """A label that the plan does not have ends the stage."""
    rows: list[Turns] = [(("user", "late"), ("assistant", "no"))]
    (row,) = make_classes(rows, encoder=encoder, labels=["yes", "no"])
    assert (row["label"], row["answer"]) == (1, "no")
    with pytest.raises(DataError, match="'no' is not one of the 1 labels"):
        make_classes(rows, encoder=encoder, labels=["yes"])
    counted = count_labels(["yes", "no"], {"train": ["no", "no"], "test": ["yes"]})
    assert counted == [
        {"name": "yes", "train": 0, "test": 1},
        {"name": "no", "train": 2, "test": 0},
    ]


def test_a_template_that_rewrites_the_prompt(encoder: Encoder) -> None:
    """The tokens before the answer would be others than those that the model is asked with."""
    encoder.tokenizer.chat_template = (
        "{% if add_generation_prompt %}ask {% endif %}"
        "{% for m in messages %}{{ loop.length }} {{ m.content }}{% endfor %}"
    )
    rows: list[Turns] = [(("user", "who is it then"), ("assistant", "me"))]
    with pytest.raises(DataError, match="the chat template rewrites earlier turns"):
        make_chats(rows, encoder=encoder, learn=learn_last_answer)
