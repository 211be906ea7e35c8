"""Heads that score, in miniature: labels are learned, named in the model, told as in training."""

import csv
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run, run_together

STEPS = 50
TRAINING = {
    "max_steps": STEPS,
    "global_batch": 16,
    "learning_rate": 0.003,
    "evaluation": {"every_steps": 25},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """A bundle of a classification after its run, and what each of its stages said."""

    bundle: Path
    ended: Ended

    def read(self, name: str) -> Any:
        """Read a JSON file of the run."""
        return read_json(self.bundle / "run" / name)


@pytest.fixture(scope="module")
def classified(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]
) -> Classified:
    """Train a LoRA adapter and a head on the tickets of four intents, one of them rare."""
    folder = tmp_path_factory.mktemp("classification")
    (folder / "model").symlink_to(model)
    header, *rows = tickets
    rare = [row for row in rows if row[1] == "damaged_item"][24:]
    write_table(folder / "tickets.csv", [header, *(row for row in rows if row not in rare)])
    spec = {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "objective": "classification",
        "method": {"type": "lora", "rank": 16},
        "training": TRAINING,
    }
    bundle = compile_spec(folder, spec)
    return Classified(bundle=bundle, ended=run_together(bundle))


@pytest.mark.prove
def test_labels_are_learned(classified: Classified) -> None:
    """The loss falls, and macro-F1 is above what saying the most common label would give."""
    assert classified.ended.code == 0, classified.ended.said
    losses = [loss for _, loss in classified.read("train/curve.json")["train"]]
    report = classified.read("evaluate/report.json")

    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert report["macro_f1"] > 1.5 * report["majority_macro_f1"]
    assert report["accuracy"] > report["majority_class"]
    assert report["labels"] == 4


@pytest.mark.prove
def test_rare_labels_count_as_much(classified: Classified) -> None:
    """The plan sees that one label is rare, and the script weighs by what the split holds."""
    decided = read_json(classified.bundle / "ftc.lock.json")["decisions"]
    labels = read_rows(classified.bundle / "run/data/labels.jsonl")

    assert decided["class_weights"] == {"value": "balanced", "source": "derived"}
    assert decided["metric"]["value"] == "macro_f1"
    assert 10 < min(label["train"] for label in labels) < 25
    assert all(label["test"] and label["validation"] for label in labels)
    assert "labels.balance(found)" in (classified.bundle / "train.py").read_text()
    best = classified.read("train/curve.json")["best_step"]
    said = dict(re.findall(r"step (\d+) of .*: validation macro-F1 ([\d.]+)", classified.ended.err))
    assert said[str(best)] == max(said.values())


@pytest.mark.prove
def test_what_is_frozen_stays(classified: Classified, model: Path) -> None:
    """Norms and embeddings are the base's, bit for bit; the planned number of weights moved."""
    torch, load = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch").load_file
    base = load(model / "model.safetensors")
    merged = load(classified.bundle / "run/merged/model.safetensors")
    trained = load(classified.bundle / "run/train/model/adapter_model.safetensors")

    frozen = [name for name in merged if "norm" in name or "embed" in name]
    assert len(frozen) > 4
    for name in frozen:
        assert torch.equal(merged[name], base[name].to(merged[name].dtype)), name
    assert set(merged) - set(base) == {"score.weight"}
    planned = read_plan(classified.bundle)
    assert sum(weight.numel() for weight in trained.values()) == planned
    head = next(weight for name, weight in trained.items() if name.endswith("score.weight"))
    assert torch.equal(merged["score.weight"], head.to(merged["score.weight"].dtype))


def read_plan(bundle: Path) -> int:
    """Return how many weights the plan says that move."""
    text = run("ftc", "plan", "../spec.json", "--format", "json", cwd=bundle)
    return int(re.findall(r'"trainable_parameters": (\d+)', text.out)[0])


@pytest.mark.prove
def test_the_model_names_its_labels(classified: Classified, tickets: list[list[str]]) -> None:
    """What `ask.py` says is what transformers' own pipeline says, alone and in a batch."""
    transformers = pytest.importorskip("transformers")
    merged = classified.bundle / "run/merged"
    texts = [row[0].strip() for row in tickets[1:9]]
    names = sorted({row[1] for row in tickets[1:]})

    config = read_json(merged / "config.json")
    pipeline = transformers.pipeline("text-classification", model=str(merged), device="cpu")
    alone = [pipeline(text)[0] for text in texts]
    together = pipeline(texts, batch_size=4)
    asked = run(sys.executable, "ask.py", texts[0], cwd=classified.bundle)

    assert config["architectures"] == ["LlamaForSequenceClassification"]
    assert [config["id2label"][str(number)] for number in range(4)] == names
    assert config["label2id"] == {name: number for number, name in enumerate(names)}
    assert config["pad_token_id"] is not None
    assert [each["label"] for each in alone] == [each["label"] for each in together]
    share, label = asked.out.splitlines()[0].split(maxsplit=1)
    assert label == alone[0]["label"], asked.said
    assert abs(float(share.rstrip("%")) / 100 - alone[0]["score"]) < 0.01
    assert len(asked.out.splitlines()) == 4


@pytest.fixture(scope="module")
def rewarded(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Classified:
    """Train a reward model on answers of which the helpful one is the better."""
    folder = tmp_path_factory.mktemp("reward")
    (folder / "model").symlink_to(model)
    rows = [
        {
            "prompt": f"where is my parcel number {n}?",
            "chosen": f"the parcel {n} is on its way, please wait until Monday",
            "rejected": f"I do not know where {n} is",
        }
        for n in range(160)
    ]
    lines = [json.dumps(row) for row in rows]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    spec = {
        "name": "judge",
        "model": "./model",
        "data": "answers.jsonl",
        "hardware": "cpu",
        "objective": "reward",
        "method": {"type": "lora", "rank": 8},
        "training": {
            "max_steps": 24,
            "global_batch": 8,
            "learning_rate": 0.003,
            "evaluation": {"every_steps": 12},
        },
    }
    bundle = compile_spec(folder, spec)
    return Classified(bundle=bundle, ended=run_together(bundle))


@pytest.mark.prove
def test_rewards_are_learned(rewarded: Classified, model: Path) -> None:
    """The loss falls far below chance, the better answer is rewarded more, the rest stays."""
    torch, load = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch").load_file
    assert rewarded.ended.code == 0, rewarded.ended.said
    losses = [loss for _, loss in rewarded.read("train/curve.json")["train"]]
    report = rewarded.read("evaluate/report.json")

    assert sum(losses[-4:]) < 0.5 * sum(losses[:4])
    assert report["reward_accuracy"] > 0.9
    assert report["reward_margin"] > 0
    base = load(model / "model.safetensors")
    merged = load(rewarded.bundle / "run/merged/model.safetensors")
    frozen = [name for name in merged if "norm" in name or "embed" in name]
    assert all(torch.equal(merged[n], base[n].to(merged[n].dtype)) for n in frozen)
    assert merged["score.weight"].shape[0] == 1


@pytest.mark.prove
def test_rewards_are_asked_as_they_were_trained(rewarded: Classified) -> None:
    """`ask.py` reads question and answer as the rows were read: the better one has more."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    merged = rewarded.bundle / "run/merged"
    judge = transformers.AutoModelForSequenceClassification.from_pretrained(merged, dtype="auto")
    row = read_rows(rewarded.bundle / "run/data/test.jsonl")[0]
    question = row["messages"][0]["content"]

    told = run(sys.executable, "ask.py", question, row["answer"], cwd=rewarded.bundle)
    worse = run(sys.executable, "ask.py", question, "I do not know", cwd=rewarded.bundle)
    with torch.inference_mode():
        reward = judge(torch.tensor([row["chosen_ids"]])).logits.item()

    assert told.code == 0, told.said
    assert abs(float(told.out) - reward) < 0.01
    assert float(told.out) > float(worse.out)


@pytest.mark.prove_all
@pytest.mark.timeout(3600)
def test_banking77(tmp_path: Path, shared: Path) -> None:
    """Real messages of 77 intents: macro-F1 beats chance and the most common label far."""
    with (shared / "data/banking77_train.csv").open(encoding="utf-8", newline="") as file:
        rows = [[row["text"], row["category"]] for row in csv.DictReader(file)]
    write_table(tmp_path / "first.csv", [["text", "category"], *rows])
    built = run(
        sys.executable, Path(__file__).parents[3] / "examples/quickstart/make_model.py",
        "--out", tmp_path / "model", cwd=tmp_path,
    )  # fmt: skip
    assert built.code == 0, built.said
    spec = {
        "name": "banking",
        "model": "./model",
        "data": "first.csv",
        "hardware": "cpu",
        "objective": "classification",
        "method": "full",
        "training": {"max_steps": 600, "global_batch": 32, "learning_rate": 0.001},
    }
    bundle = compile_spec(tmp_path, spec)
    ended = run("./run.sh", cwd=bundle)
    assert ended.code == 0, ended.said
    report = read_json(bundle / "run/evaluate/report.json")
    assert report["labels"] == 77
    assert report["macro_f1"] > 0.7
    assert report["macro_f1"] > 20 * report["majority_macro_f1"]
    assert report["accuracy"] > 20 * report["chance"]
