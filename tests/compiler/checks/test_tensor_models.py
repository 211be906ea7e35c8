"""The rules about experts and recurrent layers also hold for a model planned from its tensors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.method import method_values
from ftc.compiler.render.source import BundleSource
from ftc.compiler.resolve.facts import known
from tests.compiler.checks.case_files import Build

HIDDEN = {"vocab_size": 152064, "hidden_size": 2048, "num_hidden_layers": 8, "num_experts": 64}
SPARSE = {"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", **HIDDEN}


@pytest.fixture
def shape(build: Build) -> Shape:
    """Give the shape of a model with experts and linear attention."""
    _, facts = build({"/config": SPARSE})
    found = getattr(facts.model, "shape", None)
    assert isinstance(found, Shape)
    return replace(found, architecture="NovelForCausalLM", model_type="novel")


def read(build: Build, shape: Shape, edits: dict[str, Any], **more: Any) -> Iterator[Any]:
    """Yield the spec, the facts and the plan of a model of which only the tensors are known."""
    spec, facts = build(edits)
    model: Any = facts.model
    model = replace(model, shape=None, tensor_shape=shape, architecture="NovelForCausalLM", **more)
    facts = replace(facts, model=model)
    every = known(facts)
    assert every is not None
    yield from (spec, facts, make_plan(spec, every))


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ({}, "FTC175"),
        ({"/spec/method/type": "qlora"}, "FTC331"),
        ({"/spec/data/packing": "best-fit"}, "FTC531"),
        ({"/spec/training/router_loss": 0.1}, "FTC176"),
        ({}, "FTC335"),
    ],
)
def test_a_rule_reads_the_tensors(
    build: Build, shape: Shape, edits: dict[str, Any], code: str
) -> None:
    """The finding is there, as for a class of the table."""
    found = {finding.code for finding in run_checks(*read(build, shape, edits))}
    assert code in found
    assert "FTC532" not in found


def test_experts_are_adapted_by_their_usual_names(build: Build, shape: Shape) -> None:
    """`method.experts` is accepted, and the script names the tensors of the experts."""
    edits = {"/spec/method/experts": True}
    spec, facts, plan = read(build, shape, edits)
    assert "FTC153" not in {finding.code for finding in run_checks(spec, facts, plan)}
    every: Any = known(facts)
    paths: dict[str, Any] = dict.fromkeys(("data_path", "model_path", "chat_template"))
    values = method_values(BundleSource(spec=spec, written={}, facts=every, plan=plan, **paths))
    assert values["expert_targets"] == ("experts.gate_up_proj", "experts.down_proj")


def test_own_code_has_a_module_for_each_expert(build: Build, shape: Shape) -> None:
    """LoRA reaches the experts of a repository's own code, and bitsandbytes quantizes them."""
    edits = {"/spec/method/type": "qlora"}
    found = {f.code for f in run_checks(*read(build, shape, edits, custom_code=True))}
    assert not found & {"FTC175", "FTC331"}
