"""Bad inputs of the newer objectives: from a file of rows and a spec to the error that names them.

The models are those of ftc's table, so that nothing is read from the Hub. What only a run can meet,
a server of vLLM that cannot be reached, is in `tests/runtime/test_vllm_engine.py`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.pipeline import check
from ftc.fix_patches import write_fixes
from ftc.repair import repair
from tests.compiler.checks.data.test_data import sound

Row = Callable[[int, str], dict[str, str]]

MODEL: Final = "Qwen/Qwen3-0.6B"
ENCODER: Final = "BAAI/bge-small-en-v1.5"
RERANKER: Final = "BAAI/bge-reranker-v2-m3"
TEACHER: Final = "Qwen/Qwen3-4B"
NUMERIC: Final[Mapping[str, Any]] = {"rewards": ["numeric"]}
ROWS: Final[Mapping[str, Row]] = {
    "texts": lambda _, text: {"text": text},
    "prompts": lambda _, text: {"prompt": text},
    "answers": lambda n, text: {"prompt": text, "answer": str(n)},
    "words": lambda n, text: {"prompt": text, "answer": f"none {'abcdefg'[n % 7]}"},
    "pairs": lambda n, text: {"query": text, "passage": f"{n} {text[5:]}"},
    "one passage": lambda _, text: {"query": text, "passage": "the same"},
    "scored": lambda n, text: {"query": text, "passage": f"{n} {text[5:]}", "label": str(n % 2)},
    "one class": lambda n, text: {"query": text, "passage": f"{n} {text[5:]}", "label": "1"},
    "preferences": lambda n, text: {
        "prompt": text, "chosen": f"yes {n} {text[5:]}", "rejected": f"no {text[5:]} {n}",
    },
    "equal answers": lambda n, text: {"prompt": text, "chosen": f"a {n}", "rejected": f"a {n}"},
}  # fmt: skip
SAMPLED: Final = ("grpo", "rloo")
PREFERRED: Final = ("cpo", "simpo")
TWO_GPUS: Final = {"hardware": "2x RTX-4090"}


def distil(teacher: str | None = TEACHER, **more: Any) -> dict[str, Any]:
    """Return the section of a distillation."""
    named = {} if teacher is None else {"teacher": teacher}
    return {"objective": {"type": "distill", **named, **more}}


def give(teacher: str | None = TEACHER, **more: Any) -> dict[str, Any]:
    """Return the section of a distillation on the answers in the data."""
    return distil(teacher, type="gkd", **more)


def sample(objective: str, **more: Any) -> dict[str, Any]:
    """Return the section of an objective that samples answers."""
    return {"objective": {"type": objective, **NUMERIC, **more}}


#: What an objective can read: its rows, and the rest of the spec.
GOOD: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "embed": ("pairs", {"objective": "embed", "model": ENCODER}),
    "rerank": ("scored", {"objective": "rerank", "model": RERANKER}),
    "distill": ("prompts", distil()),
    "gkd": ("answers", give()),
    **{name: ("answers", sample(name)) for name in SAMPLED},
    **{name: ("preferences", {"objective": name}) for name in PREFERRED},
}
#: What it cannot: its rows, what differs in the spec, and the errors.
BAD: Final[Mapping[str, Sequence[tuple[str, Mapping[str, Any], set[str]]]]] = {
    "embed": (
        ("texts", {}, {"FTC206"}),
        ("prompts", {}, {"FTC206"}),
        ("one passage", {}, {"FTC576"}),
        ("one class", {}, {"FTC249"}),
        ("pairs", {"model": "Qwen/Qwen2.5-72B-Instruct", "method": "full"}, {"FTC420"}),
        ("pairs", {"model": MODEL, "method": "qlora"}, {"FTC573"}),
        ("pairs", {"export": ["Q4_K_M"]}, {"FTC571"}),
    ),
    "rerank": (
        ("texts", {}, {"FTC206"}),
        ("one passage", {}, {"FTC576"}),
        ("one class", {}, {"FTC249"}),
        ("scored", {"model": MODEL}, {"FTC578"}),
        ("scored", {"model": ENCODER, "export": ["Q8_0"]}, {"FTC579"}),
    ),
    "distill": (
        ("texts", {}, {"FTC206"}),
        ("prompts", distil(None), {"FTC564"}),
        ("prompts", distil(MODEL), {"FTC566"}),
        ("prompts", distil("HuggingFaceTB/SmolLM2-1.7B-Instruct"), {"FTC565"}),
        ("prompts", distil("Qwen/Qwen3-32B"), {"FTC420"}),
        ("prompts", distil("./nowhere"), {"FTC100"}),
        ("prompts", distil(beta=2), {"FTC567"}),
    ),
    "gkd": (
        ("texts", {}, {"FTC206"}),
        ("prompts", {}, {"FTC206"}),
        ("answers", give(None), {"FTC564"}),
        ("answers", give(MODEL), {"FTC566"}),
        ("answers", give("HuggingFaceTB/SmolLM2-1.7B-Instruct"), {"FTC565"}),
        ("answers", give("Qwen/Qwen3-32B"), {"FTC420"}),
        ("answers", give(beta=2), {"FTC567"}),
        ("answers", give(temperature=0.5), {"FTC050"}),
        ("answers", give(answer_tokens=64), {"FTC050"}),
        ("answers", give(lmbda=0.5), {"FTC040"}),
        ("answers", {"training": {"label_smoothing": 0.1}}, {"FTC050"}),
        ("answers", {**TWO_GPUS, "distribution": "zero3"}, {"FTC593"}),
        ("answers", {**TWO_GPUS, "distribution": "fsdp"}, {"FTC593"}),
    ),
    **{
        name: (
            ("texts", {}, {"FTC206"}),
            ("prompts", {}, {"FTC584"}),
            ("prompts", {"objective": name}, {"FTC584"}),
            ("words", {}, {"FTC587"}),
            ("answers", sample(name, num_generations=1), {"FTC036"}),
            (
                "answers",
                {**sample(name, num_generations=8), "training": {"global_batch": 12}},
                {"FTC590"},
            ),
            (
                "answers",
                {**sample(name, vllm="colocate"), "hardware": {"gpu": "cpu", "ram_gib": 64}},
                {"FTC552"},
            ),
            ("answers", sample(name, vllm="server"), {"FTC553"}),
            ("answers", {**sample(name, vllm="colocate"), "method": "qlora"}, {"FTC554"}),
            (
                "answers",
                {**sample(name, vllm="colocate"), "model": "Qwen/Qwen3-8B"},
                {"FTC420", "FTC555"},
            ),
        )
        for name in SAMPLED
    },
    **{
        name: (
            ("texts", {}, {"FTC206"}),
            ("answers", {}, {"FTC206"}),
            ("equal answers", {}, {"FTC204"}),
            ("preferences", {"model": ENCODER}, {"FTC103"}),
            (
                "preferences",
                {"objective": {"type": name, "reference": "precomputed"}},
                {"FTC050"},
            ),
        )
        for name in PREFERRED
    },
}


def find_errors(folder: Path, rows: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """Write the files; return the help of each error by its code."""
    made = [ROWS[rows](n, row["message"]) for n, row in enumerate(sound(100))]
    text = "".join(json.dumps(row) + "\n" for row in made)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    path = folder / "spec.json"
    whole = {"name": "x", "model": MODEL, "data": "rows.jsonl", "hardware": "1x RTX-4090", **spec}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return {each.code: each.help for each in check(str(path)).findings if each.severity == "error"}


@pytest.fixture(autouse=True)
def _no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("objective", GOOD)
def test_what_can_be_read_raises_no_error(objective: str, tmp_path: Path) -> None:
    """The bad inputs differ from this one in what their error names."""
    rows, spec = GOOD[objective]
    assert find_errors(tmp_path, rows, spec) == {}


@pytest.mark.parametrize(
    ("objective", "rows", "changes", "codes"),
    [(name, *case) for name, cases in BAD.items() for case in cases],
)
def test_a_bad_input_raises_its_error_and_no_other(
    objective: str, rows: str, changes: Mapping[str, Any], codes: set[str], tmp_path: Path
) -> None:
    """Each says what to do."""
    found = find_errors(tmp_path, rows, {**GOOD[objective][1], **changes})
    assert set(found) == codes
    assert all(found.values())


def test_the_table_has_every_newer_objective() -> None:
    """Those that compare texts, sample, learn from a teacher or prefer without a reference."""
    older = {"sft", "cpt", "dpo", "kto", "orpo", "reward", "classification"}
    assert set(BAD) == set(GOOD) == set(OBJECTIVES) - older


@pytest.mark.parametrize(
    ("changes", "is_certain"),
    [
        ({"method": "qlora"}, True),
        ({"data": {"source": "rows.jsonl", "streaming": True}}, True),
        ({"method": {"type": "freeze", "layers": 2}}, False),
    ],
)
def test_a_setting_that_vectors_have_not_is_taken_back(
    changes: Mapping[str, Any], is_certain: bool, tmp_path: Path
) -> None:
    """Which layers are frozen is for the user to say."""
    spec = {**GOOD["embed"][1], **changes}
    assert set(find_errors(tmp_path, "pairs", spec)) == {"FTC573"}
    path = tmp_path / "spec.json"
    outcome = check(str(path))
    written = write_fixes(outcome.findings, outcome.document)
    (found,) = [each for each in written if each.code == "FTC573"]
    assert bool(found.fix) == is_certain
    if is_certain:
        path.write_text(repair(path.read_text(encoding="utf-8"), [found]).text, encoding="utf-8")
        assert not [each for each in check(str(path)).findings if each.severity == "error"]
