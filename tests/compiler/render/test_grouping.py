"""The order that grouping.py gives rows, and the head that scores learned tokens alone."""

import re
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import trl.trainer.utils
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CPU, FULL, render

SINGLE: Mapping[str, Any] = {**FULL, **CPU, "/spec/data/packing": "none"}
Order = Callable[..., list[int]]


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Order]:
    """Return what makes an order of rows with a bundle's grouping.py."""
    folder = tmp_path_factory.mktemp("grouping")

    def load(text: str) -> Order:
        path = folder / "grouping.py"
        path.write_text(text, encoding="utf-8")
        made = runpy.run_path(str(path))["Grouped"]

        def order(lengths: list[int], micro: int, passes: int, world: int, epoch: int) -> list[int]:
            rows = Dataset.from_dict({"input_ids": [[0] * length for length in lengths]})
            args = SimpleNamespace(
                train_batch_size=micro, gradient_accumulation_steps=passes, world_size=world, seed=7
            )
            sampler = made(SimpleNamespace(args=args, train_dataset=rows))
            sampler.set_epoch(epoch)
            assert len(sampler) == len(lengths)
            return list(sampler)

        return order

    return load


@pytest.fixture(scope="module")
def lengths_first(orders: Callable[[str], Order]) -> Order:
    """Return the order of a step's rows by themselves, from the golden of an unpacked bundle."""
    golden = Path("tests/golden/tools/grouping.py")
    return orders((Path(__file__).parents[3] / golden).read_text(encoding="utf-8"))


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    epoch=st.integers(0, 3),
)
def test_a_step_is_drawn_and_then_sorted(
    lengths_first: Order, lengths: list[int], epoch: int
) -> None:
    """Every row once; in a step the longest first; the same step however it is divided."""
    order = lengths_first(lengths, 8, 1, 1, epoch)

    assert sorted(order) == list(range(len(lengths)))
    assert lengths[order[0]] == max(lengths)  # what needs most memory comes first
    for begin in range(8, len(order), 8):
        step = [lengths[row] for row in order[begin : begin + 8]]
        assert step[1:] == sorted(step[1:], reverse=True)
    for micro, passes, world in ((4, 2, 1), (1, 8, 1), (2, 2, 2), (1, 1, 8)):
        assert lengths_first(lengths, micro, passes, world, epoch) == order


def test_epochs_differ(lengths_first: Order) -> None:
    """Which rows meet in a step is drawn anew."""
    lengths = list(range(1, 65))
    steps = [
        {frozenset(order[i : i + 8]) for i in range(0, 64, 8)}
        for order in (lengths_first(lengths, 8, 1, 1, epoch) for epoch in (0, 1))
    ]
    assert not steps[0] & steps[1]


def test_grouped_steps_are_of_like_rows(
    build_known: BuildKnown, orders: Callable[[str], Order]
) -> None:
    """`group_by_length` sorts many steps together; without it, rows of any length meet."""
    said = {**SINGLE, "/spec/training/group_by_length": True}
    grouped = orders(render(build_known, said)["grouping.py"].text)
    alone = orders(render(build_known, SINGLE)["grouping.py"].text)
    lengths = [1 + row * 37 % 100 for row in range(400)]

    def spread(order: list[int]) -> float:
        steps = [[lengths[row] for row in order[i : i + 8]] for i in range(8, 400, 8)]
        return sum(max(step) - min(step) for step in steps) / len(steps)

    assert spread(grouped(lengths, 4, 2, 1, 0)) < 0.3 * spread(alone(lengths, 4, 2, 1, 0))


def test_the_head_scores_learned_tokens_alone(
    build_known: BuildKnown, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TRL's head with the bundle's line: fewer tokens, and the loss and gradients of them all."""
    line = re.search(r"^trl\.trainer.*", render(build_known, SINGLE)["train.py"].text, re.MULTILINE)
    assert line
    utils: Any = trl.trainer.utils
    scored: list[int] = []
    apply = utils._ChunkedLogProbFunction.apply

    def count(hidden: torch.Tensor, *rest: Any) -> Any:
        scored.append(len(hidden))
        return apply(hidden, *rest)

    monkeypatch.setattr(utils._ChunkedLogProbFunction, "apply", count)
    monkeypatch.setattr(utils, "_use_triton", utils._use_triton)
    ids = torch.arange(3, 63).reshape(3, 20)
    labels = ids.clone()
    labels[:, :15] = -100
    labels[0, 18:] = -100

    def learn() -> tuple[float, Any]:
        loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
        utils.add_fused_lm_head(loaded)
        loss = loaded(input_ids=ids, labels=labels, fused_lm_head=True).loss
        loss.backward()
        return loss.item(), loaded.get_input_embeddings().weight.grad

    loss, gradient = learn()
    exec(line[0], {"trl": trl})  # noqa: S102 - the line under test
    less, same = learn()

    assert scored == [3 * 19, 5 + 5 + 3]
    assert less == pytest.approx(loss, rel=1e-6)
    assert torch.allclose(same, gradient, rtol=1e-4, atol=1e-7)
