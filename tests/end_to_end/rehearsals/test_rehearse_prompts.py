"""`ftc rehearse` of prompts alone: from a config and a tokenizer to a file that answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.process import read_json, rehearse, write_json
from tests.tiny_models import write_model

STAGES: Final = (
    *("compile", "miniature", "prepare", "train", "resume", "merge", "evaluate"),
    *("convert", "tokens", "quantize", "report", "compare", "answer"),
)


def write_inputs(folder: Path, shared: Path) -> None:
    """Write a model and a teacher without weights and chat template, and real questions alone."""
    for name in ("model", "teacher"):
        (folder / name).mkdir()
        write_model(folder / name)
        path = folder / name / "tokenizer_config.json"
        settings = {k: v for k, v in read_json(path).items() if k != "chat_template"}
        write_json(path, settings)
    lines = (shared / "data" / "gsm8k_train.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [{"prompt": json.loads(line)["question"]} for line in lines[:300]]
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")


@pytest.mark.prove_all
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("objective", "judged"),
    [
        ({"type": "grpo", "rewards": [{"regex": "[0-9]"}]}, "mean reward "),
        ({"type": "distill", "teacher": "./teacher"}, "divergence from the teacher "),
    ],
)
def test_every_stage_ends_well(
    tmp_path: Path, shared: Path, sdist: Path, objective: Mapping[str, Any], judged: str
) -> None:
    """The model's own answers are judged, and the file answers without a chat template."""
    write_inputs(tmp_path, shared)
    spec = {
        "name": "prompts",
        "model": "./model",
        "data": "prompts.jsonl",
        "objective": {**objective, "answer_tokens": 16},
        "method": "lora",
        "hardware": "1x RTX-4090",
        "export": ["Q8_0"],
    }
    stages = rehearse(tmp_path, spec, sdist)

    assert set(STAGES) <= set(stages)
    assert stages["evaluate"]["result"].startswith(judged)
