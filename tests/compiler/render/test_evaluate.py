"""The rendered evaluate.py: its comparisons, and its imports before there is work."""

import ast
import json
from typing import Any

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CPU, FULL, render

SLOW = {"transformers", "torch", "trl", "peft", "llama_cpp", "lm_eval"}
#: Modules of `runtime/` that import one of these, as they are named in an import.
LOADING = {"answers", "judging", "label_scores", "reward_scores", "ask_scores", "ask_model"}


@pytest.mark.parametrize(
    ("edits", "has_base"),
    [({}, True), ({"/spec/objective/type": "classification"}, False)],
)
def test_the_base_is_judged_where_it_can_answer(
    build_known: BuildKnown, edits: dict[str, Any], *, has_base: bool
) -> None:
    """Its revision is the one that was trained; a head that was never trained is not asked."""
    text = render(build_known, {**FULL, **CPU, **edits})["evaluate.py"].text

    assert ("--base" in text) == has_base
    assert ("BASE = " in text) == has_base
    assert ("before = examine(args.base" in text) == has_base
    assert ("always the most common label" in text) == (not has_base)


def test_run_sh_gives_the_base_that_it_is_given(build_known: BuildKnown) -> None:
    """A model folder named for the run is what the result is compared with as well."""
    files = render(build_known, {**FULL, **CPU})

    assert "evaluate.py [--base MODEL]" in files["run.sh"].text


def test_the_plan_counts_the_test_split(build_known: BuildKnown) -> None:
    """The training stage's own seconds stay apart from those of the test split."""
    files = render(build_known, {})
    seconds = json.loads(files["plan.json"].text)["seconds"]

    assert seconds["low"] < seconds["total"] < seconds["high"]


@pytest.mark.parametrize("name", ["evaluate.py", "ask.py"])
@pytest.mark.parametrize("export", [["Q8_0"], []])
def test_slow_libraries_are_imported_when_there_is_work(
    build_known: BuildKnown, name: str, export: list[str]
) -> None:
    """After the arguments and the check of what is done; nothing above them imports torch."""
    text = render(build_known, {**FULL, **CPU, "/spec/export/types": export})[name].text
    body = ast.parse(text).body
    called = [place for place, node in enumerate(body) if "parse_args" in ast.unparse(node)]
    imported = {
        name
        for node in body[: called[0]]
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    }

    last = {str(name).rpartition(".")[2] for name in imported}
    assert not (imported | last) & (SLOW | LOADING)


def test_evaluate_of_a_plain_adapter_is_short(build_known: BuildKnown) -> None:
    """It is read in one sitting."""
    files = render(build_known, {})

    assert files["evaluate.py"].text.count("\n") <= 130
    assert files["ask.py"].text.count("\n") <= 60
