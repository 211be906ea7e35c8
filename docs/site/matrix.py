"""The support matrix: what the rules say of each objective with each method, sharding and export.

Nothing is typed in: every cell is one `ftc check` of a spec with those two choices. Its hardware is
large enough that memory decides nothing.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from ftc.compiler.knowledge.objectives import OBJECTIVES, has_teacher
from ftc.compiler.pipeline import check
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.sections import MethodType, ObjectiveType, Strategy

ROOT: Final = Path(__file__).resolve().parents[2]
METHODS: Final = get_args(MethodType)
SHARDINGS: Final = get_args(Strategy)
EXPORTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "merged 16-bit folder": {"types": []},
    "GGUF": {"types": ["Q8_0"]},
    "GGUF of the adapter": {"types": ["Q8_0"], "adapter": True},
    "folder for vLLM": {"vllm": ["FP8"]},
}
_HARDWARE: Final = {"gpu": "H200-SXM-141GB", "count": 2, "ram_gib": 2000, "disk_gib": 4000}
_MODELS: Final = {"vectors": "Qwen/Qwen3-0.6B", "relevance": "BAAI/bge-reranker-base"}
_MODEL: Final = "Qwen/Qwen2.5-0.5B-Instruct"
_DATA: Final = {
    "chat": "chat/conversations.jsonl",
    "text": "text/handbook.jsonl",
    "preference": "dpo/preferences.jsonl",
    "feedback": "kto/feedback.jsonl",
    "prompt_completion": "quickstart/tickets.csv",
}
_COLUMNS: Final = {"prompt": "message", "completion": "intent"}
_INTRODUCTION: Final = """\
# What works with what

A tick stands for a combination that `ftc check` accepts. Elsewhere the cell has the code of the
error, which links to the reason and to what to use instead. The tables are made from the rules when
this site is built: each cell is one check of a small spec for two H200. They say what ftc compiles,
not what was run; [how far it is tested](what-it-does.md#how-far-it-is-tested) says that.
"""


def matrix_page() -> str:
    """Return the page with its four tables."""
    return "\n".join((_INTRODUCTION, *_lines())) + "\n"


def _lines() -> Iterator[str]:
    methods = {name: {"method": name} for name in METHODS}
    shardings = {name: {"distribution": name} for name in SHARDINGS}
    exports = {name: {"export": dict(value)} for name, value in EXPORTS.items()}
    objectives = {name: base_spec(name) for name in OBJECTIVES}
    sft = {name: {**base_spec("sft"), "method": name} for name in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spec.json")
        resolver = Resolver()
        for title, corner, rows, columns in (
            ("Objective and method", "objective", objectives, methods),
            ("Objective and sharding", "objective", objectives, shardings),
            ("Method and sharding", "method, in SFT", sft, shardings),
            ("Objective and export", "objective", objectives, exports),
        ):
            yield from (f"## {title}", "", f"| {corner} | {' | '.join(columns)} |")
            yield "| --- |" + " :-: |" * len(columns)
            for name, row in rows.items():
                cells = [
                    _cell(find_errors({**row, **column}, path, resolver))
                    for column in columns.values()
                ]
                yield f"| {name} | {' | '.join(cells)} |"
            yield ""


def base_spec(objective: ObjectiveType) -> dict[str, Any]:
    """Return a spec of an objective that the rules accept, with LoRA and without an export."""
    entry = OBJECTIVES[objective]
    form = next(form for form in entry.forms if form in _DATA)
    data: dict[str, Any] = {"source": str(ROOT / "examples" / _DATA[form])}
    if form == "prompt_completion":
        data["columns"] = _COLUMNS
    said: dict[str, Any] = {"type": objective}
    if has_teacher(objective):
        said["teacher"] = "Qwen/Qwen2.5-1.5B-Instruct"
    if entry.rewards:
        said["rewards"] = ["exact"]
    model = _MODELS.get(entry.head, _MODEL)
    return {"name": "matrix", "model": model, "data": data, "objective": said,
            "method": "lora", "hardware": _HARDWARE}  # fmt: skip


def find_errors(spec: Mapping[str, Any], path: Path, resolver: Resolver) -> Sequence[str]:
    """Return the codes of the errors of a spec, which is written to `path`."""
    path.write_text(json.dumps(spec), encoding="utf-8")
    outcome = check(str(path), resolver=resolver)
    return sorted({each.code for each in outcome.findings if each.severity == "error"})


def _cell(codes: Sequence[str]) -> str:
    return ", ".join(f"[{code}](rules/{code}.md)" for code in codes) or "✓"
