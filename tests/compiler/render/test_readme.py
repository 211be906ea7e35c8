"""The tables of a bundle's README, as a person would write them."""

import re

import pytest

from ftc.compiler.plan.reasons import show_value
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CPU, FULL, render


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (None, "none"),
        (1500, "1,500"),
        (2e-4, "0.0002"),
        ("lora", "lora"),
        (("q_proj", "v_proj"), "q_proj, v_proj"),
        ({"Q8_0": 0.02, "rows": 2000}, "Q8_0 0.02, rows 2,000"),
    ],
)
def test_a_value_is_written_as_people_read_it(value: object, text: str) -> None:
    """No word of Python, and numbers with their thousands."""
    assert show_value(value) == text


@pytest.mark.parametrize(
    ("rows", "passes", "batch"),
    [(1, 1, "1 row: 1 per pass x 1 pass x 1 process"), (6, 3, "6 rows: 2 per pass x 3 passes")],
)
def test_one_is_not_many(build_known: BuildKnown, rows: int, passes: int, batch: str) -> None:
    """A pass, passes; and no value of Python is in any table."""
    training = {"/spec/training/global_batch": rows, "/spec/training/micro_batch": rows // passes}
    readme = render(build_known, {**FULL, **CPU, **training})["README.md"].text
    assert batch in readme
    tables = [line for line in readme.splitlines() if line.startswith("|")]
    assert not [line for line in tables if re.search(r"\b(?:True|False|None)\b|\(e?s\)", line)]
    assert not re.search(r"\d %", readme)


def test_the_time_is_a_range_as_in_the_plan(build_known: BuildKnown) -> None:
    """From the shortest to the longest time, in every language."""
    files = render(build_known, FULL)
    times = {name: re.findall(r"\d+ h(?: \d+ min)?|\d+ min", line) for name in files
             if name.startswith("README") for line in files[name].text.splitlines()
             if line.startswith(("| time of the run", "| durada", "| duración"))}  # fmt: skip
    (low, high), *others = times.values()
    assert low != high
    assert all(other == [low, high] for other in others)


@pytest.mark.parametrize("attention", ["flash_attention_2", "sdpa"])
def test_a_package_that_nothing_pins_is_named(build_known: BuildKnown, attention: str) -> None:
    """Without flash-attn the model does not load, and the requirements do not have it."""
    files = render(build_known, {**FULL, "/spec/model/attention": attention})
    named = "flash-attn" in files["README.md"].text
    assert named == (attention == "flash_attention_2")
