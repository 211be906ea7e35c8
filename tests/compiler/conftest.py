"""A base of a valid spec and facts, and edits to it by JSON pointer."""

import copy
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    KnownFacts,
    ModelFacts,
    TeacherFacts,
    TokenizerFacts,
    Unknown,
    known,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message
from ftc.spec.normal import normalise
from ftc.spec.sections import Spec

BASE = Path(__file__).parents[1] / "checks" / "base.json"
_KINDS: Mapping[str, Any] = {
    "model": ModelFacts,
    "tokenizer": TokenizerFacts,
    "data": DataFacts,
    "hardware": HardwareFacts,
}
_UNKNOWN = Unknown(
    finding=Finding(
        code="FTC100",
        name="x",
        severity="error",
        problem=Message("FTC100.message", {"name": "gone"}),
        remedy=Message("FTC100.help"),
    )
)

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]
BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]


def build_case(edits: Mapping[str, Any]) -> tuple[Spec, Facts]:
    """Return the base with each pointer set; `/spec` pointers count as said by the user.

    A fact set to null is unknown; `/config` edits change the model's shape and parameters. The
    teacher's model has the facts of the model, but for those that an edit gives.
    """
    tree = copy.deepcopy(_tree())
    for pointer, value in edits.items():
        _put(tree, pointer.split("/")[1:], value)
        if pointer == "/facts/data/sources":  # said of each is how it differs from the whole
            whole = {**tree["facts"]["data"], "sources": []}
            tree["facts"]["data"]["sources"] = [{**whole, **part} for part in value]
        if pointer.startswith("/spec/"):
            tree["spec"]["said"].append(pointer.removeprefix("/spec"))
    model = tree["facts"]["model"]
    if model is not None and "/facts/model/shape" not in edits:
        shape = read_shape(tree["config"])
        assert shape is not None
        model["shape"] = msgspec.to_builtins(shape)
        for field in ("parameters", "context_tokens"):
            if f"/facts/model/{field}" not in edits:
                model[field] = getattr(shape, field)
    facts = {
        name: _UNKNOWN
        if tree["facts"][name] is None
        else msgspec.convert(tree["facts"][name], kind)
        for name, kind in _KINDS.items()
    }
    teacher = tree["facts"].get("teacher")
    if teacher is not None:
        shape = msgspec.to_builtins(read_shape(tree["config"]))
        like = model or {**_tree()["facts"]["model"], "shape": shape}
        teacher = msgspec.convert({**teacher, "model": {**like, **teacher["model"]}}, TeacherFacts)
    return msgspec.convert(tree["spec"], Spec), Facts(**facts, teacher=teacher)


@cache
def _tree() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(BASE.read_text(encoding="utf-8"))
    spec = tree["spec"]
    said = spec.pop("said")
    tree["spec"] = {**normalise(spec), "said": said}  # a new field has its default here too
    return tree


def _put(tree: dict[str, Any], path: list[str], value: object) -> None:
    for part in path[:-1]:
        tree = tree[part]
    assert path[-1] in tree or path == ["facts", "teacher"], f"no such place: {'/'.join(path)}"
    tree[path[-1]] = value


@pytest.fixture(scope="session")
def build() -> Build:
    """Give the base spec and facts with edits."""
    return build_case


@pytest.fixture(scope="session")
def build_known() -> BuildKnown:
    """Give the base spec and known facts with edits."""

    def make(edits: Mapping[str, Any]) -> tuple[Spec, KnownFacts]:
        spec, facts = build_case(edits)
        every = known(facts)
        assert every is not None
        return spec, every

    return make
