"""The draft: changes, short forms, what was chosen by ftc."""

from ftc.spec.normal import lengthen
from ftc.tui.state.draft import Draft, completed, read_draft, written
from ftc.tui.understanding.reading import Change


def change(pointer: str, value: object) -> Change:
    """Return a change without words."""
    return Change(pointer=pointer, value=value, words="")


def test_a_draft_is_written_in_short_forms_and_in_the_schemas_order() -> None:
    """A single key becomes the short form; a GPU with its count becomes one text."""
    draft = Draft().changed(
        [
            change("/export/types", ["Q4_K_M"]),
            change("/hardware/gpu", "RTX-4090"),
            change("/hardware/count", 2),
            change("/model/id", "Qwen/Qwen3-4B"),
            change("/training/epochs", 3),
            change("/name", "triage"),
        ]
    )
    spec = written(draft)
    assert list(spec) == ["name", "model", "training", "hardware", "export"]
    assert spec["hardware"] == "2x RTX-4090"
    assert spec["model"] == "Qwen/Qwen3-4B"
    assert spec["training"] == {"epochs": 3}
    assert lengthen("hardware", spec["hardware"]) == {"gpu": "RTX-4090", "count": 2}


def test_what_is_written_reads_back() -> None:
    """A spec with every form comes back as the same draft."""
    spec = {
        "name": "triage",
        "model": {"id": "a/b", "revision": "main"},
        "data": "tickets.csv",
        "hardware": "cpu",
        "export": ["Q8_0"],
    }
    assert written(read_draft(spec)) == spec


def test_none_takes_a_field_out_and_empty_sections_with_it() -> None:
    """Removing a field leaves it to the plan again."""
    draft = Draft().changed([change("/training/early_stopping", 3)])
    assert draft.has("/training")
    assert not draft.changed([change("/training/early_stopping", None)]).has("/training")


def test_a_value_that_is_said_is_no_longer_ftcs_choice() -> None:
    """`chosen` reflects who set the value last."""
    draft = Draft().changed([change("/method/type", "lora")], chosen=True)
    assert draft.chosen == {"/method/type"}
    assert draft.changed([change("/method/type", "full")]).chosen == frozenset()


def test_a_draft_is_never_changed_in_place() -> None:
    """Undo restores the old value."""
    first = Draft().changed([change("/hardware/gpu", "cpu")])
    first.changed([change("/hardware/count", 2)])
    assert written(first) == {"hardware": "cpu"}


def test_several_sources_take_the_place_of_one() -> None:
    """A spec has `source` or `sources`: each removes the other, without a placeholder."""
    one = Draft().changed([Change(pointer="/data/source", value="a.csv", words="a.csv")])
    several = one.changed([Change(pointer="/data/sources", value=["a.csv", "b.csv"], words="")])

    assert several.data["data"] == {"sources": ["a.csv", "b.csv"]}
    assert several.has("/data/source")
    assert completed(several)["data"] == {"sources": ["a.csv", "b.csv"]}
    assert several.changed([Change(pointer="/data/source", value="c.csv", words="c.csv")]).data[
        "data"
    ] == {"source": "c.csv"}
