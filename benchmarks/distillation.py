"""Compares a distilled student with its start, and with plain SFT for as many steps.

    python -m benchmarks.distillation              # writes benchmarks/distillation.md
    python -m benchmarks.distillation --folder run # kept there, and resumed from there

The task is that of `benchmarks.learning`'s `grpo`: a line of a solution of GSM8K is given, and its
result is to be read off. The student is a Llama with 0.6 million random weights that `sft` trained
for a few steps, the teacher a Llama of 1.8 million that `sft` trained for many. Its embedding has
more rows than the student's, as larger models of a family often have. The same student is then
trained on by each objective that has a teacher, and by `sft` on the answers in the data. Every run
is a compiled bundle, started by its `run.sh`. Reads ../shared/data, or the data folder that
FTC_SHARED names.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import learning, learning_specs
from benchmarks.gsm8k import DATA, make_model
from benchmarks.rehearsals import describe_machine
from ftc.compiler.knowledge.objectives import OBJECTIVES, has_teacher
from ftc.spec.sections import ObjectiveType

REPORT: Final = Path(__file__).with_name("distillation.md")
_TEACHER: Final = {"hidden_size": 256, "intermediate_size": 768, "num_attention_heads": 4}
_TOKENS, _MORE_ROWS = 1024, 128
_ALIKE: Final = ("numeric_match", "loss")  # of every model, on the same held-out rows
_SEEDS: Final = (42,)
_MORE: Final = {
    "max_steps": 120,
    "global_batch": 32,
    "learning_rate": 0.001,
    "evaluation": {"every_steps": 30},
}
TAUGHT: Final = tuple(name for name in OBJECTIVES if has_teacher(name))


def _teach(objective: ObjectiveType) -> dict[str, Any]:
    """Return the section of an objective with a teacher; answers are short."""
    short = {"answer_tokens": 8} if OBJECTIVES[objective].samples else {}
    return {"type": objective, "teacher": "./teacher", **short}


_SPECS: Final[Mapping[str, Mapping[str, Any]]] = {
    "teacher": {
        "model": "./large",
        "data": learning_specs.SPECS["results"]["data"],
        "method": "full",
        "training": {
            "max_steps": 900,
            "global_batch": 32,
            "learning_rate": 0.002,
            "evaluation": {"every_steps": 150},
        },
    },
    **{
        f"{name}-{seed}": {
            "model": "./results",
            "data": learning_specs.SPECS["results"]["data"],
            "objective": objective,
            "method": "full",
            "training": {**_MORE, "seed": seed},
        }
        for name, objective in (*((name, _teach(name)) for name in TAUGHT), ("sft", "sft"))
        for seed in _SEEDS
    },
}


def write_inputs(folder: Path) -> None:
    """Write the rows and both models; the teacher's embedding gets more rows."""
    from transformers import LlamaForCausalLM  # noqa: PLC0415 - takes seconds

    learning.write_inputs(folder, DATA)
    solved = [json.loads(line) for line in learning.read_lines(DATA / "gsm8k_train.jsonl")]
    texts = [f"{row['question']}\n{row['answer']}" for row in solved]
    make_model(folder / "large", texts, tokens=_TOKENS, **_TEACHER)
    large = LlamaForCausalLM.from_pretrained(folder / "large")
    large.resize_token_embeddings(_TOKENS + _MORE_ROWS)
    large.save_pretrained(folder / "large")


def compare(folder: Path) -> dict[str, dict[str, float]]:
    """Run all bundles; return what `evaluate.py` of a distillation says of each model."""
    learning.run_bundle(folder, "results", learning_specs.SPECS["results"])
    for name, spec in _SPECS.items():
        print(learning.run_bundle(folder, name, spec), flush=True)
    judge = folder / f"distill-{_SEEDS[0]}"
    names = {"start": "results", **{name: name for name in _SPECS if name != "teacher"}}
    own = _read_report(folder / "teacher")
    found = {"teacher": {"divergence": 0.0, **{name: own[name] for name in _ALIKE}}}
    for name, bundle in names.items():
        place = folder / bundle
        merged = place / "run/merged"
        judged = _read_report(place) if place == judge else learning.judge_another(judge, merged)
        found[name] = dict(judged)
        print(name, found[name], flush=True)
    return found


def _read_report(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundle / "run/evaluate/report.json").read_bytes())
    return found


def report(found: Mapping[str, Mapping[str, float]], rows: Mapping[str, int]) -> str:
    """Return the page: what was measured of each model on the same held-out rows."""
    had, steps = _SPECS["teacher"]["training"]["max_steps"], _MORE["max_steps"]
    lines = f"""# A distilled student beside plain SFT

`python -m benchmarks.distillation` {describe_machine()}

GSM8K (MIT): the last lines of its solutions, {rows["train"]:,} to train on, {rows["test"]:,} held
out. The student (0.6 million weights) starts from 110 steps of `sft`; the teacher (1.8 million) had
{had}. {", ".join(f"`{name}`" for name in TAUGHT)} and `sft` then train that student for {steps}
steps of {_MORE["global_batch"]} rows at one learning rate, with one seed. The teacher's embedding
has 1,152 rows, the student's 1,024: the bundle drops the others. The divergence is the reverse KL
from the teacher, in nats per token of the answers in the data, which `distill` never reads in
training.

| model | divergence from the teacher | right answers | loss of the data's answers |
| --- | ---: | ---: | ---: |
""".splitlines()
    for name, numbers in found.items():
        cells = (f"{numbers[key]:.4f}" for key in ("divergence", *_ALIKE))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, and write the report."""
    parser = argparse.ArgumentParser(description="Distillation beside plain SFT.")
    parser.add_argument("--folder", type=Path, help="the folder where runs are kept and resumed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ftc-distillation-") as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        if not (folder / "large").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            write_inputs(folder)
        found = compare(folder)
        split = json.loads((folder / f"distill-{_SEEDS[0]}/run/data/report.json").read_bytes())
    page = report(found, split["splits"])
    REPORT.write_text(page, encoding="utf-8")
    print(page)
    start = found["start"]["divergence"]
    closer = all(
        found[f"{name}-{seed}"]["divergence"] < start for name in TAUGHT for seed in _SEEDS
    )
    return 0 if closer else 1


if __name__ == "__main__":
    sys.exit(main())
