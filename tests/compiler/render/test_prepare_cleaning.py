"""prepare.py cleans as the compiler counted: the same repairs, blanks and duplicates."""

import ast
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.resolve import cleaning
from ftc.compiler.resolve.conversation import ROLES
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]

DAMAGED = st.text().map(lambda text: text.encode("utf-8", "ignore").decode("cp1252", "replace"))
LATIN = st.text().map(lambda text: text.encode("utf-8", "ignore").decode("latin-1"))
WORDS = st.sampled_from(["café", "perÃ²", "aquÃ­", "anulÂ·lo", "â€œHiâ€\x9d", "\ufffd", " \t x "])
TEXTS = st.text() | DAMAGED | LATIN | st.lists(WORDS, max_size=4).map(" ".join)


@pytest.fixture(scope="module")
def script(build_known: BuildKnown) -> dict[str, Any]:
    """Give the functions and tables of a rendered examples.py."""
    edits = {f"/facts/data/{name}": None for name in ("prompt", "completion")}
    spec, facts = build_known(
        {**edits, "/facts/data/form": "chat", "/facts/data/messages": "messages"}
    )
    source = BundleSource(
        spec=spec,
        written={},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path="data.jsonl",
        model_path=None,
        chat_template=None,
    )
    text = next(file.text for file in render_bundle(source) if file.name == "examples.py")
    wanted = {"CP1252", "UNDO", "TAIL", "MISENCODED", "ROLES", "FOLLOWS"}
    body: list[ast.stmt] = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in wanted)
    ]
    names: dict[str, Any] = {"re": re, "unicodedata": unicodedata}
    exec(compile(ast.Module(body=body, type_ignores=[]), "examples.py", "exec"), names)  # noqa: S102
    return names


@settings(max_examples=500)
@given(text=TEXTS)
def test_texts_are_cleaned_alike(script: dict[str, Any], text: str) -> None:
    """Repaired where the compiler repairs, stripped as it strips, folded as it folds."""
    assert cleaning.clean_text(text, repair=True) == script["clean"](text)
    assert cleaning.fold(text) == script["fold"](text)


@given(text=st.text(st.characters(), max_size=8), half=st.sampled_from(["", "\ud83d", "\udc00"]))
def test_half_a_character_is_found_alike(script: dict[str, Any], text: str, half: str) -> None:
    """JSON can hold one half of a surrogate pair, and no tokenizer reads it."""
    assert cleaning.is_whole(text) == script["is_whole"](text)
    assert not half or not script["is_whole"](text + half + "x")


def test_roles_are_read_alike(script: dict[str, Any]) -> None:
    """Every name of a role in the wild means the same to both."""
    assert script["ROLES"] == ROLES
