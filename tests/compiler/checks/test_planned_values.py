"""The planner's choices are valid: no error is about a value that the spec leaves out."""

from collections.abc import Mapping
from typing import Any

import pytest

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts, has_teacher
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import known
from ftc.spec.schema import fields
from ftc.spec.sections import ObjectiveType
from ftc.spec.values.expectation import words_of
from tests.compiler.checks.case_files import Build

GIB = 2**30
#: Of models from half a billion to 70 billion weights.
SIZES: Mapping[str, Mapping[str, int]] = {
    "0.5B": {},
    "8B": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "70B": {
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
    },
}
#: GPUs and their memory.
MACHINES = [(1, 16), (2, 24), (8, 80)]
#: Fields of which the planner chooses the value.
CHOSEN = {field.pointer for field in fields() if "auto" in words_of(field.schema) and field.pointer}


@pytest.mark.parametrize("method", ["full", "lora", "qlora", "freeze"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_error_is_about_a_planned_value(
    build: Build, objective: ObjectiveType, method: str
) -> None:
    """Whatever the model and the machine are: where nothing fits, that is what is said."""
    edits: dict[str, Any] = {
        "/spec/objective/type": objective,
        "/spec/method/type": method,
        "/facts/data/form": OBJECTIVES[objective].forms[0],
        "/facts/data/labels": [],
        "/spec/export/types": [],
    }
    if has_teacher(objective):
        edits["/spec/objective/teacher"] = {
            "id": "org/teacher",
            "revision": None,
            "quantization": "none",
        }
        edits["/facts/teacher"] = {"vocabulary": "same", "model": {"id": "org/teacher"}}
    if OBJECTIVES[objective].rewards:
        edits["/spec/objective/rewards"] = [{"regex": "[a-z]"}]
    if compares_texts(objective) and method in ("qlora", "freeze"):
        pytest.skip("sentence-transformers does not train so (FTC573)")
    for size, config in SIZES.items():
        for count, gib in MACHINES:
            machine = {
                "/facts/hardware/count": count,
                "/facts/hardware/memory_bytes": gib * GIB,
                **{f"/config/{name}": value for name, value in config.items()},
            }
            spec, facts = build({**edits, **machine})
            every = known(facts)
            assert every is not None
            found = run_checks(spec, facts, make_plan(spec, every))
            wrong = [
                (finding.code, finding.message, finding.help)
                for finding in found
                if finding.severity == "error" and finding.pointer in CHOSEN - spec.said
            ]
            assert not wrong, (size, count, gib)
