"""Methods, optimizers and schedules in miniature: the right weights change, and merging is correct.

All bundles run in one process, since importing the libraries takes longer than any of them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import compile_bundle, write
from tests.end_to_end.process import ROOT, run, write_json
from tests.tiny_models import add_to, write_model, write_rows

pytestmark = pytest.mark.prove

HERE: Final = Path(__file__).parent
SMALL: Final = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "initializer_range": 0.1,
    "torch_dtype": "float32",
}
EXPERTS: Final = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "head_dim": 16,
}
#: For each bundle its model, its method and what its training says beside the number of steps.
CASES: Final[Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "freeze": ("plain", {"type": "freeze", "layers": [1]}, {"optimizer": "adafactor"}),
    "freeze-head": (
        "plain",
        {"type": "freeze", "layers": 1, "also_train": ["head"]},
        {"schedule": "inverse_sqrt", "warmup": 0.2, "embedding_learning_rate": 0.02},
    ),
    "dora": ("plain", {"type": "lora", "dora": True}, {"optimizer": "lion_8bit"}),
    "rslora": (
        "tied",
        {"type": "lora", "rslora": True, "also_train": ["embeddings"], "loraplus_ratio": 4},
        {"optimizer": "paged_adamw_8bit", "embedding_learning_rate": 0.002},
    ),
    "pissa": (
        "plain",
        {"type": "lora", "init": "pissa", "rslora": True},
        {"schedule": "warmup_stable_decay", "decay": 0.25, "learning_rate_floor": 0.1},
    ),
    "olora": ("plain", {"type": "lora", "init": "olora"}, {"schedule": "cosine_with_restarts"}),
    "pattern": (
        "plain",
        {"type": "lora", "target_pattern": ".*layers\\.1\\..*_proj"},
        {"schedule": "polynomial", "learning_rate_floor": 0.2, "label_smoothing": 0.1},
    ),
    "experts": ("mixture", {"type": "lora", "experts": True}, {"neftune": 5}),
    "int8": ("plain", {"type": "qlora", "quantization": "int8"}, {"optimizer": "lion"}),
    "tokens": (
        "plain",
        {"type": "lora"},
        {"embedding_learning_rate": 0.1, "loader_workers": 1, "loader_prefetch": 4},
    ),
    "tokens-tied": ("tied", {"type": "lora", "dora": True, "loraplus_ratio": 2}, {}),
    "sgd": ("plain", {"type": "full"}, {"optimizer": "sgd", "learning_rate": 0.2}),
}
NEW: Final = ["refund", "<late>"]  # an answer of the rows, and a word that no row has
Results = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return what became of every bundle."""
    pytest.importorskip("bitsandbytes")
    folder = tmp_path_factory.mktemp("methods")
    write_rows(folder)
    settings: Mapping[str, Mapping[str, Any]] = {
        "plain": {},
        "tied": {"tie_word_embeddings": True},
        "mixture": EXPERTS,
    }
    for name, more in settings.items():
        add_to(write_model(folder / name) / "config.json", **SMALL, **more)
    planned = {name: _compile(folder, name) for name in CASES}
    models = [folder / name for name in settings]
    built = run(sys.executable, HERE.parent / "builders/build_models.py", *models, cwd=folder)
    assert built.code == 0, built.said
    bundles = [folder / name for name in CASES]
    ended = run(sys.executable, "-m", "tests.end_to_end.methods.run_methods", *bundles, cwd=ROOT)
    assert ended.code == 0, ended.said
    found = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    return {each["name"]: {**each, "planned": planned[each["name"]]} for each in found}


def _compile(folder: Path, name: str) -> int:
    """Write the bundle; return how many weights the plan says will move."""
    model, method, training = CASES[name]
    rate = {} if "learning_rate" in training else {"learning_rate": 0.01}
    spec = {
        "name": name,
        "model": {"id": f"./{model}", "new_tokens": NEW if name.startswith("tokens") else []},
        "data": {"source": "tickets.csv", "max_rows": 120},
        "hardware": "cpu",
        "method": method,
        "training": {"max_steps": 12, "global_batch": 8, "seed": 7, **rate, **training},
    }
    path = folder / f"{name}.json"
    write_json(path, spec)
    outcome = compile_bundle(str(path))
    assert outcome.plan is not None, outcome.findings
    write(outcome)
    return outcome.plan.trainable_parameters


@pytest.mark.parametrize("name", CASES)
def test_the_loss_falls_and_merging_is_right(results: Results, name: str) -> None:
    """The merged folder, read again, answers as the trained model did, and not as the base."""
    found = results[name]

    assert found["losses"][-1] < found["losses"][0]
    assert found["base"] > 0.01
    assert found["merged"] < found["base"] / 100
    assert found["trainable"] == found["planned"]


@pytest.mark.parametrize("name", ["freeze", "freeze-head"])
def test_what_is_frozen_is_bit_identical(results: Results, name: str) -> None:
    """Every weight outside of what is trained stays; every matrix in it moves."""
    found = results[name]
    trained = ("model.layers.1.",) if name == "freeze" else ("model.layers.1.", "lm_head.")

    assert [each for each in found["moved"] if not each.startswith(trained)] == []
    assert [each for each in found["kept"] if each.startswith(trained) and "norm" not in each] == []
    assert all(each.startswith(trained) for each in found["moving"])


def test_a_pattern_reaches_one_layer(results: Results) -> None:
    """Only the second layer's linear modules are merged into."""
    moved = results["pattern"]["moved"]
    assert len(moved) == 7
    assert all(name.startswith("model.layers.1.") and "_proj" in name for name in moved)


def test_parts_and_experts_move(results: Results) -> None:
    """A tied embedding that is trained whole, and the tensors of experts."""
    assert "model.embed_tokens.weight" in results["rslora"]["moved"]
    assert "model.layers.0.mlp.experts.down_proj" in " ".join(results["experts"]["moved"])


@pytest.mark.parametrize("name", ["tokens", "tokens-tied"])
def test_new_tokens_are_trained_and_kept(results: Results, name: str) -> None:
    """The merged folder's tokenizer has them, and their rows are no longer those of a resizing."""
    found = results[name]

    assert [found["pieces"][word] for word in NEW] == [1, 1]
    assert found["rows"] == found["base_rows"] + len(NEW)
    assert found["drift"] > 0.01
    assert results["dora"]["rows"] == results["dora"]["base_rows"]


def test_optimisers_and_rates_are_those_asked_for(results: Results) -> None:
    """The classes that the Trainer made, and the ends of the curves."""
    names = {name: found["optimizer"] for name, found in results.items()}
    assert names["freeze"] == "Adafactor"
    assert names["dora"] == names["int8"] == "Lion"
    assert (names["sgd"], names["rslora"]) == ("SGD", "AdamW")
    assert results["pattern"]["rate"][-1] == pytest.approx(0.002, rel=0.4)
    assert 0.001 <= results["pissa"]["rate"][-1] < 0.005
    assert max(results["olora"]["rate"][6:]) > results["olora"]["rate"][5]


def test_parts_have_rates_of_their_own(results: Results) -> None:
    """LoRA's second matrices, embeddings, head and new tokens; all others keep the one rate."""
    expected: dict[str, dict[str, float]] = {
        "rslora": {"lora_A": 0.01, "lora_B": 0.04, "embed_tokens": 0.002},
        "freeze-head": {"other": 0.01, "lm_head": 0.02},
        "tokens": {"lora_A": 0.01, "lora_B": 0.01, "embed_tokens": 0.1, "lm_head": 0.1},
        "tokens-tied": {
            "lora_A": 0.01, "lora_B": 0.02, "lora_magnitude_vector": 0.02, "embed_tokens": 0.01
        },
        "pissa": {"lora_A": 0.01, "lora_B": 0.01},
    }  # fmt: skip
    for name, rates in expected.items():
        assert results[name]["peaks"] == {part: [rate] for part, rate in rates.items()}, name
