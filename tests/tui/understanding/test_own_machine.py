"""The user's own computer: its memory, its cores, and data that must stay on it."""

import pytest

from ftc.tui.understanding.reader import read


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("no GPU, just a laptop with 16 GB", 16),
        ("no tengo gráfica, solo el portátil con 16 GB", 16),
        ("sense GPU, un portàtil de 32 GB", 32),
        ("no gpu, i have a 16gb laptop", 16),
        ("I have no GPU and 24 GB of memory", 24),
        ("cpu only, 32gb", 32),
    ],
)
def test_a_computer_without_a_gpu_has_main_memory(text: str, gib: int) -> None:
    """Without a GPU, an amount of memory is main memory."""
    values = {each.pointer: each.value for each in read(text, {}).changes}
    assert values == {"/hardware/gpu": "cpu", "/hardware/ram_gib": gib}


@pytest.mark.parametrize(
    "text",
    ["no GPU, the model is 16 GB", "sin gpu, el dataset ocupa 3 GB", "sense GPU, 3 GB de dades"],
)
def test_other_sizes_are_no_memory(text: str) -> None:
    """The size of a file or a model sets no memory."""
    assert {each.pointer for each in read(text, {}).changes} == {"/hardware/gpu"}


@pytest.mark.parametrize("text", ["a machine with 8 cores", "máquina de 8 núcleos", "8 cpus"])
def test_cores_are_no_gpus(text: str) -> None:
    """No field has their number."""
    assert not read(text, {}).changes


@pytest.mark.parametrize(
    "text",
    [
        "nothing should leave this machine",
        "que no salga nada de este ordenador",
        "no vull que res surti d'aquesta màquina",
    ],
)
def test_data_that_stay_choose_no_machine(text: str) -> None:
    """Only what trains there does: "train on this machine"."""
    assert not read(text, {}).changes
    assert read("train on this machine", {}).changes[0].value == "auto"


def test_what_is_replaced_is_not_set() -> None:
    """The words of a value may end with the one that it replaces."""
    text = "keep the one that is best by that instead of the loss"
    assert "loss" not in [each.value for each in read(text, {}).changes]
    (change,) = read("Q5_K_M instead of Q4_K_M", {}).changes
    assert change.value == ["Q5_K_M"]


@pytest.mark.parametrize("text", ["on one 24 GB card", "una targeta de 24 GB", "a 24 gb gpu"])
def test_a_card_of_a_size_is_first_one_that_many_have(text: str) -> None:
    """The question begins with the cards whose memory has been reported."""
    asked = read(text, {}).asked
    assert asked is not None
    assert asked.values[:2] == ("RTX-4090", "RTX-3090")
