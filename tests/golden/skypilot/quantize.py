"""Turn the merged model into GGUF files, and hold each against the trained model.

    python quantize.py
    python quantize.py --llama-cpp ~/llama.cpp   # the converter of a checkout of your own

Reads run/merged and run/data. Writes run/quantize/*.gguf, quality.json and quality.png. A file that
falls below a bound ends as *.failed, and this with an error. The converter comes from the source
package of the llama-cpp-python that is installed, so that both are of one version;
FTC_LLAMA_CPP_SDIST names a copy of it for machines without a network.
"""

import argparse
import ctypes
import importlib.metadata
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import llama_cpp
import matplotlib.figure
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

import answers
import converter
import fidelity
import guard
import reader

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
OUT = HERE / "run" / "quantize"

# -----------------------------------------------------------------------------
# What was decided, and why

NAME = "intents-on-spot"
TYPES = ["Q4_K_M"]
PREDICTED_BYTES = {"Q4_K_M": 4683071220}  # by the types that llama.cpp gives the tensors
SIZE_TOLERANCE = 0.02  # a larger difference is said: the plan's disk was counted with it
# nats per token: 4 times what llama.cpp publishes for an 8B model, as this one has 7.62B
# parameters, and 0.01 for rounding
MAX_DIVERGENCE = {"Q4_K_M": 0.135}
# of tokens: 2 times the disagreement that llama.cpp publishes for an 8B model, and 3 % for rounding
MIN_AGREEMENT = {"Q4_K_M": 0.808}
# over the trained model's: 4 times the rise that llama.cpp publishes for an 8B model, and 2 % for
# chance
MAX_PERPLEXITY_RATIO = {"Q4_K_M": 1.13}
# of answers: the disagreement that llama.cpp publishes for an 8B model, and 2 of 282 rows for
# chance
MAX_METRIC_DROP = {"Q4_K_M": 0.0881}

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Write GGUF files and verify them.")
parser.add_argument("--llama-cpp", type=Path, help="the folder of a llama.cpp checkout")
args = parser.parse_args()
if (MERGED / "adapter_config.json").is_file():
    guard.stop("run/merged holds an adapter and no whole model: run merge.py (see run.sh)")
if not (MERGED / "config.json").is_file():
    guard.stop("run/merged is missing: run merge.py first (see run.sh)")
if args.llama_cpp and not (args.llama_cpp / "convert_hf_to_gguf.py").is_file():
    guard.stop(f"{args.llama_cpp} has no convert_hf_to_gguf.py: give a llama.cpp checkout")

guard.lock()
rows_file = fidelity.ROWS_FILE
version = importlib.metadata.version("llama-cpp-python")
codes = HERE / "converter.py", HERE / "fidelity.py"
mark = guard.fingerprint(__file__, *codes, MERGED, rows_file, version)
if guard.is_done("quantize", mark):
    raise SystemExit
rows = guard.read_rows(rows_file)
OUT.mkdir(parents=True, exist_ok=True)
for leftover in OUT.glob("unfinished-*"):
    shutil.rmtree(leftover)
unfinished = tempfile.TemporaryDirectory(prefix="unfinished-", dir=OUT)  # gone however this ends

# -----------------------------------------------------------------------------
# Convert, as precisely as the weights are saved

index = MERGED / "model.safetensors.index.json"
shards = {MERGED / "model.safetensors"}
if index.is_file():
    shards = {MERGED / name for name in json.loads(index.read_text())["weight_map"].values()}
for shard in sorted(shards):
    if not shard.is_file() or not guard.is_whole(shard):
        state = "cut off or damaged" if shard.is_file() else "missing"
        guard.stop(f"run/merged/{shard.name} is {state}: run merge.py again")

source = Path(unfinished.name) / "source.gguf"
how = "convert_hf_to_gguf.py", MERGED, "--outtype", "auto"
converter.convert(*how, into=source, checkout=args.llama_cpp)

# -----------------------------------------------------------------------------
# The same words must be the same tokens, or the GGUF reads another language than it learned


def render(llm, messages, answering):
    """Return the tokens of a conversation, by the chat template inside the GGUF."""
    formatter = Jinja2ChatFormatter(
        template=llm.metadata["tokenizer.chat_template"],
        eos_token=llm._model.token_get_text(llm.token_eos()),
        bos_token=llm._model.token_get_text(llm.token_bos()),
        add_generation_prompt=answering,
    )
    text = formatter(messages=messages).prompt
    text = text if answering else text.rstrip()
    return llm.tokenize(text.encode(), add_bos=False, special=True)


llm = reader.load(source, context_tokens=8)
guard.ensure("tokenizer.chat_template" in llm.metadata, "the chat template is inside the GGUF")
wrong = []
for number, row in enumerate(rows):
    prompt_ids = render(llm, row["messages"][:-1], answering=True)
    ids = render(llm, row["messages"], answering=False)[: len(row["input_ids"])]
    same = prompt_ids == row["prompt_ids"] and ids == row["input_ids"]
    if not same:
        wrong.append(number + 1)
if wrong:
    guard.stop(
        f"llama.cpp reads {len(wrong):,} of {len(rows):,} rows as other tokens than the model was"
        f" trained on; the first are rows {wrong[:5]} of {rows_file.name}"
    )
guard.say(f"all {len(rows):,} rows are the same tokens in transformers and in llama.cpp")
llm.close()

# -----------------------------------------------------------------------------
# Quantize, then hold each file against the trained model


def quantize(kind):
    """Write the GGUF of one type among the unfinished files."""
    path = source.with_name(f"{NAME}-{kind}.gguf")
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    names = os.fsencode(source), os.fsencode(path)
    if llama_cpp.llama_model_quantize(*names, ctypes.byref(settings)):
        free = shutil.disk_usage(OUT).free / 2**20
        guard.stop(f"llama.cpp could not quantize to {kind}; {free:,.0f} MiB of disk are free")
    return path


bounds = {
    "max_divergence": MAX_DIVERGENCE,
    "min_agreement": MIN_AGREEMENT,
    "max_perplexity_ratio": MAX_PERPLEXITY_RATIO,
    "max_metric_drop": MAX_METRIC_DROP,
}
guard.say(fidelity.start().rstrip())
files = []
for kind in TYPES:
    began = time.monotonic()
    path = quantize(kind)
    found = fidelity.judge(path)
    held = {name: by_type[kind] for name, by_type in bounds.items()}
    fault = fidelity.find_fault(found, held)
    kept = OUT / (path.name if fault is None else f"{path.stem}.failed")
    entry = {"type": kind, "file": kept.name, "bytes": path.stat().st_size, **found}
    entry["predicted_bytes"] = PREDICTED_BYTES[kind]
    off = entry["bytes"] / entry["predicted_bytes"] - 1
    if abs(off) > SIZE_TOLERANCE:
        guard.say(f"warning: {entry['file']} is {off:+.1%} off the size that was planned")
    entry |= {"bounds": held, "fault": fault, "seconds": round(time.monotonic() - began, 1)}
    files.append(entry)
    guard.sync(path)
    os.replace(path, kept)

# -----------------------------------------------------------------------------
# Say it, draw it, write it


def show(number, layout):
    """Return a measured number as text, or a dash where there is none."""
    return "-" if number is None else format(number, layout)


COLUMNS = (
    ("nats/token", "divergence", ".5f"),
    ("top-1", "agreement", ".1%"),
    ("perplexity", "perplexity", ".4g"),
    (answers.METRIC.replace("_", " "), answers.METRIC, ".1%"),
    ("trained", f"trained_{answers.METRIC}", ".1%"),
    ("read/s", "prompt_tokens_per_second", ",.0f"),
    ("write/s", "generation_tokens_per_second", ",.0f"),
)
titles = "".join(f"{title:>11}" for title, _, _ in COLUMNS)
guard.say(f"{'type':8}{'MiB':>10}{titles}{'RAM, MiB':>10}  verdict")
for entry in files:
    numbers = "".join(f"{show(entry[name], layout):>11}" for _, name, layout in COLUMNS)
    memory = entry["resident_bytes"] / 2**20
    verdict = "sound" if entry["fault"] is None else "FAILED"
    size = entry["bytes"] / 2**20
    guard.say(f"{entry['type']:8}{size:>10,.1f}{numbers}{memory:>10,.1f}  {verdict}")

figure = matplotlib.figure.Figure(figsize=(8, 4.5), layout="constrained")
axes = figure.subplots()
for entry in files:
    place = entry["bytes"] / 2**20, max(entry["divergence"] or 0, 1e-6)  # below it is rounding
    axes.plot(*place, "o" if entry["fault"] is None else "x", color="black")
    axes.annotate(entry["type"], place, xytext=(6, 4), textcoords="offset points")
axes.margins(x=0.15)
axes.set(xlabel="size of the file, MiB", ylabel="divergence, nats per token", yscale="log")
figure.savefig(OUT / "quality.png", dpi=120)
guard.write_json(OUT / "quality.json", {"version": 1, "judged": rows_file.stem, "files": files})

failed = [entry for entry in files if entry["fault"] is not None]
if failed:
    first = failed[0]
    more = f" (and {len(failed) - 1} more types failed)" if len(failed) > 1 else ""
    guard.stop(f"{first['type']} is not the trained model any more: {first['fault']}{more}")
whole = [OUT / entry["file"] for entry in files]
for leftover in {*OUT.glob("*.gguf"), *OUT.glob("*.failed")} - {*whole}:
    leftover.unlink()  # of another training
guard.mark_done("quantize", mark, *whole, OUT / "quality.json", OUT / "quality.png")
