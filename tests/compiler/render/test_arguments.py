"""Arguments that only some bundles pass: each of them is passed by some bundle."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.render.context.context import make_context
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses
from ftc.spec.sections import ObjectiveType, Source
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CHAT, CUT_SHORT, VARIANTS, render
from tests.compiler.render.test_settings import CASES, make_source


def _form_of(objective: ObjectiveType) -> dict[str, str]:
    """Return the form of rows that an objective trains on."""
    return {"/facts/data/form": OBJECTIVES[objective].forms[0]}


TEACHER: Mapping[str, Any] = {
    "/spec/objective/teacher": {"id": "org/teacher", "revision": None, "quantization": "none"},
    "/facts/teacher": {"vocabulary": "same", "model": {"embedding_rows": 10**6}},
}

#: A model that sees, and rows with images: the case in which FTC190 is silent.
_SEEING: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "checks" / "FTC190.json").read_text(encoding="utf-8")
)["silent"][1]["edits"]

#: A file that the trained model is compared with the base on.
_COMPARED: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "checks" / "FTC598.json").read_text(encoding="utf-8")
)["silent"][0]["edits"]

#: What few bundles pass, beside the variants that other tests render.
RARE: tuple[Mapping[str, Any], ...] = (
    {**CHAT, "/facts/data/calls": True, "/facts/model/origin": "hub"},
    *({"/spec/objective/type": objective, **_form_of(objective)} for objective in OBJECTIVES),
    {
        "/spec/objective/type": "dpo",
        "/facts/data/form": "preference",
        "/spec/objective/reference": "copy",
        "/spec/objective/loss": "robust",
        "/spec/method/type": "full",
    },
    {"/spec/method/type": "qlora", "/spec/method/quant_storage": "bf16"},
    {"/facts/model/wrapper": "Molmo2ForConditionalGeneration"},
    {"/spec/training/evaluation/harness": ["hellaswag"]},
    _COMPARED,
    {"/spec/method/experts": True, "/facts/model/architecture": "MixtralForCausalLM"},
    CUT_SHORT,
    {"/spec/method/init": "pissa"},
    {
        "/spec/objective/type": "embed",
        "/facts/data/form": "prompt_completion",
        "/spec/objective/hard_negatives": 2,
        "/spec/objective/matryoshka_dimensions": [512],
    },
    {"/spec/objective/type": "distill", **TEACHER},
    {"/spec/objective/type": "gkd", **TEACHER},
    {"/spec/objective/type": "distill", **TEACHER, "/facts/data/form": "prompt"},
    _SEEING,
    {"/spec/model/new_tokens": ["<a>"]},
    {"/spec/data/reasoning": "strip"},
    {"/spec/objective/type": "grpo", "/spec/objective/tools": "tools.py"},
    {"/spec/objective/type": "rerank", "/facts/data/form": "prompt_completion"},
    {
        "/spec/data/cleaning/overlong": "truncate",
        "/spec/objective/type": "dpo",
        "/facts/data/form": "preference",
    },
    {"/spec/objective/type": "embed", "/spec/objective/pooling": "mean", **_form_of("embed")},
    {"/spec/data/template_options": {"style": "plain"}},
    {"/spec/export/types": ["IQ2_XS"]},
    {"/facts/model/architecture": "NemotronHForCausalLM"},
    {"/spec/export/types": [], "/spec/export/vllm": ["FP8"]},
    {"/spec/publish/repo": "me/name", "/spec/publish/licence": "mit"},
    {"/spec/method/type": "freeze", "/spec/method/layers": 1},
    {
        "/spec/objective/type": "grpo",
        "/spec/objective/vllm": "colocate",
        "/spec/objective/rewards": [{"regex": "[a-z]"}, {"json_schema": "answer.json"}],
    },
)


def mix(source: BundleSource) -> BundleSource:
    """Return the source with a mixture, of which each part gives only some rows."""
    facts, spec = source.facts, source.spec
    parts = (Source(source="tickets.csv", max_rows=9),) * 2
    return replace(
        source,
        spec=replace(spec, data=replace(spec.data, sources=parts)),
        facts=replace(facts, data=replace(facts.data, sources=(facts.data,) * 2)),
        data_paths=("../tickets.csv",) * 2,
        data_path=None,
    )


def test_every_argument_is_passed_by_some_bundle(build_known: BuildKnown) -> None:
    """A word or value that no bundle has would leave out its argument everywhere."""
    root = Path(str(files("ftc.templates")))
    text = "".join(path.read_text(encoding="utf-8") for path in root.rglob("*.j2"))
    words = set(re.findall(r"\{\{ word\.(\w+) \}\}", text))
    values = set(re.findall(r"\{\{ value\.(\w+) \}\}", text))
    made = [
        make_source(build_known, edits) for edits in (*VARIANTS.values(), *CASES.values(), *RARE)
    ]
    templated = replace(made[0], chat_template="{{ messages }}")
    for source in [*made, mix(made[0]), templated]:
        context = make_context(source, Uses(source))
        words -= set(context["word"])
        values -= set(context["value"])

    assert (words, values) == (set(), set())


@pytest.mark.parametrize(
    ("precision", "parts", "strategy", "widens"),
    [
        ("fp32", ["head"], "auto", True),
        ("fp32", ["head"], "zero2", True),  # which keeps what it is given in fp32
        ("fp32", [], "auto", False),  # an adapter widens its own input
        ("bf16", ["head"], "auto", False),
    ],
)
def test_modules_beside_an_adapter_have_the_type_of_their_inputs(
    build_known: BuildKnown, precision: str, parts: list[str], strategy: str, *, widens: bool
) -> None:
    """TRL makes all that is trained beside a quantized base bf16; fp32 runs without autocast."""
    edits = {
        "/spec/method/type": "qlora",
        "/spec/method/also_train": parts,
        "/spec/training/precision": precision,
        "/spec/distribution/strategy": strategy,
        "/facts/hardware/count": 2,
    }
    script = render(build_known, edits)["train.py"].text

    assert ("train_in_fp32(trainer.model)" in script) == widens
