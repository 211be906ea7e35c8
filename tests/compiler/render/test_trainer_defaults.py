"""No decision is left to a trainer: train.py sets what differs from its defaults."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts, has_teacher
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.context.trainer import trainer_settings
from ftc.spec.sections import Form, ObjectiveType
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CPU
from tests.compiler.render.test_settings import make_source

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
FORMS: list[tuple[ObjectiveType, Form]] = [
    (objective, form) for objective, entry in OBJECTIVES.items() for form in entry.forms
]
HARDWARE: Mapping[str, Mapping[str, Any]] = {"gpu": {}, "cpu": CPU}
CONSTANT = re.compile(r"^([A-Z_]+) = \{\{ value\.(\w+) \}\}", re.MULTILINE)
#: What is planned for a run that has no such thing.
UNSAID: tuple[Any, ...] = (None, {}, "none")
#: An argument beside which another one is not read.
SAID_BY = {"max_steps": "num_train_epochs"}
ARGUMENT = re.compile(r"^    (\w+)=([A-Z_]+),", re.MULTILINE)


def list_arguments(objective: ObjectiveType) -> Iterator[tuple[str, str]]:
    """Yield the arguments of a trainer's configuration, each with the decision that it gets."""
    names = (f"objectives/{OBJECTIVES[objective].script}.j2", "train.py.j2", "parts/settings.j2")
    text = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    decisions = dict(CONSTANT.findall(text))
    for argument, constant in ARGUMENT.findall(text):
        if constant in decisions:
            yield argument, decisions[constant]


def read_call(script: str) -> tuple[Mapping[str, Any], set[str]]:
    """Return the defaults of the class of which a script makes its `config`, and what it gives."""
    tree = ast.parse(script)
    (call,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "config"
        and isinstance(node.value, ast.Call)
    )
    name = ast.unparse(call.func)
    (module,) = (
        str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}
    )
    given = {str(word.arg) for word in call.keywords}
    kind = getattr(import_module(module), name)
    return {field.name: field.default for field in fields(kind)}, given


def make(
    build_known: BuildKnown, objective: ObjectiveType, form: Form, device: str
) -> BundleSource:
    """Return the bundle of an objective of which the spec says no more than its type."""
    edits: dict[str, Any] = {"/spec/objective/type": objective, "/facts/data/form": form}
    edits |= HARDWARE[device]
    if objective != "classification":
        edits["/facts/data/labels"] = []
    if OBJECTIVES[objective].head != "tokens":
        edits["/spec/export/types"] = []
    if compares_texts(objective):
        edits["/facts/model/architecture"] = "BertModel"
    if has_teacher(objective):
        edits["/facts/teacher"] = {"vocabulary": "same", "model": {"id": "org/teacher"}}
        edits["/spec/objective/teacher"] = {
            "id": "org/teacher",
            "revision": None,
            "quantization": "none",
        }
    if OBJECTIVES[objective].rewards:
        edits["/spec/objective/rewards"] = [{"regex": "[a-z]"}]
    return make_source(build_known, edits)


@pytest.mark.prove
@pytest.mark.parametrize("device", HARDWARE)
@pytest.mark.parametrize(("objective", "form"), FORMS)
def test_a_decision_is_given_unless_it_is_the_default(
    build_known: BuildKnown,
    monkeypatch: pytest.MonkeyPatch,
    objective: ObjectiveType,
    form: Form,
    device: str,
) -> None:
    """The arguments are those of the templates, the defaults those of the real classes."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    source = make(build_known, objective, form, device)
    decisions = source.plan.decisions
    decided = {name: decision.value for name, decision in decisions.items().items()}
    decided |= trainer_settings(decisions)
    (script,) = (file.text for file in render_bundle(source) if file.name == "train.py")
    defaults, given = read_call(script)

    arguments = dict(list_arguments(objective))
    assert arguments["learning_rate"] == "learning_rate"
    for argument in arguments.keys() & defaults.keys() - given:
        name = arguments[argument]
        if decided.get(name) not in UNSAID and SAID_BY.get(argument) not in given:
            assert decided[name] == defaults[argument], (argument, decided[name])
