"""Hold each Modelfile against the rows: what Ollama would read must be what training has read.

    python modelfile.py

Reads the Modelfiles, the GGUF that each of them names, and run/data. Renders TEMPLATE for every row
as Ollama does, with go_template.py in the place of Go, and compares tokens, those that llama.cpp
adds included.
"""

import argparse
import importlib.metadata
from pathlib import Path

import llama_cpp
from llama_cpp._internals import LlamaModel

import go_template
import guard

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# What was decided, and why

MODELFILES = ["Modelfile"]

# -----------------------------------------------------------------------------
# A Modelfile, as Ollama reads it: a value goes on while its triple quotes are open


def unquote(value):
    """Return a value without its quotes; None while they are open."""
    for quotes in ('"""', '"'):
        if value.startswith(quotes):
            closed = len(value) >= 2 * len(quotes) and value.endswith(quotes)
            return value[len(quotes) : -len(quotes)] if closed else None
    return value


def read(path):
    """Return what a Modelfile says, by instruction; `stop` is a list."""
    said, lines = {"stop": []}, path.read_text(encoding="utf-8").split("\n")
    while lines:
        word, _, value = lines.pop(0).strip().partition(" ")
        if word.upper() == "PARAMETER":
            word, _, value = value.partition(" ")
        while unquote(value.strip()) is None:
            if not lines:
                guard.stop(f"{path.name}: the quotes of {word} have no end")
            value += "\n" + lines.pop(0)
        if word.lower() == "stop":
            said["stop"].append(unquote(value.strip()))
        else:
            said[word.lower()] = unquote(value.strip())
    for needed in ("from", "template"):
        if needed not in said:
            guard.stop(f"{path.name} has no {needed.upper()}: compile this bundle again")
    return said


def render(said, messages):
    """Return the text that Ollama makes of a conversation that waits for an answer."""
    if "system" in said and messages[0]["role"] != "system":
        messages = [{"role": "system", "content": said["system"]}, *messages]
    joined = []
    for message in messages:
        if joined and joined[-1]["Role"] == message["role"]:
            joined[-1]["Content"] += "\n\n" + message["content"]
        else:
            joined.append({"Role": message["role"], "Content": message["content"]})
    system = "\n\n".join(turn["content"] for turn in messages if turn["role"] == "system")
    try:
        return go_template.render_go(said["template"], {"System": system, "Messages": joined})
    except go_template.GoTemplateError as error:
        guard.stop(f"the TEMPLATE of a Modelfile: {error}")


# -----------------------------------------------------------------------------
# Each row, as Ollama would ask it and as training did


def judge(path, rows):
    """End this stage unless Ollama, by this Modelfile, reads every row as training did."""
    said = read(path)
    gguf = HERE / said["from"]
    if not gguf.is_file():
        guard.stop(f"{path.name} is FROM {said['from']}, which is not there (see run.sh)")
    settings = llama_cpp.llama_model_default_params()
    settings.vocab_only = True  # the weights stay on the disk
    words = LlamaModel(path_model=str(gguf), params=settings, verbose=False)
    other, endless = [], []
    for row in rows:
        asked = row["messages"][:-1]
        text = render(said, asked)
        if words.tokenize(text.encode(), add_bos=True, special=True) != row["prompt_ids"]:
            other.append(text)
        learned = words.detokenize(row["input_ids"][len(row["prompt_ids"]) :], special=True)
        end = learned.decode(errors="replace").rpartition(row["answer"])[2]
        by_itself = llama_cpp.llama_vocab_is_eog(words.vocab, row["input_ids"][-1])
        if not by_itself and not any(stop in end for stop in said["stop"]):
            endless.append(row)
    words.close()
    if other:
        guard.stop(
            f"by {path.name} Ollama would read {len(other):,} of {len(rows):,} rows as other tokens"
            f" than training did; the first begins {other[0][:80]!r}: undo the change"
        )
    if cut := [stop for stop in said["stop"] if any(stop in row["answer"] for row in rows)]:
        guard.stop(f"the stop {cut[0]!r} of {path.name} would cut answers short")
    if endless:
        guard.stop(f"no stop of {path.name} ends the answers of {len(endless):,} rows")
    guard.say(f"by {path.name} Ollama reads all {len(rows):,} rows as training did")


argparse.ArgumentParser(description="Hold each Modelfile against the rows.").parse_args()
guard.lock()
rows_file = HERE / "run/data/test.jsonl"
paths = [HERE / name for name in MODELFILES]
for path in paths:
    if not path.is_file():
        guard.stop(f"{path.name} is missing: compile this bundle again")
version = importlib.metadata.version("llama-cpp-python")
files = sorted((HERE / "run" / "quantize").glob("*.gguf"))
mark = guard.fingerprint(__file__, HERE / "go_template.py", *paths, *files, rows_file, version)
if guard.is_done("modelfile", mark):
    raise SystemExit
rows = guard.read_rows(rows_file)
judged = [row for row in rows if all(turn["role"] != "tool" for turn in row["messages"])]
if len(judged) < len(rows):
    guard.say(f"{len(rows) - len(judged):,} rows with a tool's turn are left out")
for path in paths:
    judge(path, judged)
guard.mark_done("modelfile", mark, *paths)
