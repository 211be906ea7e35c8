"""GRPO whose weights are sharded, with the answers of a stand-in for vLLM.

Bundles that are compiled for GPUs train in fp32 on two processes of a CPU, by `engine_on_cpu.py`.
They show how TRL gives whole weights away, and nothing of vLLM.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.vllm_engine import PORTS
from tests.end_to_end.process import compile_spec, read_json, run

SHIM = Path(__file__).with_name("engine_on_cpu.py")
LAUNCH = ("accelerate", "launch", "--config_file", "accelerate.yaml")
STEPS = 3
MOST = 1e-4  # nats per token; measured at 1e-6
OBJECTIVE: dict[str, Any] = {
    "type": "grpo",
    "rewards": [{"regex": "^[a-m]"}],
    "num_generations": 4,
    "answer_tokens": 4,
}
SPEC: dict[str, Any] = {
    "model": "./model",
    "data": "sums.jsonl",
    "method": "full",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 4,
        "precision": "fp32",
        "learning_rate": 0.002,
        "evaluation": {"every_steps": STEPS},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """Return a folder with the model and the prompts."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "model").symlink_to(model)
    rows = [{"prompt": f"What is {n} plus {n}?", "completion": str(2 * n)} for n in range(40)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "sums.jsonl").write_text(text, encoding="utf-8")
    return folder


def hold_whole(folder: Path, mode: str, strategy: str) -> None:
    """Train, and assert that those that write have the weights that are trained, at each step.

    TRL compares the log-probabilities of each answer's tokens by both.
    """
    spec = {
        **SPEC,
        "name": f"{mode}-{strategy}",
        "objective": {**OBJECTIVE, "vllm": mode},
        "hardware": {"gpu": "A100-80GB", "count": 3 if mode == "server" else 2, "ram_gib": 200},
        "distribution": strategy,
    }
    bundle = compile_spec(folder, spec, name=f"{spec['name']}.json")
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    extra = {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1", PORTS: "1,2"}
    ended = run(*LAUNCH, SHIM, "train.py", cwd=bundle, extra=extra)
    assert ended.code == 0, ended.said
    assert "x 2 processes" in ended.out
    state = read_json(bundle / f"run/train/checkpoints/checkpoint-{STEPS}/trainer_state.json")
    names = ("sampling/sampling_logp_difference/max", "eval_sampling/sampling_logp_difference/max")
    found = [each[name] for each in state["log_history"] for name in names if name in each]
    assert len(found) == STEPS + 2
    assert max(found) < MOST


@pytest.mark.prove
def test_a_server_gets_whole_weights_of_shards(folder: Path) -> None:
    """All of them, from the first process, and at every step those that are trained."""
    hold_whole(folder, "server", "zero3")


@pytest.mark.prove_all
@pytest.mark.parametrize(("mode", "strategy"), [("server", "fsdp"), ("colocate", "zero3")])
def test_whole_weights_of_other_shards(folder: Path, mode: str, strategy: str) -> None:
    """So it is under FSDP2, and where each process writes answers of its own."""
    hold_whole(folder, mode, strategy)
