"""Merge a random adapter into each folder, and read the result in every way it may be read.

    python merge_layouts.py CONVERTER JOB...

CONVERTER is the folder of `convert_hf_to_gguf.py`, or `none`. A JOB is a JSON file: the `base` as
build_wrapped.py makes one, the `targets` of the adapter, its `parameters` (experts), and the Auto
classes that `read` the base. Prints one JSON object per job: the tensors that the merge `changed`,
the files that are the base's `same` bytes, the type and the distance of what each class reads, and
that of the 16-bit GGUF, in nats per token.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from llama_cpp import Llama
from peft import LoraConfig, get_peft_model

from ftc.runtime.language_models import find_class
from ftc.runtime.merge.adapter_merging import merge_adapter
from ftc.runtime.merge.language_model import LANGUAGE_MODEL
from ftc.runtime.merge.merging import Job
from ftc.runtime.merge.safetensors_files import read_weights
from ftc.runtime.run import Run

transformers: Any = import_module("transformers")
IDS = [1, 40, 9, 77, 120, 33, 64, 5]


def train(job: dict[str, Any], base: Path, folder: Path) -> torch.Tensor:
    """Save an adapter whose matrices are random; return what the adapted model says of IDS."""
    torch.manual_seed(1)
    model: Any = find_class(base).from_pretrained(base, dtype=torch.float32)
    settings: dict[str, Any] = {
        "r": 4,
        "lora_alpha": 8,
        "init_lora_weights": False,
        "task_type": "CAUSAL_LM",
    }
    if "parameters" in job:
        settings["target_parameters"] = job["parameters"]
    adapted: Any = get_peft_model(model, LoraConfig(target_modules=job["targets"], **settings))
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            weight.data *= 0.3
    adapted.save_pretrained(folder)
    return say(adapted)


@torch.no_grad()
def say(model: Any) -> torch.Tensor:
    """Return the log-probabilities after each of IDS."""
    logits: torch.Tensor = model.eval()(torch.tensor([IDS])).logits[0].float()
    return torch.log_softmax(logits, dim=-1)


def apart(first: torch.Tensor, second: torch.Tensor) -> float:
    """Return the mean KL divergence of the second from the first."""
    return float((first.exp() * (first - second)).sum(dim=-1).mean())


def convert(folder: Path) -> torch.Tensor:
    """Return the log-probabilities of the folder's GGUF in F16."""
    file = folder.parent / "model.gguf"
    sys.argv = ["convert_hf_to_gguf.py", str(folder), "--outfile", str(file), "--outtype", "f16"]
    import_module("convert_hf_to_gguf").main()
    llama = Llama(str(file), n_ctx=64, logits_all=True, verbose=False)
    llama.eval(IDS)
    return torch.log_softmax(torch.tensor(llama.scores[: len(IDS)]).float(), dim=-1)


def judge(path: Path, *, converts: bool) -> dict[str, Any]:
    """Return what became of one job."""
    job = json.loads(path.read_text(encoding="utf-8"))
    base, bundle = Path(job["base"]), path.with_suffix("")
    run = Run(bundle, stage="merge", script="export.py")
    trained = train(job, base, run.folder / "train/model")
    (run.folder / "data").mkdir()
    (run.folder / "data/train.jsonl").write_text(json.dumps({"input_ids": IDS}), encoding="utf-8")
    merge_adapter(Job(run=run, base=base, dtype="bfloat16", kind=LANGUAGE_MODEL))
    merged = run.folder / "merged"
    old, new = read_weights(base), read_weights(merged)
    assert old.files == new.files
    assert old.entries == new.entries
    found: dict[str, Any] = {
        "changed": [n for n in old.entries if not torch.equal(old.read(n), new.read(n))],
        "tensors": len(old.entries),
        "same": sorted(
            file.name
            for file in merged.iterdir()
            if file.read_bytes() == (base / file.name).read_bytes()
        ),
        "read": {},
    }
    plain: Any = find_class(base).from_pretrained(base, dtype=torch.float32)
    found["base"] = apart(trained, say(plain))
    for name in job["read"]:
        model = getattr(transformers, name).from_pretrained(merged, dtype=torch.float32)
        found["read"][name] = [type(model).__name__, apart(trained, say(model))]
    if converts and job.get("converts", True):
        found["gguf"] = apart(trained, convert(merged))
    return found


tools = Path(sys.argv[1])
if tools.is_dir():
    sys.path[:0] = [str(tools), str(tools / "gguf-py")]
transformers.logging.set_verbosity_error()
logging.disable(logging.CRITICAL)
out, sys.stdout = sys.stdout, sys.stderr  # libraries may write
for argument in sys.argv[2:]:
    result = {"name": Path(argument).stem, **judge(Path(argument), converts=tools.is_dir())}
    print(json.dumps(result), file=out, flush=True)
