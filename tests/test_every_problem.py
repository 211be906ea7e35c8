"""Every problem at once: a wrong part of a spec hides only problems that depend on it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check, compile_bundle
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.findings.finding import Finding
from tests.test_properties import BASE, FLIPS, put, write_folder

#: Two mistakes that rules find, in two sections.
WRONG: Mapping[str, Any] = {
    **BASE,
    "method": {"type": "lora", "targets": ["q_prj"]},
    "training": {"global_batch": 8, "warmup": 0.9},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which these tests compile their specs."""
    return write_folder(tmp_path_factory.mktemp("problems"))


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    """Return what looks up the facts of all specs once."""
    return Resolver()


def _findings(folder: Path, spec: Mapping[str, Any], resolver: Resolver) -> tuple[Finding, ...]:
    path = folder / "problems.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return check(str(path), resolver=resolver).findings


def _told(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(finding.code, finding.message) for finding in findings}


def test_a_misspelt_key_hides_nothing(folder: Path, resolver: Resolver) -> None:
    """Schema and rules are judged in one run, in the order of the file."""
    apart = _told(_findings(folder, {**WRONG, "export": ["Q8_0"]}, resolver))
    assert {"FTC127", "FTC522"} <= {code for code, _ in apart}

    found = _findings(folder, {**WRONG, "exprot": ["Q8_0"], "tracking": "wandv"}, resolver)

    schema = {each.code for each in found} - {code for code, _ in apart}
    assert schema == {"FTC032", "FTC035"}
    assert apart <= _told(found)
    places = [(f.position.line, f.position.column) for f in found if f.position]
    assert places == sorted(places)


def test_an_item_of_unknown_keys_is_one_finding(folder: Path, resolver: Resolver) -> None:
    """Without its keys the item would be empty, which nobody wrote."""
    objective = {"type": "grpo", "rewards": [{"file": "score.py"}]}
    codes = [each.code for each in _findings(folder, {**WRONG, "objective": objective}, resolver)]
    assert "FTC032" in codes
    assert "FTC038" not in codes


def test_compile_says_the_same(folder: Path) -> None:
    """The findings of `ftc compile` are those of `ftc check`."""
    path = folder / "problems.json"
    path.write_text(json.dumps({**WRONG, "exprot": ["Q8_0"]}), encoding="utf-8")

    assert compile_bundle(str(path)).findings == check(str(path)).findings


def test_fixes_of_a_section_wait_for_its_repair(folder: Path, resolver: Resolver) -> None:
    """A fix of a rule is offered where nothing else is wrong in the section that it changes."""
    found = _findings(folder, {**WRONG, "training": {"warmup_ratio": 0.95}}, resolver)
    method = {**WRONG["method"], "rnak": 8}
    other = _findings(folder, {**WRONG, "method": method}, resolver)

    assert {f.code for f in found if f.fix} >= {"FTC127"}
    assert {f.code for f in other} >= {"FTC032", "FTC127"}
    assert "FTC127" not in {f.code for f in other if f.fix}


def test_an_empty_section_keeps_no_fix_away(folder: Path, resolver: Resolver) -> None:
    """It says nothing, so it contradicts nothing."""
    found = _findings(folder, {**WRONG, "training": {}, "export": {}}, resolver)

    assert "FTC127" in {f.code for f in found if f.fix}


def test_a_missing_name_keeps_no_fix_away(folder: Path, resolver: Resolver) -> None:
    """Rules repair the rest; the name of the data is proposed for that of the run."""
    spec = {**WRONG, "data": {**BASE["data"], "max_length": 100_000}}
    del spec["name"]
    found = {f.code: f for f in _findings(folder, spec, resolver) if f.fix}

    assert found["FTC033"].fix == ({"op": "add", "path": "/name", "value": "tickets"},)
    assert found["FTC033"].fix_safety == "unsafe"
    assert found["FTC124"].fix[0]["path"] == "/data/max_length"


def test_a_wrong_field_hides_no_other_field_of_its_section(
    folder: Path, resolver: Resolver
) -> None:
    """What conflicts with sound fields is told beside a field with a value that is not valid."""
    launch = {"type": "slurm", "partition": "gpu", "bucket": "b", "namespace": "x", "spot": True}
    training = {"epochs": 3, "max_steps": 50, "schedule": "cosinus"}

    found = _findings(folder, {**BASE, "launch": launch, "training": training}, resolver)

    told = [(each.code, each.pointer) for each in found if each.severity == "error"]
    assert {
        ("FTC037", "/launch/bucket"),
        ("FTC050", "/launch/bucket"),
        ("FTC050", "/launch/namespace"),
        ("FTC050", "/launch/spot"),
        ("FTC051", "/training/max_steps"),
        ("FTC035", "/training/schedule"),
    } == set(told)
    assert len(told) == len(set(told))


def test_nothing_is_concluded_from_a_wrong_value(folder: Path, resolver: Resolver) -> None:
    """A field whose condition has no valid value is not called unread; an absent one not either."""
    spec = {**BASE, "name": 123, "method": {"type": "lorra", "rank": 16}}

    found = _findings(folder, spec, resolver)

    assert [each.code for each in found if each.severity == "error"] == ["FTC034", "FTC035"]


def test_every_missing_file_of_a_mixture_is_told(folder: Path, resolver: Resolver) -> None:
    """Files are looked for beside sources whose weights are incomplete, and beside each other."""
    sources: list[dict[str, Any]] = [
        {"source": "gone.csv"},
        {"source": "gone-too.csv", "weight": 2},
    ]

    found = _findings(folder, {**BASE, "data": {"sources": sources}}, resolver)
    weighed = [{**source, "weight": 1} for source in sources]
    alone = _findings(folder, {**BASE, "data": {"sources": weighed}}, resolver)

    codes = sorted(each.code for each in found if each.severity == "error")
    assert codes == ["FTC200", "FTC200", "FTC214"]
    assert [each.code for each in alone if each.severity == "error"] == 2 * ["FTC200"]


@pytest.mark.parametrize("missing", ["name", "model", "data"])
def test_a_missing_section_hides_only_what_rests_on_it(
    folder: Path, resolver: Resolver, missing: str
) -> None:
    """Nothing is concluded from the example that stands in for what is missing."""
    spec = {name: value for name, value in WRONG.items() if name != missing}

    found = _told(_findings(folder, spec, resolver))

    assert "FTC033" in {code for code, _ in found}
    assert len(found) > 1
    assert {pair for pair in found if pair[0] != "FTC033"} <= _told(
        _findings(folder, WRONG, resolver)
    )


#: Fields whose names are free: what is told of a name holds for any of its values.
FREELY_NAMED = {"data.template_options"}


@pytest.mark.prove
@pytest.mark.parametrize("name", sorted(FLIPS.keys() - {"ftc"}))
def test_a_dropped_part_brings_no_finding(folder: Path, resolver: Resolver, name: str) -> None:
    """Beside a field without a valid value, only findings that hold for any value are told."""
    value, needed = FLIPS[name]
    spec = dict(BASE)
    for key, also in needed.items():
        spec = put(spec, key, also)

    found = _findings(folder, put(spec, name, {"no": ["value"]}), resolver)

    wrong = [each for each in found if each.code in {"FTC032", "FTC033", "FTC034", "FTC035"}]
    assert wrong
    rest = _told(tuple(each for each in found if each not in wrong))
    named = [put(spec, name, {"no": True})] if name in FREELY_NAMED else []
    for valid in named or (spec, put(spec, name, value)):
        assert rest <= _told(_findings(folder, valid, resolver))


def test_repairs_of_one_section_do_not_undo_each_other(folder: Path, resolver: Resolver) -> None:
    """Keys of other tools that belong to two sections in short form leave no key missing."""
    spec = {name: value for name, value in BASE.items() if name not in {"model", "data"}}
    said = {
        "base_model": BASE["model"] if isinstance(BASE["model"], str) else BASE["model"]["id"],
        "flash_attention": True,
        "dataset": "tickets.csv",
        "sequence_len": 256,
        "lora_r": 8,
        "lora_alpha": 16,
    }

    found = _findings(folder, {**spec, **said, "method": "lora"}, resolver)

    assert "FTC033" not in {each.code for each in found}
    assert len([each for each in found if each.code == "FTC032"]) == len(said)
