"""Splits: rows with one prompt stay together, shares are exact, and a seed gives one division."""

import io
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.runtime.prepare.preparing import Records
from ftc.runtime.prepare.split_sizes import count_held_out
from ftc.runtime.prepare.splitting import Splits, divide


def make_records(
    prompts: Sequence[int],
    labels: Sequence[str] | None = None,
    origins: Sequence[int] | None = None,
) -> Records:
    """Return records with these prompts, labels and sources, without texts."""
    said = labels or ["a"] * len(prompts)
    names = {name: place for place, name in enumerate(dict.fromkeys(said))}
    return Records(
        file=io.BytesIO(),
        ends=array("Q", [0] * (len(prompts) + 1)),
        lengths=array("I", [1] * len(prompts)),
        learned=array("I", [1] * len(prompts)),
        prompts=array("q", prompts),
        labels=array("I", [names[name] for name in said]),
        origins=array("I", origins or [0] * len(prompts)),
        reasons=array("B", [0] * len(prompts)),
        names=names,
    )


def split(records: Records, *, seed: int = 7, stratify: bool = False) -> Splits:
    """Return a division with a tenth for validation and a fifth for test."""
    shares = {"validation": 0.1, "test": 0.2}
    return divide(records, shares, seed=seed, stratify=stratify, by_source=False)


def test_shares_are_exact_and_nothing_is_lost() -> None:
    """Every record is in exactly one split."""
    splits = split(make_records(range(1000)))
    assert {name: len(numbers) for name, numbers in splits.items()} == {
        "train": 700,
        "validation": 100,
        "test": 200,
    }
    assert sorted(number for numbers in splits.values() for number in numbers) == list(range(1000))


@given(prompts=st.lists(st.integers(0, 9), min_size=1, max_size=60), seed=st.integers(0, 2**31))
def test_rows_with_one_prompt_stay_together(prompts: list[int], seed: int) -> None:
    """Otherwise a question of the test split would be among those that were learned."""
    splits = split(make_records(prompts), seed=seed)
    places: dict[int, str] = {}
    for name, numbers in splits.items():
        for number in numbers:
            assert places.setdefault(prompts[number], name) == name
    assert sum(map(len, splits.values())) == len(prompts)


@given(
    rows=st.integers(3, 300),
    shares=st.fixed_dictionaries({name: st.floats(0.001, 0.45) for name in ("test", "validation")}),
    seed=st.integers(0, 99),
)
def test_distinct_prompts_give_the_planned_rows(
    rows: int, shares: Mapping[str, float], seed: int
) -> None:
    """To a row, also where a share is less than half of one."""
    splits = divide(make_records(range(rows)), shares, seed=seed, stratify=False, by_source=False)
    assert {name: len(splits[name]) for name in shares} == count_held_out(shares, rows)
    assert splits["train"]


@pytest.mark.parametrize("prompts", [3, 4, 5, 8])
def test_no_split_is_empty_with_few_prompts(prompts: int) -> None:
    """A thousand rows of a few prompts: each split takes a whole prompt at least."""
    splits = split(make_records([row % prompts for row in range(1000)]))
    assert all(splits.values()), {name: len(rows) for name, rows in splits.items()}


def test_a_seed_gives_one_division_and_another_seed_another() -> None:
    """In the order of the rows as well."""
    records = make_records(range(500))
    assert split(records) == split(records)
    assert split(records)["test"] != split(records, seed=8)["test"]
    assert list(split(records)["train"]) != sorted(split(records)["train"])


def test_each_label_has_its_share() -> None:
    """To a row, however rare the label is."""
    labels = ["often"] * 900 + ["seldom"] * 100
    splits = split(make_records(range(1000), labels), stratify=True)
    for name, share in (("train", 0.7), ("validation", 0.1), ("test", 0.2)):
        counts = Counter(labels[number] for number in splits[name])
        assert counts["often"] == pytest.approx(900 * share, abs=1)
        assert counts["seldom"] == pytest.approx(100 * share, abs=1)


def test_each_source_has_its_share() -> None:
    """A small source is neither all learned nor all held back."""
    origins = [0] * 950 + [1] * 50
    records = make_records(range(1000), origins=origins)
    splits = divide(records, {"test": 0.2}, seed=1, stratify=False, by_source=True)
    counts = Counter(origins[number] for number in splits["test"])
    assert counts == {0: 190, 1: 10}


def test_without_shares_everything_is_learned() -> None:
    """The other splits are empty, and the rows are shuffled."""
    splits = divide(make_records(range(50)), {}, seed=1, stratify=False, by_source=False)
    assert (len(splits["train"]), len(splits["validation"]), len(splits["test"])) == (50, 0, 0)
    assert list(splits["train"]) != list(range(50))
