"""A pilot of training: which rows it takes, in which order, and what it says."""

from functools import partial
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from datasets import Dataset

from ftc.runtime.exit_codes import OUT_OF_MEMORY
from ftc.runtime.run import Run
from ftc.runtime.train.pair_lengths import count_pair_tokens
from ftc.runtime.train.pilot import (
    LONG_STEPS,
    SPEED_STEPS,
    STEPS,
    Pilot,
    advise,
    choose_rows,
    count_tokens,
    estimate,
    list_planned,
    write_table,
)
from ftc.runtime.train.sorted_steps import SortedSampler
from tests.end_to_end.process import read_json
from tests.runtime.sessions import run_cases

GIB = 2**30
RUNG = {
    "micro_batch": 4,
    "accumulation": 2,
    "allocated_bytes": 6 * GIB,
    "memory_bytes": 8 * GIB,
    "margin_bytes": GIB,
    "step_seconds": 2.0,
}
PLAN = {
    "steps": 100,
    "tokens_per_step": 4000,
    "seconds": {"low": 100.0, "total": 260.0, "high": 500.0},
    "pilot": {"calibration": {"memory": 1.0, "time": 1.0}, "rungs": [RUNG]},
}


def make_pilot(**measured: Any) -> dict[str, Any]:
    """Return the content of a pilot.json: as planned, apart from what is given."""
    planned = list_planned(PLAN, 0)
    names = ("memory_bytes", "allocated_bytes", "step_seconds", "tokens_per_second")
    found = {name: planned[name] for name in (*names, "training_seconds")}
    machine = {"kind": "gpu", "device": "NVIDIA H200", "count": 2, "nodes": 1}
    return {
        "machine": {**machine, "memory_bytes": 10 * GIB},
        "micro_batch": 4,
        "accumulation": 2,
        "longest_tokens": 1200,
        "planned": planned,
        "measured": {**found, "longest_step_seconds": 3.5, "steps": STEPS, **measured},
    }


def test_the_longest_rows_come_first() -> None:
    """Those of one step, and after them each of the others with the same chance."""
    lengths = [number % 97 for number in range(1000)]
    chosen = choose_rows(lengths, 8)

    assert len(chosen) == 8 + SPEED_STEPS * 8
    assert [lengths[place] for place in chosen[:8]] == sorted(lengths, reverse=True)[:8]
    drawn = chosen[8:]
    assert len(set(drawn)) == len(drawn)
    assert 30 < sum(lengths[place] for place in drawn) / len(drawn) < 66
    assert choose_rows(lengths, 8) == chosen


def test_a_few_rows_are_repeated() -> None:
    """So that every step is whole."""
    chosen = choose_rows([3, 1, 2], 4)
    assert chosen[:4] == [0, 2, 1, 0]
    assert sorted(set(chosen[4:])) == [0, 1, 2]
    assert len(chosen) == 4 + SPEED_STEPS * 4


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"input_ids": [[1, 2, 3], [4]]}, [3, 1]),
        ({"prompt_ids": [[1, 2], [3]], "prompt": ["a", "b"]}, [2, 1]),
    ],
)
def test_tokens_of_rows(columns: dict[str, Any], expected: list[int]) -> None:
    """A prompt alone is as long as the prompt."""
    assert count_tokens(pa.table(columns)).to_pylist() == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {
                "input_ids": [[1, 2, 3]],  # prompt and better answer
                "prompt_ids": [[1, 2]],
                "chosen_ids": [[3]],
                "rejected_ids": [[3, 4, 5]],
            },
            [5],
        ),
        ({"prompt_ids": [[1, 2]], "chosen_ids": [[3]], "rejected_ids": [[3, 4, 5]]}, [5]),
        (
            {
                "input_ids": [[1, 2, 3]],
                "prompt_ids": [[1, 2]],
                "chosen_ids": [[1, 2, 3]],  # with its prompt, as for a reward model
                "rejected_ids": [[1, 2, 3, 4]],
            },
            [4],
        ),
    ],
)
def test_tokens_of_pairs(columns: dict[str, Any], expected: list[int]) -> None:
    """A pair is as long as its prompt with the longer answer."""
    assert count_pair_tokens(pa.table(columns)).to_pylist() == expected


def attach(sampler: Any, lengths: list[int], step_rows: int, **trainer: Any) -> list[int]:
    """Return the order of the rows that a pilot gives to a trainer with this sampler."""
    pilot = Pilot(SimpleNamespace())  # type: ignore[arg-type]
    pilot.lengths, pilot.step_rows = lengths, step_rows
    rows = Dataset.from_dict({"input_ids": [[0] * size for size in lengths]})
    found = SimpleNamespace(
        args=SimpleNamespace(),
        train_dataset=rows,
        callback_handler=SimpleNamespace(callbacks=[]),
        _get_train_sampler=lambda: sampler,
        **trainer,
    )
    pilot.attach(found)
    return pilot.order


def test_the_longest_rows_are_taken_twice() -> None:
    """The optimizer's states exist in the second step only; each step has its rows."""
    lengths = [9, 8, 7, 6, *[number % 5 for number in range(4 * SPEED_STEPS)]]
    order = attach(None, lengths, 4)
    assert order == [0, 1, 2, 3] * LONG_STEPS + list(range(4, 4 + 4 * SPEED_STEPS))

    sampler = partial(SortedSampler, lengths, step_rows=4, seed=0)
    by_step = attach(sampler(), lengths, 4)[4 * LONG_STEPS :]
    for begin in range(0, len(by_step), 4):
        step = by_step[begin : begin + 4]
        assert sorted(step) == list(range(4 + begin, 8 + begin))
        sizes = [lengths[place] for place in step]
        assert sizes == sorted(sizes, reverse=True)
    grouped = attach(sampler(groups=True), lengths, 4)
    sizes = [lengths[place] for place in grouped[4 * LONG_STEPS :]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("counts", [None, 50])
def test_a_step_that_is_slow_once_is_not_counted(tmp_path: Path, counts: int | None) -> None:
    """Seconds are those of the mean step, at the median rate; tokens as TRL or the rows say."""
    pilot = Pilot(Run(tmp_path, stage="train"))
    pilot.lengths = [20, *[10, 30] * SPEED_STEPS]
    pilot.order = [0] * LONG_STEPS + [1 + number % 2 for number in range(SPEED_STEPS)]
    spans = [5.0, 1.0, *[0.1, 0.3] * (SPEED_STEPS // 2)]
    spans[-1] = 9.0  # a length that the device meets for the first time
    pilot.times = list(accumulate(spans, initial=0.0))
    pilot.counts = [(counts or 0) * number for number in range(STEPS + 1)]
    seconds, tokens = pilot.measure_step()
    assert tokens == (counts or 20)
    # 0.01 seconds a token but in the last step; or 0.1, 0.3, 0.1, 0.3, 0.1 and 9 for 50 tokens
    assert seconds == pytest.approx(0.2)


def test_a_prompt_with_many_answers_is_one_row() -> None:
    """GRPO's sampler repeats the prompts: a step of 8 rows has 2 of them."""
    order = attach(None, [1] * 8 * (1 + SPEED_STEPS), 8, num_generations=4)
    assert order == [0, 1] * LONG_STEPS + list(range(8, 8 + 2 * SPEED_STEPS))


def test_the_rows_of_an_evaluation_change_nothing() -> None:
    """The rows to train on are chosen first, and the lengths of those are kept."""
    pilot = Pilot(SimpleNamespace())  # type: ignore[arg-type]
    train = Dataset.from_dict({"input_ids": [[0] * size for size in (1, 5, 3)]})
    other = Dataset.from_dict({"input_ids": [[0] * 7]})

    chosen = pilot.choose(train, 2, count_tokens)
    assert [len(row["input_ids"]) for row in chosen][:2] == [5, 3]
    kept = list(pilot.lengths)
    assert len(pilot.choose(other, 2, count_tokens)) == len(chosen)
    assert pilot.lengths == kept


def test_the_whole_training_at_the_measured_rate() -> None:
    """What is beside the steps, 60 s of 260, stays as planned; without a plan there is none."""
    planned = list_planned(PLAN, 0)
    assert planned["tokens_per_second"] == 2000
    assert estimate(PLAN, planned, 2.0) == 260
    assert estimate(PLAN, planned, 3.0) == 360
    blind = {**PLAN, "seconds": None}
    blind["pilot"] = {**PLAN["pilot"], "rungs": [{**RUNG, "step_seconds": None}]}  # type: ignore[dict-item]
    unknown = list_planned(blind, 0)
    assert (unknown["tokens_per_second"], unknown["training_seconds"]) == (None, None)
    assert estimate(blind, unknown, 3.0) == 300


def test_the_table() -> None:
    """Planned and measured stand side by side, with their ratio; what is unknown is said."""
    pilot = make_pilot(memory_bytes=6 * GIB, step_seconds=3.0, allocated_bytes=None)
    text = "\n".join(write_table(pilot))
    assert "pilot: 8 steps of 4 rows x 2 passes, 2 processes on NVIDIA H200" in text
    rows = {line[2:18].strip(): line[18:].split() for line in text.splitlines()[2:]}
    assert rows["peak memory"] == ["8.00", "GiB", "6.00", "GiB", "x", "0.75"]
    assert rows["incl. a margin"] == ["1.00", "GiB"]
    assert rows["seconds a step"] == ["2.000", "3.000", "x", "1.50"]
    assert "allocated" not in rows
    assert "of 1,200 tokens: 3.500 s" in text
    pilot["planned"].update(step_seconds=None, tokens_per_second=None)
    assert "unknown         3.000\n" in "\n".join(write_table(pilot))


@pytest.mark.parametrize(
    ("measured", "is_planned", "expected"),
    [
        ({}, True, ["nothing has to be changed"]),
        ({"memory_bytes": 9.5 * GIB}, True, ["95% of the memory is used"]),
        ({"memory_bytes": 4 * GIB}, True, ["60% of the memory is free"]),
        ({"step_seconds": 3.0}, True, ["1.5 times as long as planned"]),
        ({"memory_bytes": 9.9 * GIB}, False, ["set training.micro_batch to 4"]),
        (
            {"memory_bytes": 4 * GIB, "step_seconds": 6.0},
            True,
            ["memory is free", "3.0 times as long"],
        ),
    ],
)
def test_what_to_change(measured: dict[str, Any], is_planned: bool, expected: list[str]) -> None:
    """A line for each reason, and the command that plans with the numbers."""
    *lines, last = advise(make_pilot(**measured), is_planned=is_planned)
    assert len(lines) == len(expected)
    for line, words in zip(lines, expected, strict=True):
        assert words in line
    assert "--calibrate run/pilot/pilot.json" in last


def test_a_larger_batch_is_not_proposed_for_a_whole_step() -> None:
    """All rows of a process are in one pass already."""
    pilot = {**make_pilot(memory_bytes=GIB), "accumulation": 1}
    assert "nothing" in advise(pilot, is_planned=True)[0]


def test_a_pilot_that_runs_out_of_memory(tmp_path: Path) -> None:
    """The next start takes the next line of the ladder; what training has noted stays."""
    make = (
        "from ftc.runtime.run import Run\n"
        "from ftc.runtime.train.training import TrainingSession\n"
        "def make():\n"
        "    return TrainingSession(Run(folder, stage='train'), ladder=[[4, 2], [2, 4]], row=None,"
        " planned_bytes=1, keep=1, pilot=True)\n"
    )
    (tmp_path / "run/train").mkdir(parents=True)
    first, last, real = run_cases(
        tmp_path,
        f"{make}make().explain(MemoryError(), trainer)",
        f"{make}make().explain(MemoryError(), trainer)",
        "os._exit(10 + make_session(folder).micro_batch)",
    )
    assert first.code == OUT_OF_MEMORY, first.err
    assert "next with 2 x 4 passes, the same batch" in first.err
    assert last.code == 1, last.err
    assert "with 2 rows per pass" in last.err
    assert real.code == 10 + 4
    noted = read_json(tmp_path / "run/pilot/batch.json")
    assert (noted["row"], noted["changes"][0]["to"]) == (1, [2, 4])
    assert (tmp_path / "run/pilot/exit_code.json").read_text() == "1\n"
    assert not list((tmp_path / "run/train").iterdir())
