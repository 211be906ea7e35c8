"""Messages of the rules about memory and networks: a word per phase, and only useful help."""

from collections.abc import Mapping
from typing import Any

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import known
from ftc.spec.message import read_messages
from tests.compiler.checks.case_files import Build, list_findings, list_of, read_case


def test_every_phase_of_the_memory_plan_has_its_word(build: Build) -> None:
    """FTC420 names the phase with the peak: training's own, a reference's and generation."""
    sampled = read_case("FTC594")
    compared = {**read_case("FTC270"), "/spec/objective/reference": "adapter_off"}
    phases = set[str]()
    for edits in ({}, sampled, compared):
        spec, facts = build(edits)
        every = known(facts)
        assert every is not None
        phases |= set(make_plan(spec, every).memory.phases)
    assert {"reference", "generation"} <= phases
    assert {f"phase.{phase}" for phase in phases} <= set(read_messages("en"))


@pytest.mark.parametrize(
    ("code", "edits", "help_says", "never"),
    [
        (
            "FTC351",
            {"/facts/hardware/network_gbit": 1},
            "a network faster than 1 Gbit/s",
            "network_gbit",
        ),
        ("FTC351", {"/facts/hardware/network_gbit": None}, "network_gbit", "faster"),
        (
            "FTC421",
            {"/spec/training/micro_batch": "auto", "/facts/hardware/memory_bytes": 17990000000},
            "a GPU with more memory",
            "micro_batch",
        ),
    ],
)
def test_a_help_names_only_what_can_help(
    build: Build, code: str, edits: Mapping[str, Any], help_says: str, never: str
) -> None:
    """No field is asked for that is set, and none is blamed that the spec leaves out."""
    case = read_case(code)
    found = list_of(code, list_findings(build, {**case, **edits}))
    assert found, [each.code for each in list_findings(build, {**case, **edits})]
    assert help_says in found[0].help
    assert ("fall back" in found[0].message) is (help_says == "a GPU with more memory")
    assert never not in found[0].help
