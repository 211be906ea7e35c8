"""What every stage shares: one run at a time, what is done already, what is whole, what went wrong.

A stage is done when the fingerprint of everything it read (its own code, comments aside, its inputs
and its arguments) is the one noted beside its outputs, and the outputs are still there.
"""

import ast
import errno
import fcntl
import hashlib
import itertools
import json
import os
import shutil
import sys
import time
from pathlib import Path

import journal

HERE = Path(__file__).resolve().parent
RUN = HERE / "run"

RANK = int(os.environ.get("RANK", "0"))  # of this process; 0 writes and speaks
WORLD = int(os.environ.get("WORLD_SIZE", "1"))

END_BYTES = 2**20  # by which, and by their size, larger files of weights are known

started = time.monotonic()
files_read = {}  # by this stage, and their digests

# -----------------------------------------------------------------------------
# Words


def say(text):
    """Print a line at once, so that a log can be followed."""
    if RANK == 0:
        print(text, flush=True)


def stop(sentence):
    """End this stage: one sentence that says what is wrong and what to do."""
    journal.end.update(event="failed", code=1, sentence=sentence)
    raise SystemExit(f"{Path(sys.argv[0]).name}: {sentence}")  # Python prints it, and exits with 1


def disk_trouble(error):
    """Return the sentence that an error of the disk deserves, or None if it is another one."""
    said = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the quota of disk space is used up",
        errno.EROFS: "the folder can only be read",
        errno.EACCES: "permission is denied",
    }
    where = getattr(error, "filename", None) or RUN
    if isinstance(error, OSError) and error.errno in said:
        return f"{where}: {said[error.errno]}"
    # Libraries that write in another language lose the number.
    words = ("No space left", "file write failed", "unexpected pos", "iostream error")
    full = any(word in str(error) for word in words) and shutil.disk_usage(RUN).free < 2**24
    return f"{RUN}: the disk is full" if full else None


def _say_disk_trouble(kind, error, trace):
    trouble = disk_trouble(error)
    if trouble is None:
        sys.__excepthook__(kind, error, trace)
    else:
        name = Path(sys.argv[0]).name
        print(f"{name}: {trouble}; mend that and start again: nothing is lost", file=sys.stderr)


sys.excepthook = _say_disk_trouble


def need_model(model, pinned):
    """End this stage unless the model is a folder's, or the Hub's whose commit is pinned."""
    if model != pinned and not (Path(model) / "config.json").is_file():
        stop(f"--model takes a folder: on the Hub {model} could move between two stages")


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
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    sync(path.parent)


def sync(path):
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(old, new):
    """Put a folder in the place of another, which goes when its successor is on the disk."""
    for path in (new, *new.rglob("*")):
        sync(path)
    aside = old.with_name(old.name + ".before")
    if old.exists():
        shutil.rmtree(aside, ignore_errors=True)
        old.rename(aside)
    new.rename(old)
    sync(old.parent)
    shutil.rmtree(aside, ignore_errors=True)


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
            parts = [f"{path.relative_to(item)} {_read(path)}" for path in _files_of(item)]
        elif isinstance(item, Path):
            parts = [_read(item) if item.is_file() else "missing"]
        else:
            parts = [repr(item)]
        digest.update("\n".join(["", *parts]).encode())
    return digest.hexdigest()


def _files_of(folder):
    """Return a folder's files without those of bundles in it: a run is no part of a model."""
    found = []
    for at, folders, names in os.walk(folder):
        inner = {name: Path(at, name).resolve() for name in folders}
        bundles = {n for n, p in inner.items() if p == HERE or (p / "ftc.lock.json").is_file()}
        folders[:] = set(folders) - bundles
        found += [Path(at, name) for name in names]
    return sorted(path for path in found if path.is_file())


def _read(path):
    files_read[os.path.relpath(path, HERE)] = digest = _file_digest(path)
    return digest


def check_inputs(stage):
    """End this stage if a file that an earlier one read has changed; one that is gone has moved."""
    note = RUN / "done" / f"{stage}.json"
    done = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {}
    for name, digest in done.get("inputs", {}).items():
        if (HERE / name).is_file() and _file_digest(HERE / name) != digest:
            stop(f"{name} has changed since stage `{stage}` read it: ./run.sh starts from there")


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
    for path in {*files, *(path.parent for path in files)}:
        sync(path)
    sizes = {path.relative_to(HERE).as_posix(): path.stat().st_size for path in sorted(files)}
    seconds = round(time.monotonic() - started, 1)
    done = {"fingerprint": mark, "inputs": files_read, "outputs": sizes, "seconds": seconds}
    write_json(RUN / "done" / f"{stage}.json", done)
    journal.end["seconds"] = seconds
    say(f"{stage}: done in {seconds:.0f} s")
