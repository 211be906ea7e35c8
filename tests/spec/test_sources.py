"""Sources: one source is a mixture of one, and items have the section's fields."""

from typing import Any

from ftc.spec.sources import REPEATS, WholeSource, list_sources, name_sources
from ftc.spec.validate import to_spec


def sources_of(data: Any) -> tuple[WholeSource, ...]:
    """Return the sources of a spec on these data."""
    return list_sources(to_spec({"name": "x", "model": "m", "data": data}).data)


def test_one_source_is_the_section() -> None:
    """The short form is a list of one, whose fields are the section's."""
    (source,) = sources_of("tickets.csv")

    assert (source.source, source.weight, source.split) == ("tickets.csv", None, "train")
    assert (source.at("source"), source.at("columns", "prompt")) == (
        "/data/source",
        "/data/columns/prompt",
    )


def test_an_item_goes_before_the_section() -> None:
    """A field that the item leaves out is taken from the section, as is its pointer."""
    first, second = sources_of(
        {
            "sources": [
                "a.csv",
                {"source": "o/b", "split": "test", "weight": 2, "columns": {"prompt": "ask"}},
            ],
            "split": "dev",
            "columns": {"prompt": "question", "completion": "reply"},
        }
    )

    assert (first.split, first.columns.prompt, first.max_repeats) == ("dev", "question", REPEATS)
    assert (second.split, second.columns.prompt, second.columns.completion) == (
        "test",
        "ask",
        "reply",
    )
    assert (first.at("source"), first.at("split")) == ("/data/sources/0", "/data/split")
    assert (second.at("source"), second.at("split")) == (
        "/data/sources/1/source",
        "/data/sources/1/split",
    )


def test_names_are_as_short_as_they_can_be() -> None:
    """Files with the same name are distinguished by folder; a repeated file has one name."""
    assert name_sources(["x/a.csv", "y/b.csv"]) == ("a.csv", "b.csv")
    assert name_sources(["x/a.csv", "y/a.csv"]) == ("x/a.csv", "y/a.csv")
    assert name_sources(["x/a.csv", "x/a.csv"]) == ("a.csv", "a.csv")
