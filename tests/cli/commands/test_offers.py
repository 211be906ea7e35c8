"""`ftc plan --offers`: rented machines by what a run costs and takes on each."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
OFFERS = (
    {"name": "big", "hardware": "8x H100-80GB", "price_per_hour": 24},
    {"name": "small", "hardware": "1x L4", "price_per_hour": 0.8},
    {"name": "dear", "hardware": {"gpu": "L4", "count": 1}, "price_per_hour": 8},
)


def write(folder: Path, offers: Sequence[Mapping[str, Any]]) -> Path:
    """Write a file of offers."""
    path = folder / "offers.json"
    path.write_text(json.dumps({"offers": list(offers)}), encoding="utf-8")
    return path


def test_the_cheapest_run_comes_first(call: Call, spec_file: Path) -> None:
    """The cost is the hours times the price of the whole machine."""
    path = write(spec_file.parent, OFFERS)
    result = call("plan", spec_file, "--offers", path, "--format", "json")
    assert result.code == 0, result.err
    found = json.loads(result.out)["offers"]
    for each in found:
        assert each["cost"] == pytest.approx(each["seconds"] / 3600 * each["price_per_hour"])
    assert [each["cost"] for each in found] == sorted(each["cost"] for each in found)
    by_name = {each["name"]: each for each in found}
    assert by_name["dear"]["cost"] == pytest.approx(10 * by_name["small"]["cost"])
    fastest = min(found, key=lambda each: each["seconds"])["name"]
    assert json.loads(result.out)["fastest"] == fastest
    text = call("plan", spec_file, "--offers", path).out
    assert f"cheapest: {found[0]['name']}" in text or f"fastest: {found[0]['name']}" in text


def test_what_does_not_fit_is_last(call: Call, spec_file: Path) -> None:
    """With its error; the exit code tells if nothing fits."""
    spec = json.loads(spec_file.read_text()) | {"model": "Qwen/Qwen2.5-7B-Instruct"}
    spec_file.write_text(json.dumps(spec | {"method": "full"}))
    path = write(spec_file.parent, OFFERS[1:])
    result = call("plan", spec_file, "--offers", path)
    assert result.code == 1
    assert "the run fits on none of these offers" in result.out
    assert "not small: " in result.out
    both = call("plan", spec_file, "--offers", write(spec_file.parent, OFFERS), "--format", "json")
    assert [each["fits"] for each in json.loads(both.out)["offers"]] == [True, False, False]


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", '{"offers": []}', '{"offers": [{"name": "x"}]}', '{"offers": 3}',
     '{"offers": [{"name": "x", "hardware": 3, "price_per_hour": 1}]}',
     '{"offers": [{"name": "x", "hardware": "1x L4", "price_per_hour": -1}]}'],
)  # fmt: skip
def test_a_wrong_file(call: Call, spec_file: Path, text: str) -> None:
    """One sentence and exit code 3."""
    path = spec_file.parent / "offers.json"
    path.write_text(text, encoding="utf-8")
    result = call("plan", spec_file, "--offers", path)
    assert result.code == 3
    assert "no file of offers" in result.err
    assert call("plan", spec_file, "--offers", path.with_name("none.json")).code == 3


def test_it_stands_alone(call: Call, spec_file: Path) -> None:
    """A picture or a trace is of one machine."""
    path = write(spec_file.parent, OFFERS)
    assert call("plan", spec_file, "--offers", path, "--format", "svg").code == 2
    assert call("plan", spec_file, "--offers", path, "--trace").code == 2
