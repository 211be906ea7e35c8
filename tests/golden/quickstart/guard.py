"""What every stage shares: one run at a time, what is done already, what is whole, what went wrong.

A stage is done when the fingerprint of everything it read (its own code, comments aside, its inputs
and its arguments) is the one noted beside its outputs, and the outputs are still there.
"""

import ast
import fcntl
import hashlib
import itertools
import json
import os
import sys
import time
from pathlib import Path

import journal

HERE = Path(__file__).resolve().parent
RUN = HERE / "run"

END_BYTES = 2**20  # by which, and by their size, larger files of weights are known

started = time.monotonic()

# -----------------------------------------------------------------------------
# Words


def say(text):
    """Print a line at once, so that a log can be followed."""
    print(text, flush=True)


def stop(sentence):
    """End this stage: one sentence that says what is wrong and what to do."""
    journal.end.update(event="failed", code=1, sentence=sentence)
    raise SystemExit(f"{Path(sys.argv[0]).name}: {sentence}")  # Python prints it, and exits with 1


def need_model(folder):
    """End this stage if the folder holds no model."""
    if not (folder / "config.json").is_file():
        stop(f"the model folder {folder} has no config.json: give its path with --model")


def ensure(condition, sentence):
    """A post-condition: what this stage made must be true before the next stage reads it."""
    if not condition:
        stop(f"post-condition failed: {sentence}")


# -----------------------------------------------------------------------------
# Files


def write_json(path, data):
    """Write a JSON file whole or not at all."""
    write_lines(path, [json.dumps(data, ensure_ascii=False, indent=2).encode(), b"\n"])


def write_rows(path, rows):
    """Write a JSON object per line, whole or not at all."""
    write_lines(path, (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))


def write_lines(path, lines):
    """Write lines of bytes, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.writelines(lines)
    os.replace(partial, path)


def read_rows(path, most=None):
    """Read what `write_rows` wrote, or the first rows of it."""
    if not path.is_file():
        stop(f"{path.relative_to(HERE)} is missing: run the stages before this one (see run.sh)")
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in itertools.islice(file, most)]


def is_whole(path):
    """Whether a safetensors file is as long as its own header says."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if not 0 < header_bytes < size - 7:
            return False
        try:
            header = json.loads(file.read(header_bytes))
        except ValueError:
            return False
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return bool(ends) and size == 8 + header_bytes + max(ends)


# -----------------------------------------------------------------------------
# Stages


def lock():
    """Hold the run folder until this process ends; nobody else may write into it."""
    RUN.mkdir(exist_ok=True)
    lock.file = (RUN / ".lock").open("w")
    try:
        fcntl.flock(lock.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stop(f"another stage is at work in {RUN}: wait for it to end, or end it")
    journal.begin()


def fingerprint(script, *inputs):
    """Return the SHA-256 of a stage's code and inputs: files and folders by what they hold."""
    digest = hashlib.sha256(ast.dump(ast.parse(Path(script).read_bytes())).encode())
    for item in inputs:
        if isinstance(item, Path) and item.is_dir():
            files = sorted(path for path in item.rglob("*") if path.is_file())
            parts = [f"{path.relative_to(item)} {_file_digest(path)}" for path in files]
        elif isinstance(item, Path):
            parts = [_file_digest(item) if item.is_file() else "missing"]
        else:
            parts = [repr(item)]
        digest.update("\n".join(["", *parts]).encode())
    return digest.hexdigest()


def _file_digest(path):
    size = path.stat().st_size
    with path.open("rb") as file:
        if size > 64 * END_BYTES and path.suffix in (".safetensors", ".bin", ".gguf"):
            file.seek(-END_BYTES, os.SEEK_END)
        return f"{size} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def is_done(stage, mark):
    """Whether the stage was finished with this fingerprint and its outputs are still whole."""
    note = RUN / "done" / f"{stage}.json"
    if not note.is_file():
        return False
    done = json.loads(note.read_text(encoding="utf-8"))
    if done["fingerprint"] != mark:
        return False
    for name, size in done["outputs"].items():
        if not (HERE / name).is_file() or (HERE / name).stat().st_size != size:
            return False
    say(f"{stage}: done already ({done['seconds']:.0f} s at the time)")
    return True


def mark_done(stage, mark, *outputs):
    """Note that the stage is finished: its fingerprint, its outputs' sizes, its seconds."""
    files = [path for item in outputs for path in (item, *item.rglob("*")) if path.is_file()]
    sizes = {path.relative_to(HERE).as_posix(): path.stat().st_size for path in sorted(files)}
    seconds = round(time.monotonic() - started, 1)
    done = {"fingerprint": mark, "outputs": sizes, "seconds": seconds}
    write_json(RUN / "done" / f"{stage}.json", done)
    journal.end["seconds"] = seconds
    say(f"{stage}: done in {seconds:.0f} s")
