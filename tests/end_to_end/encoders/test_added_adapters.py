"""Adapters of embedding models and rerankers: their dtype, and two processes that train them."""

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.resolve.facts import known
from tests.compiler.conftest import build_case
from tests.end_to_end.process import compile_spec, read_json, run, train

ENCODERS: Final[Mapping[str, str]] = {"embed": "bert", "rerank": "xlm-roberta"}
GPUS: Final[Mapping[str, Mapping[str, Any]]] = {
    "bf16": {},
    "fp16": {"/facts/hardware/bf16": False, "/facts/hardware/compute_capability": 7.5},
}
#: Run after the statements of train.py that add an adapter to a model in 16 bits.
JUDGE: Final = """
import json
import torch
trained = [weight for weight in model.parameters() if weight.requires_grad]
scaler = torch.amp.GradScaler("cpu")
optimizer = torch.optim.AdamW(trained)
for weight in trained:
    weight.grad = torch.zeros_like(weight)
scaler.scale(torch.zeros(()))
scaler.unscale_(optimizer)
frozen = [weight for weight in model.parameters() if not weight.requires_grad]
types = [sorted({str(weight.dtype) for weight in part}) for part in (trained, frozen)]
print(json.dumps([*types, len(trained)]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Path:
    """Write a miniature of each kind, and pairs of texts."""
    folder = tmp_path_factory.mktemp("added")
    made = [f"{kind}={folder / kind}" for kind in ENCODERS.values()]
    built = run(
        sys.executable,
        "-m",
        "tests.end_to_end.builders.build_encoders",
        sdist,
        *made,
        cwd=Path.cwd(),
    )
    assert built.code == 0, built.said
    rows = [{"query": f"where is parcel {n}?", "passage": f"on shelf {n}"} for n in range(120)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    return folder


def adapt(objective: str, precision: str, model: Path) -> str:
    """Return what train.py does to a model of the planned type, up to its trainer."""
    edits = {
        **GPUS[precision],
        "/spec/objective/type": objective,
        "/spec/method/type": "lora",
        "/spec/export/types": [],
        "/facts/model/architecture": "BertModel",
        "/facts/data/labels": [],
    }
    spec, facts = build_case(edits)
    every = known(facts)
    assert every is not None
    plan = make_plan(spec, every)
    assert plan.decisions.compute.precision.value == precision
    source = BundleSource(
        spec=spec,
        written={"name": spec.name},
        facts=every,
        plan=plan,
        data_path="../tickets.csv",
        model_path=None,
        chat_template=None,
    )
    (script,) = (file.text for file in render_bundle(source) if file.name == "train.py")
    body = ast.parse(script).body
    texts = [ast.unparse(statement) for statement in body]
    first = next(n for n, text in enumerate(texts) if text.startswith("adapter = "))
    last = next(n for n, text in enumerate(texts) if text.startswith("trainer = "))
    targets = "LORA_TARGETS = 'all-linear'"  # the names of the planned model are others
    kept = [
        text
        for statement, text in zip(body, texts, strict=True)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        or text.startswith(("LOAD_DTYPE", "LORA_"))
    ]
    kind = "relevance" if objective == "rerank" else "vectors"
    pooling = "" if objective == "rerank" else "pooling='mean', "
    load = f"model = {kind}.load({str(model)!r}, {pooling}dtype=LOAD_DTYPE)"
    own = ("adapter", "model.add_adapter", "train_in_fp32")
    steps = [text for text in texts[first:last] if text.startswith(own)]
    return "\n".join([*kept, targets, load, *steps])


@pytest.mark.prove
@pytest.mark.parametrize(("objective", "precision"), [("embed", "bf16"), ("rerank", "fp16")])
def test_an_adapter_is_trained_in_32_bits(objective: str, precision: str, folder: Path) -> None:
    """PEFT creates it in the type of the base, whose gradients a loss scaler rejects."""
    model = folder / ENCODERS[objective]
    text = adapt(objective, precision, model).replace("from runtime", "from ftc.runtime") + JUDGE
    done = run(sys.executable, "-c", text, cwd=folder)

    assert done.code == 0, done.said
    trained, frozen, count = json.loads(done.out.splitlines()[-1])
    assert trained == ["torch.float32"]
    assert frozen == ["torch.bfloat16" if precision == "bf16" else "torch.float16"]
    assert count > 0


@pytest.mark.prove_all
@pytest.mark.parametrize("objective", ENCODERS)
def test_texts_on_two_processes(objective: str, folder: Path) -> None:
    """DDP trains the adapter to the end."""
    spec = {
        "name": f"{objective}-on-two",
        "model": f"./{ENCODERS[objective]}",
        "data": "pairs.jsonl",
        "objective": objective,
        "method": "lora",
        "hardware": "2x cpu",
        "training": {
            "max_steps": 2,
            "global_batch": 8,
            "evaluation": {"every_steps": 2, "allow_worse": True},
        },
        "export": [],
    }
    bundle = compile_spec(folder, spec)
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    trained = train(bundle)

    assert trained.code == 0, trained.said
    assert "x 2 processes" in trained.out
    assert read_json(bundle / "run/train/curve.json")["train"][-1][0] == 2
