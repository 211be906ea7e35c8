"""How faithful a GGUF file is: the trained 16-bit model and the file read the same rows.

    python fidelity.py                            # note what the trained model finds likely
    python fidelity.py FILE.gguf                  # measure a file against that, print it as JSON
    python fidelity.py BASE.gguf --lora FILE.gguf # a base model's file with an adapter on top

Reads run/merged and run/data, writes run/reference. quantize.py starts this once for each file:
alone in a process, a file's memory is told from all other, and one that crashes llama.cpp ends
with a sentence.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import converter
import guard
import reader

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
REFERENCE = HERE / "run" / "reference"
ROWS_FILE = HERE / "run/data/test.jsonl"

# -----------------------------------------------------------------------------
# What was decided, and why

ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
TOKENS = 4096  # judged, at most: the default of `export.verify.tokens`
ANSWER_TOKENS = 128  # room for a short answer of free text
DTYPE = "auto"  # as the weights are saved
DEVICE = "auto"  # spread over the GPUs if one is too small
ROW_TOKENS = 256  # judged of each row, from its end: the answer, and what leads to it
READ_TOKENS = 4 * TOKENS  # at most, so that long prompts do not take hours
TRIAL_TOKENS = 32  # written to measure the speed of writing
CHUNK_TOKENS = 64  # compared at once: each holds a number per word of the vocabulary
NOT_LEARNED = -100

# -----------------------------------------------------------------------------
# The reference: what the trained model finds likely


def reference():
    """Note the trained model's logits for every next token, unless they are there.

    A position takes two bytes of disk per word of the vocabulary: 4,096 of them with 128,256 words
    are 1 GiB. Which token is best and what the true one costs, in nats, is kept exactly.
    """
    mark = guard.fingerprint(__file__, MERGED, ROWS_FILE)
    if guard.is_done("reference", mark):
        return
    import torch  # here alone: the process that measures a file stays small
    from transformers import AutoModelForCausalLM

    REFERENCE.mkdir(parents=True, exist_ok=True)
    (REFERENCE / "rows.json").unlink(missing_ok=True)  # it comes last, when the logits are whole
    model = AutoModelForCausalLM.from_pretrained(
        MERGED,
        dtype=DTYPE,
        attn_implementation=ATTENTION,
        device_map=DEVICE,
        use_safetensors=True,
    ).eval()
    rows = _judged_rows()
    with (REFERENCE / "logits.f16").open("wb") as file, torch.inference_mode():
        for row in rows:
            ids = torch.tensor([row["ids"]], device=model.device)
            keep = len(row["learned"])
            logits = model(ids[:, :-1], logits_to_keep=keep).logits[0].float()
            row["best"] = logits.argmax(dim=-1).tolist()
            true = ids[0, -keep:].to(logits.device)
            row["nats"] = torch.nn.functional.cross_entropy(logits, true, reduction="none").tolist()
            centred = logits - logits.mean(dim=-1, keepdim=True)  # small, so exact in 16 bits
            file.write(centred.half().cpu().numpy().tobytes())
    guard.write_json(REFERENCE / "rows.json", {"vocabulary": logits.shape[1], "rows": rows})
    guard.mark_done("reference", mark, REFERENCE)


def _judged_rows():
    """Return rows in a fixed random order, as many as the budgets hold, and at least one."""
    rows, judged, read = [], 0, 0
    everything = guard.read_rows(ROWS_FILE)
    for row in random.Random(0).sample(everything, len(everything)):
        ids = row["input_ids"]
        keep = min(len(ids) - 1, ROW_TOKENS, TOKENS - judged)
        if keep < 1 or (rows and read + len(ids) > READ_TOKENS):
            continue
        learned = [label != NOT_LEARNED for label in row["labels"][-keep:]]
        rows.append({"ids": ids, "learned": learned, "prompt_ids": row["prompt_ids"]})
        judged, read = judged + keep, read + len(ids)
    return rows


# -----------------------------------------------------------------------------
# What is measured


def measure(path, lora_path=None):
    """Return what was measured of a file in this process; what is not finite becomes None.

    divergence        mean KL divergence from the trained model's next token, in nats per token
    agreement         share of positions at which both find the same token most likely
    logit_error       root of the mean squared difference of the logits over their own spread
    perplexity_ratio  perplexity of the learned tokens over the trained model's
    resident_bytes    what the file added to this process. Its weights are mapped into memory, not
                      copied: they count once they were read, and while nobody reads them the
                      system may drop them again
    """
    noted = json.loads((REFERENCE / "rows.json").read_text(encoding="utf-8"))
    rows = noted["rows"]
    longest = max(len(row["ids"]) for row in rows)
    before_bytes = _resident_bytes()
    llm = reader.load(path, longest + max(ANSWER_TOKENS, TRIAL_TOKENS), lora_path)
    found = _time(llm, max((row["ids"] for row in rows), key=len))
    found["resident_bytes"] = _resident_bytes() - before_bytes
    found |= _compare(llm, rows, noted["vocabulary"])
    prompts = [row["prompt_ids"] for row in rows[:3]]
    found["answers"] = any(reader.answer(llm, ids, ANSWER_TOKENS) for ids in prompts)
    llm.close()
    return {name: number if math.isfinite(number) else None for name, number in found.items()}


def _resident_bytes():
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _time(llm, ids):
    """Return the tokens per second of reading a row and of writing on from it."""
    list(reader.read(llm, ids, 1))  # for the first time, its weights may come from the disk
    began = time.monotonic()
    list(reader.read(llm, ids, 1))
    reading = len(ids) / (time.monotonic() - began)
    written = reader.write(llm, ids, TRIAL_TOKENS)
    next(written)  # which reads the row
    began = time.monotonic()
    writing = len(list(written)) / (time.monotonic() - began)
    return {"prompt_tokens_per_second": reading, "generation_tokens_per_second": writing}


def _compare(llm, rows, vocabulary):
    """Return how far the file's next tokens are from those that were noted."""
    noted = np.memmap(REFERENCE / "logits.f16", np.float16, "r").reshape(-1, vocabulary)
    words = min(vocabulary, llm.n_vocab())  # a converter may pad the vocabulary
    true = np.concatenate([row["ids"][-len(row["learned"]) :] for row in rows])
    best, trained_nats, learned = (
        np.concatenate([row[name] for row in rows]) for name in ("best", "nats", "learned")
    )
    bests, nats, divergences, errors, spreads = [], [], [], [], []
    for row in rows:
        for logits in reader.read(llm, row["ids"][:-1], len(row["learned"])):
            for part in np.split(logits, range(CHUNK_TOKENS, len(logits), CHUNK_TOKENS)):
                span = slice(len(nats), len(nats) + len(part))
                ours, theirs = _log_softmax(part[:, :words]), _log_softmax(noted[span, :words])
                bests.extend(ours.argmax(axis=1))
                nats.extend(-ours[range(len(part)), true[span]])
                divergences.extend((np.exp(theirs) * (theirs - ours)).sum(axis=1))
                errors.extend((theirs - ours).var(axis=1))
                spreads.extend(theirs.var(axis=1))
    loss, trained_loss = np.mean(np.array(nats)[learned]), np.mean(trained_nats[learned])
    return {
        "rows": len(rows),
        "tokens": len(nats),
        "learned_tokens": int(learned.sum()),
        "divergence": float(np.mean(divergences)),
        "agreement": float(np.mean(np.array(bests) == best)),
        "logit_error": float(np.sqrt(np.mean(errors) / np.mean(spreads))),
        "perplexity": float(np.exp(loss)),
        "trained_perplexity": float(np.exp(trained_loss)),
        "perplexity_ratio": float(np.exp(loss - trained_loss)),
    }


def _log_softmax(logits):
    logits = logits.astype(np.float32)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


# -----------------------------------------------------------------------------
# What quantize.py calls: the same in a process of its own, and the verdict


def judge(path, lora_path=None):
    """Return `measure` of a file, taken by a process of its own; ends this stage if that dies."""
    return json.loads(start(path, *(("--lora", lora_path) if lora_path else ())))


def start(*arguments):
    """Run this script with these arguments in a process of its own, and return what it prints."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        names = " ".join(["fidelity.py", *(Path(argument).name for argument in arguments)])
        guard.stop(f"{names} failed: {converter.find_cause(done)}")
    return done.stdout


def find_fault(found, bounds):
    """Return the first measure beyond its bound as a sentence, or None.

    A bound is named as in the spec: `max_` or `min_`, and what was measured.
    """
    if not found["answers"]:
        return "it says nothing after any prompt"
    for name, bound in bounds.items():
        side, measured = name.split("_", 1)
        value = found[measured]
        good = value is not None and (value <= bound if side == "max" else value >= bound)
        if not good:
            shown = "no number" if value is None else f"{value:.4g}"
            words = measured.replace("_", " ")
            return f"its {words} is {shown}, and export.verify.{name} is {bound:g}"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure how faithful a GGUF file is.")
    parser.add_argument("file", type=Path, nargs="?", help="without one, note the reference")
    parser.add_argument("--lora", type=Path, help="an adapter's GGUF to lay on top")
    args = parser.parse_args()
    if args.file is None:
        reference()
    elif not args.file.is_file():
        guard.stop(f"{args.file} is not there")
    elif not (REFERENCE / "rows.json").is_file():
        guard.stop("run/reference is missing: run `python fidelity.py` first")
    else:
        print(json.dumps(measure(args.file, args.lora), indent=2))
