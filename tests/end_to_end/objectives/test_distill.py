"""A distillation in miniature: the student comes closer to its teacher, whose rows are cut.

Run by its stages alone, without a launcher: most of what these cost are their imports.
"""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.end_to_end.process import Ended, compile_spec, read_json, run

ASKED = [f"What is {n} plus {n}?" for n in range(200)]
ANSWERED = [{"prompt": text, "completion": str(2 * n)} for n, text in enumerate(ASKED)]
STEPS = 30
MORE_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """A bundle after its stages, and what the last one printed."""

    bundle: Path
    ended: Ended

    def read(self, name: str) -> Any:
        """Read a JSON file of the run."""
        return read_json(self.bundle / "run" / name)


def make_teacher(folder: Path, model: Path) -> None:
    """Write a wider model of the same tokenizer with random weights and more rows than tokens."""
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    config = LlamaConfig.from_pretrained(model)
    config.vocab_size += MORE_ROWS
    config.hidden_size, config.initializer_range = 2 * config.hidden_size, 0.2
    torch.manual_seed(5)
    LlamaForCausalLM(config).save_pretrained(folder)


def distil(folder: Path, model: Path, rows: list[dict[str, Any]], **objective: Any) -> Taught:
    """Distil a random teacher: its words are nonsense, and its probabilities can be learned."""
    (folder / "model").symlink_to(model)
    make_teacher(folder / "teacher", model)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sums.jsonl").write_text(text, encoding="utf-8")
    spec = {
        "name": "taught",
        "model": "./model",
        "data": {"source": "sums.jsonl", "splits": {"test": 0.1, "validation": 0.1}},
        "hardware": "cpu",
        "objective": {"type": "distill", "teacher": "./teacher", **objective},
        "method": "full",
        "training": {
            "max_steps": STEPS,
            "learning_rate": 0.003,
            "global_batch": 16,
            "evaluation": {"every_steps": 10, "metric": "none"},
        },
    }
    bundle = compile_spec(folder, spec)
    for script in (("prepare.py",), ("train.py",), ("export.py", "--merge"), ("evaluate.py",)):
        ended = run(sys.executable, *script, cwd=bundle)
        assert ended.code == 0, ended.said
    return Taught(bundle=bundle, ended=ended)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Taught:
    """Distil with prompts alone: what the student answers is judged, while training and after."""
    rows = [{"messages": [{"role": "user", "content": text}]} for text in ASKED]
    return distil(tmp_path_factory.mktemp("distill"), model, rows, answer_tokens=4)


@pytest.mark.prove
def test_the_student_comes_closer_to_its_teacher(taught: Taught) -> None:
    """On answers that it sampled, on held-out ones while training, and on the test split."""
    curve = taught.read("train/curve.json")
    trained = [loss for _, loss in curve["train"]]
    seen = [loss for _, loss in curve["validation"]]
    report = taught.read("evaluate/report.json")

    assert sum(trained[-5:]) < 0.95 * sum(trained[:5])
    assert curve["shipped"] == pytest.approx(min(seen), rel=1e-4)
    assert curve["shipped"] < 0.95 * curve["before"]
    assert curve["metric"] == "loss"
    assert report["divergence"] < 0.95 * report["base"]["divergence"]


@pytest.mark.prove
def test_evaluations_measure_one_divergence(taught: Taught) -> None:
    """That of the trainer's own loss on validation rows, and evaluate.py's of test rows, agree."""
    curve, report = taught.read("train/curve.json"), taught.read("evaluate/report.json")

    assert report["base"]["divergence"] == pytest.approx(curve["before"], rel=0.05)
    assert report["divergence"] == pytest.approx(curve["shipped"], rel=0.1)
    assert "divergence from the teacher" in taught.ended.out


@pytest.mark.prove
def test_the_student_keeps_its_own_rows(taught: Taught, model: Path) -> None:
    """The result has the vocabulary of the model, not that of the teacher."""
    merged = read_json(taught.bundle / "run/merged/config.json")
    own = read_json(model / "config.json")["vocab_size"]

    assert merged["vocab_size"] == own
    assert read_json(taught.bundle.parent / "teacher/config.json")["vocab_size"] == own + MORE_ROWS


@pytest.mark.prove_all
def test_answers_in_the_data_are_judged(tmp_path: Path, model: Path) -> None:
    """Where there are some, the divergence is measured on them."""
    answered = distil(tmp_path, model, ANSWERED, answer_tokens=4)

    test_the_student_comes_closer_to_its_teacher(answered)
    test_evaluations_measure_one_divergence(answered)
    assert answered.read("evaluate/report.json")["loss"] > 0


@pytest.mark.prove
def test_answers_in_the_data_are_learned_as_the_teacher_reads_them(
    tmp_path: Path, model: Path
) -> None:
    """By `gkd`, which generates none: its loss is the divergence that evaluations measure."""
    given = distil(tmp_path, model, ANSWERED, type="gkd")

    test_the_student_comes_closer_to_its_teacher(given)
    test_evaluations_measure_one_divergence(given)
    assert given.read("train/curve.json")["train"][0][1] == pytest.approx(
        given.read("train/curve.json")["before"], rel=0.1
    )
