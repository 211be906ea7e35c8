"""Measures how faithful a GGUF file is: it reads the same rows as the trained 16-bit model.

    python -m runtime.compare.fidelity                     # record the trained model's predictions
    python -m runtime.compare.fidelity FILE.gguf           # measure a file, print JSON
    python -m runtime.compare.fidelity FILE.gguf --tokens-only  # without its speed and answers
    python -m runtime.compare.fidelity BASE.gguf --lora FILE.gguf  # a base with an adapter

Run it in the bundle's folder, after export.py has written run/fidelity.json. export.py starts a
separate process per file, to measure its memory and to report a crash of llama.cpp.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..files import read_json, write_json
from ..llama_cpp import gguf_file
from ..llama_cpp.converter import find_cause
from ..run import Run
from . import reference, token_comparison

TRIAL_TOKENS: Final = 32  # written to measure the speed of writing
PROMPTS: Final = 3  # tried to find out whether a file answers at all

# -----------------------------------------------------------------------------
# What is measured


def measure(
    run: Run,
    job: reference.Job,
    path: Path,
    *,
    lora_path: Path | None = None,
    tokens_only: bool = False,
) -> dict[str, Any]:
    """Return what was measured of a file in this process; numbers that are not finite become None.

    In addition to the numbers of `token_comparison.compare` there are

    resident_bytes    memory that the file added to this process. Its weights are memory-mapped, so
                      they count once they are read, and the system may drop them again
    metric_drop       metric of the trained model's answers, less that of the file's
    """
    rows, _ = token_comparison.read_rows(run)
    longest = max(len(row["ids"]) for row in rows)
    scoring: Any = None
    asked: list[dict[str, Any]] = []
    if job.answered:
        scoring = import_module(job.answered["module"])
        asked = scoring.choose_rows(run, job)
        longest = max(longest, *(len(row["prompt_ids"]) for row in asked))
    if tokens_only:
        llm = gguf_file.load(run, path, longest, lora_path=lora_path, on_gpu=job.on_gpu)
        return token_comparison.keep_finite(_compare(run, llm))
    before_bytes = _read_resident_bytes()
    context_tokens = longest + max(job.answer_tokens, TRIAL_TOKENS)
    llm = gguf_file.load(run, path, context_tokens, lora_path=lora_path, on_gpu=job.on_gpu)
    found = _time(run, llm, max((row["ids"] for row in rows), key=len))
    found["resident_bytes"] = _read_resident_bytes() - before_bytes
    found |= _compare(run, llm)
    if scoring:
        found |= scoring.examine(job, asked, partial(gguf_file.answer, run, llm))
    else:
        found["answers"] = any(_answers(run, llm, row, job.answer_tokens) for row in rows[:PROMPTS])
    llm.close()
    return token_comparison.keep_finite(found)


def _answers(run: Run, llm: Any, row: token_comparison.Row, most: int) -> bool:
    """Return whether a file answers with text, or starts with the trained model's first token.

    A model that has learned little may write nothing but spaces, and so may its files.
    """
    ids = row.get("prompt_ids") or row["ids"][: len(row["ids"]) // 2 + 1]
    if gguf_file.answer(run, llm, ids, most):
        return True
    noted = len(ids) - (len(row["ids"]) - len(row["best"]))
    is_begun = noted >= 0 and row["ids"][: len(ids)] == ids
    return is_begun and row["best"][noted : noted + 1] == [*gguf_file.write(run, llm, ids, 1)]


def _read_resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _compare(run: Run, llm: Any) -> dict[str, Any]:
    def read(row: token_comparison.Row) -> Iterator[Any]:
        return gguf_file.read(run, llm, row["ids"][:-1], len(row["learned"]))

    return token_comparison.compare(run, read)


def _time(run: Run, llm: Any, ids: Sequence[int]) -> dict[str, Any]:
    """Return the tokens per second of reading a row and of continuing it."""
    list(gguf_file.read(run, llm, ids, 1))  # the first read may load weights from the disk
    began = time.monotonic()
    list(gguf_file.read(run, llm, ids, 1))
    reading = len(ids) / (time.monotonic() - began)
    written = gguf_file.write(run, llm, ids, TRIAL_TOKENS)
    next(written)  # reads the row
    began = time.monotonic()
    writing = len(list(written)) / (time.monotonic() - began)
    return {"prompt_tokens_per_second": reading, "generation_tokens_per_second": writing}


# -----------------------------------------------------------------------------
# What export.py calls: the measurement in a separate process, and the verdict


def note_reference(run: Run, job: reference.Job) -> None:
    """Write the job, and record the trained model's predictions in a separate process."""
    write_json(run.folder / "fidelity.json", asdict(job))
    run.say(_start(run).rstrip())


def judge(
    run: Run, path: Path, *, lora_path: Path | None = None, tokens_only: bool = False
) -> dict[str, Any]:
    """Run `measure` on a file in a separate process; ends the stage if that fails."""
    adapter = ("--lora", lora_path) if lora_path else ()
    only = ("--tokens-only",) if tokens_only else ()
    found: dict[str, Any] = json.loads(_start(run, path, *adapter, *only))
    return found


def _start(run: Run, *arguments: str | Path) -> str:
    module = f"{__package__}.fidelity"
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=run.bundle, capture_output=True, text=True, check=False)
    if done.returncode:
        names = " ".join(Path(argument).name for argument in arguments)
        what = f"measuring {names}" if names else "recording the trained model's predictions"
        run.stop(f"{what} failed: {find_cause(done)}")
    return done.stdout


def main() -> None:
    """Run the measurement that the arguments ask for, in the bundle's folder."""
    parser = argparse.ArgumentParser(description="Measure how faithful a GGUF file is.")
    parser.add_argument("file", type=Path, nargs="?", help="if missing, record the reference")
    parser.add_argument("--lora", type=Path, help="an adapter's GGUF file to apply")
    parser.add_argument("--tokens-only", action="store_true", help="leave out speed and answers")
    args = parser.parse_args()
    run = Run(Path.cwd(), stage="reference", script=reference.SCRIPT)
    settings = run.folder / "fidelity.json"
    if not settings.is_file():
        run.stop("run/fidelity.json is missing: run export.py first")
    job = reference.Job(**read_json(settings))
    if args.file is None:
        reference.note(run, job)
        return
    if not args.file.is_file():
        run.stop(f"{args.file} does not exist")
    if not (run.folder / "reference" / "rows.json").is_file():
        run.stop("run/reference is missing: run `python -m runtime.compare.fidelity` first")
    run.check_inputs("reference")
    run.check_outputs(run.folder / "reference")
    out = os.dup(1)
    os.dup2(2, 1)  # what llama.cpp prints must not mix with the result
    found = measure(run, job, args.file, lora_path=args.lora, tokens_only=args.tokens_only)
    os.write(out, json.dumps(found, indent=2).encode() + b"\n")


if __name__ == "__main__":
    main()
