"""`ftc plan --offers`: rented machines by what a run costs and takes on each."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import read_schema

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
    Draft202012Validator(read_schema("ranking.schema.json")).validate(json.loads(result.out))


def test_each_has_a_place_by_time(call: Call, spec_file: Path) -> None:
    """Of two that take as long, the cheaper one is before the other."""
    path = write(spec_file.parent, OFFERS)
    found = json.loads(call("plan", spec_file, "--offers", path, "--format", "json").out)["offers"]
    times = [each["seconds"] for each in sorted(found, key=lambda each: each["by_time"])]
    assert times == sorted(times)
    by_name = {each["name"]: each for each in found}
    assert by_name["dear"]["by_time"] == by_name["small"]["by_time"] + 1
    lines = [line.split() for line in call("plan", spec_file, "--offers", path).out.splitlines()]
    assert [line[:2] for line in lines[1:]] == [
        [str(place), str(each["by_time"])] for place, each in enumerate(found, start=1)
    ]


def test_nodes_are_paid_each(call: Call, spec_file: Path) -> None:
    """The price is that of one machine."""
    hardware = {"gpu": "H100-80GB", "count": 8, "nodes": 2}
    offer = {"name": "two", "hardware": hardware, "price_per_hour": 24}
    path = write(spec_file.parent, [offer])
    data = json.loads(call("plan", spec_file, "--offers", path, "--format", "json").out)
    only = data["offers"][0]
    assert only["cost"] == pytest.approx(2 * only["seconds"] / 3600 * 24)


def test_what_does_not_fit_is_last(call: Call, spec_file: Path) -> None:
    """With its error; the exit code tells if nothing fits."""
    spec = json.loads(spec_file.read_text()) | {"model": "Qwen/Qwen2.5-7B-Instruct"}
    spec_file.write_text(json.dumps(spec | {"method": "full"}))
    path = write(spec_file.parent, OFFERS[1:])
    result = call("plan", spec_file, "--offers", path)
    assert result.code == 1
    assert "the run fits on none of these offers" in result.out
    assert "not small, dear: " in result.out
    both = call("plan", spec_file, "--offers", write(spec_file.parent, OFFERS), "--format", "json")
    found = json.loads(both.out)["offers"]
    assert [each["refusal"] is None for each in found] == [True, False, False]
    assert found[1]["cost"] is None


def test_an_unknown_machine_is_one_offer(call: Call, spec_file: Path) -> None:
    """The others are ranked."""
    typo = {"name": "typo", "hardware": "1x H10O", "price_per_hour": 1}
    result = call("plan", spec_file, "--offers", write(spec_file.parent, [typo, *OFFERS]))
    assert result.code == 0
    assert "not typo: there is no known GPU named `H10O` (FTC300)" in result.out
    alone = call("plan", spec_file, "--offers", write(spec_file.parent, [typo]))
    assert alone.code == 1
    assert "not typo" in alone.out


@pytest.mark.parametrize("report", ["text", "json"])
def test_a_mistake_of_the_spec_is_told_once(call: Call, spec_file: Path, report: str) -> None:
    """As `ftc check` tells it, and not for each offer."""
    path = write(spec_file.parent, OFFERS)
    result = call("plan", spec_file, "--offers", path, "--set", "foo=1", "--format", report)
    assert result.code == 1
    if report == "json":
        data = json.loads(result.out)
        Draft202012Validator(read_schema("ranking.schema.json")).validate(data)
        assert [each["code"] for each in data["findings"]] == ["FTC032"]
    else:
        assert (result.out, result.err.count("FTC032")) == ("", 2)


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", '{"offers": []}', '{"offers": [{"name": "x"}]}', '{"offers": 3}',
     '{"offers": [{"name": "x", "hardware": 3, "price_per_hour": 1}]}',
     '{"offers": [{"name": "x", "hardware": "1x L4", "price_per_hour": -1}]}',
     '{"offers": [{"name": "x", "hardware": "1x L4", "price_per_hour": 1e999}]}',
     ('{"offers": [{"name": "x", "hardware": "1x L4", "price_per_hour": 1},'
     '{"name": "x", "hardware": "1x L4", "price_per_hour": 2}]}'),
     ('{"offers": [{"name": "x", "hardware": {"gpu": "L4", "price_per_hour": 1},'
     '"price_per_hour": 1}]}'),
     "offers:\n- {name: x, hardware: 1x L4, price_per_hour: 1 EUR}\n", "\x00\x01"],
)  # fmt: skip
def test_a_wrong_file(call: Call, spec_file: Path, text: str) -> None:
    """One sentence and exit code 3."""
    path = spec_file.parent / "offers.json"
    path.write_text(text, encoding="utf-8")
    result = call("plan", spec_file, "--offers", path)
    assert result.code == 3
    assert "not a file of offers" in result.err
    assert call("plan", spec_file, "--offers", path.parent).code == 3
    assert call("plan", spec_file, "--offers", path.with_name("none.json")).code == 3


def test_it_stands_alone(call: Call, spec_file: Path) -> None:
    """A picture or a trace is of one machine, and the offers name the hardware."""
    path = write(spec_file.parent, OFFERS)
    assert call("plan", spec_file, "--offers", path, "--format", "svg").code == 2
    assert call("plan", spec_file, "--offers", path, "--trace").code == 2
    assert call("plan", spec_file, "--offers", path, "--set", "hardware=cpu").code == 2
