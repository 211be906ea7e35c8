"""Run bundles that compare answers in one process, all stages to the report; say what came of it.

    python -m tests.end_to_end.objectives.compare_answers BUNDLE...

A line of JSON each: the losses, the report of evaluate.py, and whether what must stay frozen did.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from tests.end_to_end.stages import run_stage

STAGES = ("prepare.py", "train.py", "export.py --merge", "evaluate.py")


def is_frozen(trainer: Any, source: Path) -> bool:
    """Whether every weight that must not move is what it was, to the bit.

    Under an adapter that is the base; under a full fine-tune the copy that is the reference.
    """
    base = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).state_dict()
    adapted = hasattr(trainer.model, "peft_config")
    kept = trainer.model if adapted else getattr(trainer, "ref_model", None)
    if kept is None:
        return True
    held = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): weight
        for name, weight in kept.state_dict().items()
        if "lora_" not in name
    }
    return all(torch.equal(base[name], weight) for name, weight in held.items() if name in base)


def judge(bundle: Path) -> dict[str, Any]:
    """Return what became of one bundle."""
    names = {stage: run_stage(bundle, *stage.split()) for stage in STAGES}
    training = names["train.py"]
    curve = json.loads((bundle / "run/train/curve.json").read_text(encoding="utf-8"))
    report = json.loads((bundle / "run/evaluate/report.json").read_text(encoding="utf-8"))
    return {
        "name": bundle.name,
        "losses": [loss for _, loss in curve["train"]],
        "validation": [loss for _, loss in curve["validation"]],
        "source": str(training["source"]),
        "frozen": is_frozen(training["trainer"], training["source"]),
        **report,
    }


for path in [Path(name).resolve() for name in sys.argv[1:]]:
    print(json.dumps(judge(path)), flush=True)  # noqa: T201 - what the test reads
