"""Read the data, clean it, split it, turn it into tokens.

    python prepare.py
    python prepare.py --data other-data --model another/model

Reads the data and the model's tokenizer. Writes run/data/{train,validation,test}.jsonl, in which
each row has its `input_ids` and its `labels` (-100 where nothing is learned), and report.json and
report.md, which list every row that was repaired, cut or left out, and why.

The data are read twice, a chunk at a time, by as many processes as there are cores: once to see
which rows are good for training, once to turn those into tokens. In memory are only a few numbers
per row, whatever the size of the file.
"""

import argparse
import atexit
import json
import multiprocessing
import os
import random
import tempfile
import threading
from array import array
from collections import defaultdict, deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, compress, islice
from pathlib import Path

import numpy
import pyarrow.json
from transformers import AutoTokenizer

import examples
import guard

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# What was decided, and why

DATA = "../../../examples/tools/calls.jsonl"
ENCODING = "utf-8"
MODEL = "Qwen/Qwen2.5-7B-Instruct"
MODEL_REVISION = None
OVERLONG_SHARE = 0.0  # the share of rows longer than that, estimated from characters
TEST_SHARE = 0.1
VALIDATION_SHARE = 0.1
SEED = 42  # the default of `training.seed`

MARGIN = 0.01  # share of the rows that may be over-long beyond what the plan said
CHUNK_ROWS = 256  # that one process works on at a time

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Clean, split and tokenise the data.")
parser.add_argument("--data", type=Path, default=HERE / DATA, help="another file of the same form")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
args = parser.parse_args()

if not args.data.is_file():
    guard.stop(f"the data file {args.data} is not there: give its path with --data")
guard.need_model(args.model, MODEL)

guard.lock()
mark = guard.fingerprint(
    __file__,
    HERE / "examples.py",
    args.data,
    args.model,
)
if guard.is_done("data", mark):
    raise SystemExit

# -----------------------------------------------------------------------------
# Read

def read(path):
    """Yield a file's rows in chunks; None stands for one that is broken, to be counted below."""
    with path.open(encoding=ENCODING, errors="replace") as file:
        yield from cut(filter(str.strip, file))


def cut(rows):
    """Cut rows into lists of CHUNK_ROWS."""
    rows = iter(rows)
    return iter(lambda: list(islice(rows, CHUNK_ROWS)), [])


# -----------------------------------------------------------------------------
# The model's tokenizer

options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
examples.tokenizer = AutoTokenizer.from_pretrained(args.model, **options)
examples.tokenizer("")  # forgets a length to which the tokenizer's own file cuts or pads

# -----------------------------------------------------------------------------
# The processes: copies of this one as it is here, which work on chunks

CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count())
PROCESSES = min(32, len(CORES))  # more of them would wait for this one, which reads and writes


def attend():
    """End a process when this one ends, however that comes; the folder's lock is this one's."""
    guard.lock.file.close()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each of them uses one core
    main = multiprocessing.parent_process()
    threading.Thread(target=lambda: (main.join(), os._exit(1)), daemon=True).start()


pool = ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("fork"), attend)
atexit.register(pool.shutdown)


def spread(work, jobs):
    """Yield work(job) for each job, in order; only a few jobs are held at a time."""
    waiting = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(work, job))
            if len(waiting) > 2 * PROCESSES:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        guard.stop("a process was killed, as happens when memory runs out: see `dmesg`")


pool.submit(int).result()  # starts all of them, before a library has threads, which no copy has

# -----------------------------------------------------------------------------
# Which rows are good for training: every one that is changed or left out is counted and listed

paths = [args.data]


def chunks():
    """Yield the chunks of all files."""
    return chain.from_iterable(map(read, paths))


changes = defaultdict(lambda: array("Q"))  # what happened -> rows, counted from 1
columns, keys = set(), array("Q")
for found, looks in spread(examples.look, chunks()):
    columns |= found
    for what, key in looks:
        keys.append(key)
        if what:
            changes[what].append(len(keys))
if not set(examples.NEEDED) <= columns:
    said = f"the data has the columns {sorted(columns, key=str)}"
    guard.stop(f"{said}, and {examples.NEEDED} are needed")
guard.say(f"read {len(keys):,} rows")

keys = numpy.asarray(keys)
wanted = keys > 0
order = numpy.argsort(keys, kind="stable")
alike = keys[order]
again = order[1:][alike[1:] == alike[:-1]]  # the rows whose key another one had before
again = again[wanted[again]]
changes["duplicate"].extend((again + 1).tolist())
wanted[again] = False
del order, alike
del keys

# -----------------------------------------------------------------------------
# Turn them into records, which go to disk as they come

OUT.mkdir(parents=True, exist_ok=True)
records = tempfile.TemporaryFile(dir=OUT)
lengths, learned, prompts = array("I"), array("B"), array("Q")
labels, names = array("I"), {}  # of each record the place of its label's name
ends = array("Q", [0])


def jobs():
    """Yield each chunk, and which of its rows are wanted."""
    start = 0
    for chunk in chunks():
        yield chunk, wanted[start : start + len(chunk)]
        start += len(chunk)


made = chain.from_iterable(spread(examples.make, jobs()))
numbers = compress(range(1, len(wanted) + 1), wanted)
for row, (what, tokens, is_learned, prompt, label, line) in zip(numbers, made, strict=True):
    if what:
        changes[what].append(row)
    if tokens:
        lengths.append(tokens)
    if line:
        learned.append(is_learned)
        prompts.append(prompt)
        labels.append(names.setdefault(label, len(names)))
        ends.append(ends[-1] + records.write(line))
pool.shutdown()
records.flush()

overlong = int((numpy.asarray(lengths) > examples.MAX_LENGTH).sum())
if not prompts:
    said = {what: len(rows) for what, rows in changes.items() if rows}
    guard.stop(f"no row is left of {len(wanted):,}: {said}")
chance = 3 * (OVERLONG_SHARE / len(lengths)) ** 0.5  # three standard errors: rows may be a sample
if overlong > (OVERLONG_SHARE + MARGIN + chance) * len(lengths):
    guard.stop(
        f"{overlong:,} of {len(lengths):,} rows are longer than {examples.MAX_LENGTH} tokens,"
        f" the longest has {max(lengths):,}, and the plan said {OVERLONG_SHARE:.1%} of rows:"
        " set data.max_length in the spec and compile again"
    )

# -----------------------------------------------------------------------------
# Split: rows with the same prompt stay together


def divide():
    """Return the records of each split by number; what it takes to find them is forgotten."""
    draw = random.Random(SEED)
    members = numpy.argsort(prompts, kind="stable")  # the records, those with one prompt together
    keys = numpy.asarray(prompts)[members]
    edges = numpy.flatnonzero(keys[1:] != keys[:-1]) + 1  # where a group ends, the next begins
    edges = numpy.concatenate(([0], edges, [len(members)]))
    firsts = members[edges[:-1]]  # of each group the first record
    splits = {name: array("I") for name in ("train", "validation", "test")}
    chances = numpy.fromiter((draw.random() for _ in prompts), float, len(keys))[firsts]
    walk = numpy.argsort(chances)
    # Walking the groups in random order, each split takes the next one when it is owed half of it.
    shares = {"test": TEST_SHARE, "validation": VALIDATION_SHARE}
    owed = dict.fromkeys(shares, 0.0)
    for place in walk:
        rows = members[edges[place] : edges[place + 1]].tolist()
        for name, share in shares.items():
            owed[name] += share * len(rows)
        chosen = max(owed, key=owed.get)
        if owed[chosen] >= len(rows) / 2:
            owed[chosen] -= len(rows)
            splits[chosen].extend(rows)
        else:
            splits["train"].extend(rows)
    for split in splits.values():
        draw.shuffle(split)
    return splits


splits = divide()

# -----------------------------------------------------------------------------
# Write, and show what is learned


def take(split):
    """Yield the lines of a split's records."""
    for record in split:
        yield os.pread(records.fileno(), ends[record + 1] - ends[record], ends[record])


def write_table(path):
    """Write a split once more, as a table of tokens that training maps instead of reading it."""
    row = json.loads(path.open(encoding="utf-8").readline())
    kinds = {bool: pyarrow.bool_(), int: pyarrow.int64(), str: pyarrow.string()}
    kinds[list] = pyarrow.list_(pyarrow.int32())
    names = [name for name in row if name not in ("messages", "tools")]
    schema = pyarrow.schema([(name, kinds[type(row[name])]) for name in names])
    how = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    longest = int(numpy.diff(ends).max())
    block = pyarrow.json.ReadOptions(block_size=max(2**18, 2 * longest))
    table = path.with_suffix(".arrow")
    with pyarrow.json.open_json(path, block, how) as batches, table.open("wb") as file:
        with pyarrow.ipc.new_stream(file, schema) as stream:
            for batch in batches:
                stream.write_batch(batch)


for name, split in splits.items():
    guard.write_lines(OUT / f"{name}.jsonl", take(split))
    if name != "test" and split:
        write_table(OUT / f"{name}.jsonl")

counts = {what: len(rows) for what, rows in changes.items() if rows}
counts = dict(sorted(counts.items(), key=lambda pair: -pair[1]))
ordered = numpy.sort(lengths)
report = {
    "rows_read": len(wanted),
    "rows_used": len(learned),
    "changes": counts,
    "splits": {name: len(split) for name, split in splits.items()},
    "tokens": {f"p{p}": int(ordered[(len(ordered) - 1) * p // 100]) for p in (50, 90, 95, 99, 100)},
    "changed_rows": [
        {"row": row, "what": what}
        for row, what in sorted((row, what) for what in counts for row in changes[what])
    ],
}
guard.write_json(OUT / "report.json", report)
lines = ["# Data report", "", "| what | rows |", "| --- | ---: |", f"| read | {len(wanted):,} |"]
lines += [f"| {what} | {count:,} |" for what, count in counts.items()]
lines += [f"| in {name} | {len(split):,} |" for name, split in splits.items()]
lines += ["", f"Tokens per row: {report['tokens']}.", "", "Rows by number, counted from 1:", ""]
lines += [f"- {what}: {', '.join(f'{row:,}' for row in sorted(changes[what]))}" for what in counts]
(OUT / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
guard.say("\n".join(lines[2 : lines.index("Rows by number, counted from 1:") - 1]))

guard.ensure(splits["train"], "the training split has rows")
guard.ensure(splits["validation"], "the validation split has rows")
guard.ensure(splits["test"], "the test split has rows")
guard.ensure(all(learned), "every row has a token to learn")
sample = json.loads(next(take(splits["train"])).splitlines()[0])
pairs = list(zip(sample["input_ids"], sample["labels"], strict=True))
only_read = [token for token, label in pairs if label == examples.NOT_LEARNED]
learned = [label for _, label in pairs if label != examples.NOT_LEARNED]
guard.say(f"one row, what is read:    {examples.tokenizer.decode(only_read)!r}")
guard.say(f"one row, what is learned: {examples.tokenizer.decode(learned)!r}")
written = [OUT / f"{name}.jsonl" for name in splits]
guard.mark_done("data", mark, *written, *OUT.glob("*.arrow"))
