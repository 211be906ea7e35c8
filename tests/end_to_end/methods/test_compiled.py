"""A bundle whose spec asks for `torch.compile` trains the same weights as one without it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.end_to_end.process import compile_spec, read_json, run, train
from tests.tiny_models import write_rows

TOLERANCE = 1e-4  # nats: fused kernels add up in another order


@pytest.mark.prove_all
@pytest.mark.parametrize("method", [{"type": "full"}, {"type": "lora", "dropout": 0}], ids=str)
def test_a_compiled_model_learns_the_same(
    tmp_path: Path, model: Path, method: dict[str, Any]
) -> None:
    """The losses of every step and the trained tensors, compiled and not.

    Without dropout, whose masks a compiled model draws in another order.
    """
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler on a CPU")
    (tmp_path / "model").symlink_to(model)
    write_rows(tmp_path)
    curves, weights = [], []
    for compiled in (False, True):
        spec = {
            "name": f"compiled-{compiled}".lower(),
            "model": "./model",
            "data": {"source": "tickets.csv", "max_rows": 120},
            "hardware": "cpu",
            "method": method,
            "training": {"max_steps": 6, "global_batch": 8, "compile": compiled},
            "export": [],
        }
        bundle = compile_spec(tmp_path, spec, name=f"{compiled}.json")
        assert ("torch_compile=COMPILE" in (bundle / "train.py").read_text("utf-8")) is compiled
        assert run("python", "prepare.py", cwd=bundle).code == 0
        ended = train(bundle)
        assert ended.code == 0, ended.said
        curves.append(read_json(bundle / "run/train/curve.json"))
        (file,) = (bundle / "run/train/model").glob("*.safetensors")
        weights.append(load_file(file))

    plain, fused = curves
    assert [step for step, _ in fused["train"]] == [step for step, _ in plain["train"]]
    for (_, loss), (_, other) in zip(plain["train"], fused["train"], strict=True):
        assert other == pytest.approx(loss, abs=TOLERANCE)
    assert weights[0].keys() == weights[1].keys()
    for name, tensor in weights[0].items():
        assert torch.allclose(weights[1][name], tensor, atol=1e-3), name
