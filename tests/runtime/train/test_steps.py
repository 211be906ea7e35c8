"""The order of rows: which ones form a step, alike on any number of processes."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from accelerate.data_loader import prepare_data_loader
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from ftc.runtime.train.sorted_steps import sort_rows
from ftc.runtime.train.steps import order_rows

STEP = 8  # rows


def make_sampler(
    order: Callable[[Any], None], lengths: list[int], micro: int, passes: int, world: int
) -> Any:
    """Return the sampler that a trainer gets for rows of these lengths."""
    rows = Dataset.from_dict({"input_ids": [[0] * length for length in lengths]})
    args = SimpleNamespace(
        train_batch_size=micro, gradient_accumulation_steps=passes, world_size=world, seed=7
    )
    trainer: Any = SimpleNamespace(args=args, train_dataset=rows)
    order(trainer)
    return trainer._get_train_sampler(rows)


def find_order(
    lengths: list[int], micro: int, passes: int, world: int, epoch: int, *, groups: bool = False
) -> list[int]:
    """Return the rows of an epoch, sorted by length within steps."""
    sampler = make_sampler(partial(sort_rows, groups=groups), lengths, micro, passes, world)
    sampler.set_epoch(epoch)
    rows = list(sampler)
    assert len(sampler) == len(rows)
    return rows


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    epoch=st.integers(0, 3),
)
def test_a_step_is_drawn_and_then_sorted(lengths: list[int], epoch: int) -> None:
    """Whole steps of all rows; in each the longest first; the same however they are divided."""
    order = find_order(lengths, 8, 1, 1, epoch)

    assert len(order) == -(-len(lengths) // STEP) * STEP
    times = Counter(order)
    assert set(times) == set(range(len(lengths)))
    assert max(times.values()) - min(times.values()) <= 1
    assert lengths[order[0]] == max(lengths)  # what needs most memory comes first
    for begin in range(8, len(order), 8):
        step = [lengths[row] for row in order[begin : begin + 8]]
        assert step[1:] == sorted(step[1:], reverse=True)
    for micro, passes, world in ((4, 2, 1), (1, 8, 1), (2, 2, 2), (1, 1, 8)):
        assert find_order(lengths, micro, passes, world, epoch) == order


def test_epochs_differ() -> None:
    """Which rows meet in a step is drawn anew."""
    lengths = list(range(1, 65))
    steps = [
        {frozenset(order[i : i + 8]) for i in range(0, 64, 8)}
        for order in (find_order(lengths, 8, 1, 1, epoch) for epoch in (0, 1))
    ]
    assert not steps[0] & steps[1]


def test_grouped_steps_are_of_like_rows() -> None:
    """`group_by_length` sorts many steps together; without it, rows of any length meet."""
    lengths = [1 + row * 37 % 100 for row in range(400)]

    def spread(order: list[int]) -> float:
        steps = [[lengths[row] for row in order[i : i + 8]] for i in range(8, 400, 8)]
        return sum(max(step) - min(step) for step in steps) / len(steps)

    assert spread(find_order(lengths, 4, 2, 1, 0, groups=True)) < 0.3 * spread(
        find_order(lengths, 4, 2, 1, 0)
    )


@pytest.mark.parametrize(
    "order",
    [sort_rows, partial(sort_rows, groups=True), order_rows],
    ids=["sorted", "grouped", "drawn"],
)
def test_processes_share_the_same_steps(order: Callable[[Any], None]) -> None:
    """As accelerate deals out the rows, with the last step of an epoch, which rows do not fill."""
    lengths = [1 + row * 37 % 100 for row in range(45)]

    def steps(micro: int, world: int, epoch: int) -> list[Counter[int]]:
        passes = STEP // (micro * world)
        sampler = make_sampler(order, lengths, micro, passes, world)
        found = [Counter[int]() for _ in range(len(sampler) // STEP)]
        for rank in range(world):
            loader: Any = prepare_data_loader(
                DataLoader(range(45), sampler=sampler, batch_size=micro),  # type: ignore[arg-type]
                num_processes=world,
                process_index=rank,
                use_seedable_sampler=True,
            )
            loader.set_epoch(epoch)
            batches = [batch.tolist() for batch in loader]
            assert len(batches) == passes * len(found)
            for number, batch in enumerate(batches):
                found[number // passes].update(batch)
        return found

    for epoch in (0, 1):
        alone = steps(8, 1, epoch)
        assert [step.total() for step in alone] == [STEP] * 6
        assert set().union(*alone) == set(range(45))
        for micro, world in ((2, 1), (4, 2), (1, 2), (2, 4), (1, 4)):
            assert steps(micro, world, epoch) == alone, (micro, world)
    assert steps(8, 1, 0) != steps(8, 1, 1)
