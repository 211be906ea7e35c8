"""Turn the merged model into GGUF files, and hold each against the trained model.

    python quantize.py
    python quantize.py --llama-cpp ~/llama.cpp   # the converter of a checkout of your own

Reads run/merged and run/data. Writes run/quantize/*.gguf and report.json. The converter comes from
the source package of the llama-cpp-python that is installed, so that both are of one version;
FTC_LLAMA_CPP_SDIST names a copy of it for machines without a network.
"""

import argparse
import ctypes
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

import guard

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
TOOLS = HERE / "run" / "tools"
OUT = HERE / "run" / "quantize"

# -----------------------------------------------------------------------------
# What was decided, and why

NAME = "llama-full"
TYPES = ["Q8_0"]
ANSWER_TOKENS = 128  # room for a short answer of free text

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Write GGUF files and verify them.")
parser.add_argument("--llama-cpp", type=Path, help="the folder of a llama.cpp checkout")
args = parser.parse_args()
if not (MERGED / "config.json").is_file():
    guard.stop("run/merged is missing: run merge.py first (see run.sh)")
if args.llama_cpp and not (args.llama_cpp / "convert_hf_to_gguf.py").is_file():
    guard.stop(f"{args.llama_cpp} has no convert_hf_to_gguf.py: give a llama.cpp checkout")

guard.lock()
rows_file = HERE / "run/data/test.jsonl"
version = importlib.metadata.version("llama-cpp-python")
mark = guard.fingerprint(__file__, MERGED, rows_file, version)
if guard.is_done("quantize", mark):
    raise SystemExit
rows = guard.read_rows(rows_file)
OUT.mkdir(parents=True, exist_ok=True)
for leftover in [*OUT.glob("*.gguf"), *OUT.glob("*.partial")]:
    leftover.unlink()

# -----------------------------------------------------------------------------
# The converter


def unpack(sdist):
    """Unpack llama.cpp's converter from the source package, once."""
    folder = TOOLS / f"llama.cpp-{version}"
    if folder.is_dir():
        return folder
    wanted = ("convert_hf_to_gguf.py", "conversion/", "gguf-py/")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        for member in archive:
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            if name.startswith(wanted) and member.isfile():
                archive.extract(member.replace(name=name), partial, filter="data")
    os.replace(partial, folder)
    return folder


def find_converter():
    """Return the folder that holds the converter, fetching it if need be."""
    if args.llama_cpp:
        return args.llama_cpp
    if "FTC_LLAMA_CPP_SDIST" in os.environ:
        return unpack(os.environ["FTC_LLAMA_CPP_SDIST"])
    if not (TOOLS / f"llama.cpp-{version}").is_dir():
        guard.say(f"fetching the source of llama-cpp-python {version}")
        fetch = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps"]
        fetch += ["--quiet", "--dest", TOOLS, f"llama-cpp-python=={version}"]
        if subprocess.run(fetch, check=False).returncode:
            guard.stop("the converter could not be fetched: give --llama-cpp a llama.cpp checkout")
    return unpack(TOOLS / f"llama_cpp_python-{version}.tar.gz")


# -----------------------------------------------------------------------------
# Convert, as precisely as the weights are saved

source = OUT / "source.gguf"
partial = OUT / "source.partial"
converter = find_converter() / "convert_hf_to_gguf.py"
convert = [sys.executable, converter, MERGED, "--outfile", partial, "--outtype", "auto"]
done = subprocess.run(convert, capture_output=True, text=True, check=False)
if done.returncode or not partial.is_file():
    guard.stop(f"llama.cpp's converter failed:\n{done.stderr[-3000:]}")
os.replace(partial, source)
guard.say(f"converted: {source.stat().st_size / 2**20:,.1f} MiB")

# -----------------------------------------------------------------------------
# The same words must be the same tokens, or the GGUF reads another language than it learned

context_tokens = max(len(row["input_ids"]) for row in rows) + ANSWER_TOKENS + 8


def load(path):
    """Open a GGUF with room for the longest row and its answer."""
    return llama_cpp.Llama(
        str(path),
        n_ctx=context_tokens,
        n_threads=os.cpu_count(),
        n_gpu_layers=-1,
        verbose=False,
    )


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


llm = load(source)
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
# Quantize, then ask each file what the trained model was asked


def quantize(kind):
    """Write the GGUF of one type, whole or not at all."""
    path, partial = OUT / f"{NAME}-{kind}.gguf", OUT / f"{NAME}-{kind}.partial"
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    names = os.fsencode(source), os.fsencode(partial)
    if llama_cpp.llama_model_quantize(*names, ctypes.byref(settings)):
        guard.stop(f"llama.cpp could not quantize to {kind}")
    os.replace(partial, path)
    return path


def answer(llm, prompt_ids):
    """Return what the model finds most likely."""
    said = llm.create_completion(prompt_ids, max_tokens=ANSWER_TOKENS, temperature=0.0)
    return said["choices"][0]["text"].strip()


report = []
for kind in TYPES:
    began = time.monotonic()
    path = quantize(kind)
    llm = load(path)
    entry = {"type": kind, "file": path.name, "bytes": path.stat().st_size}
    said = [answer(llm, row["prompt_ids"]) for row in rows[:3]]
    guard.ensure(any(said), f"{path.name} answers")
    entry["seconds"] = round(time.monotonic() - began, 1)
    report.append(entry)
    llm.close()
source.unlink()

# -----------------------------------------------------------------------------
# Say it, and write it

guard.say(f"{'type':8} {'MiB':>10} {'seconds':>8}")
for entry in report:
    guard.say(f"{entry['type']:8} {entry['bytes'] / 2**20:>10,.1f} {entry['seconds']:>8.1f}")
guard.write_json(OUT / "report.json", report)
guard.mark_done("quantize", mark, *(OUT / entry["file"] for entry in report), OUT / "report.json")
