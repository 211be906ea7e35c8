"""What an importance matrix is worth: run in a bundle's folder after a whole run.

python weigh_columns.py OUT MOE

Takes run/merged with columns as uneven as those of a large model, converts it, and measures the
columns with runtime/llama_cpp/importance.py, and by hooks on the transformers model. Quantizes
with and without what was measured, and says how far each file's next tokens are from the 16-bit
file's. The same columns are then compared in a mixture of experts whose folder is MOE. Prints JSON.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import torch
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path.cwd()))
from runtime.llama_cpp import gguf_file, importance  # noqa: TID251 - those of the bundle
from runtime.run import Run  # noqa: TID251

OUT, MOE = Path(sys.argv[1]), Path(sys.argv[2])
COMPARED = ("IQ1_S", "Q2_K", "IQ3_S", "IQ4_XS")
JUDGED = 24  # rows of the test split
TOKENS = 2048  # of the training rows: quick, and more than the columns
RUN = Run(Path.cwd(), stage="quantize", script="export.py")
WEIGHTS = {
    "blk.0.attn_q.weight": "model.layers.0.self_attn.q_proj",
    "blk.0.ffn_down.weight": "model.layers.0.mlp.down_proj",
    "blk.1.ffn_up.weight": "model.layers.1.mlp.up_proj",
    "blk.1.ffn_down.weight": "model.layers.1.mlp.down_proj",
}


def make_uneven(base: Path, folder: Path) -> Path:
    """Save the same function with outlying columns: what a norm gives more, its weights take less.

    Small models have no such columns; large ones do, and there a matrix is worth most.
    """
    keep = shutil.ignore_patterns("*.safetensors")
    shutil.copytree(base, folder, ignore=keep, dirs_exist_ok=True)
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    torch.manual_seed(0)
    with torch.no_grad():
        for layer in model.model.layers:
            mlp, attention = layer.mlp, layer.self_attn
            readers = {
                layer.input_layernorm: (attention.q_proj, attention.k_proj, attention.v_proj),
                layer.post_attention_layernorm: (mlp.gate_proj, mlp.up_proj),
            }
            for norm, linears in readers.items():
                scale = torch.randn_like(norm.weight).exp()
                norm.weight.mul_(scale)
                for linear in linears:
                    linear.weight.div_(scale)
    model.half().save_pretrained(folder)
    return folder


def convert(folder: Path, out: Path) -> Path:
    """Convert a folder in 16 bits with the converter that the bundle unpacked."""
    (converter,) = Path("run/tools").glob("llama.cpp-*/convert_hf_to_gguf.py")
    command = [sys.executable, str(converter), str(folder), "--outfile", str(out)]
    command += ["--outtype", "auto"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def watch(folder: Path, names: Iterable[str], rows: Iterable[list[int]]) -> Mapping[str, Any]:
    """Return the mean squares of what these modules of the transformers model are given."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    sums: dict[str, Any] = dict.fromkeys(names, 0.0)
    tokens = 0

    def note(name: str) -> Any:
        def hook(_module: Any, given: tuple[Any, ...]) -> None:
            sums[name] = sums[name] + given[0].double().square().sum(
                dim=tuple(range(given[0].dim() - 1))
            )

        return hook

    for name in sums:
        model.get_submodule(name).register_forward_pre_hook(note(name))
    with torch.inference_mode():
        for ids in rows:
            model(torch.tensor([ids]))
            tokens += len(ids)
    return {name: (total / tokens).numpy() for name, total in sums.items()}


def quantize(source: Path, kind: str, matrix: Mapping[bytes, Any] | None) -> Path | None:
    """Return the file of this type, or None where llama.cpp refuses."""
    out = OUT / f"{kind}{'' if matrix is None else '-weighed'}.gguf"
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    if matrix is not None:
        settings.imatrix = importance.make_entries(matrix)
    names = os.fsencode(source), os.fsencode(out)
    return None if llama_cpp.llama_model_quantize(*names, ctypes.byref(settings)) else out


def logits_of(path: Path, rows: Iterable[list[int]]) -> Any:
    """Return the log-probabilities of every next token of these rows."""
    llm = gguf_file.load(RUN, path, 512, on_gpu=False)
    parts = [part.copy() for ids in rows for part in gguf_file.read(RUN, llm, ids, len(ids))]
    llm.close()
    logits = np.concatenate(parts).astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def error(ours: Any, theirs: Any) -> float:
    """Return the largest difference as a share of the largest number."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def main() -> None:
    """Print what was found."""
    everything = RUN.read_rows(Path.cwd() / "run/data/train.jsonl")
    rows = importance.draw_rows(everything, TOKENS)
    folder = make_uneven(Path("run/merged"), OUT / "uneven")
    source = convert(folder, OUT / "source.gguf")
    matrix = importance.measure(RUN, source, rows)
    seen = watch(folder, WEIGHTS.values(), rows)
    errors = {k: error(matrix[k.encode()], seen[name]) for k, name in WEIGHTS.items()}
    tested = Path("run/data/test.jsonl").read_text().splitlines()[:JUDGED]
    judged = [json.loads(line)["input_ids"] for line in tested]
    true = logits_of(source, judged)
    divergences = {}
    for kind in COMPARED:
        files = {"weighed": quantize(source, kind, matrix), "plain": quantize(source, kind, None)}
        divergences[kind] = {
            name: None
            if file is None
            else float((np.exp(true) * (true - logits_of(file, judged))).sum(axis=1).mean())
            for name, file in files.items()
        }
    mixture = importance.measure(RUN, convert(MOE, OUT / "moe.gguf"), rows)
    block = watch(MOE, ["model.layers.0.mlp"], rows)["model.layers.0.mlp"]
    gates = mixture[b"blk.0.ffn_gate_exps.weight"].reshape(-1, len(block))
    found = {
        "errors": errors,
        "divergences": divergences,
        "experts": len(gates),
        "expert_errors": [error(gate, block) for gate in gates],
        "unreached": importance.weigh(
            RUN, np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([2, 0])
        ).tolist(),
        "refused": quantize(OUT / "moe.gguf", "IQ2_XXS", mixture) is None,
    }
    sys.stdout.write(json.dumps(found) + "\n")


main()
