"""Read the data, clean it, split it, turn it into tokens.

    python prepare.py
    python prepare.py --data folder-of-the-files --model other-model

Reads the data and the model's tokenizer. Writes run/data/{train,validation,test}.jsonl, in which
each row has its `input_ids` and its `labels` (-100 where nothing is learned), and report.json and
report.md, which list every row that was repaired, cut or left out, and why.

The data are read twice, a chunk at a time, by as many processes as there are cores: once to see
which rows are good for training, once to turn those into tokens. In memory are only a few numbers
per row, whatever the size of the file.
"""

import argparse
import atexit
import csv
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
import mixture

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# What was decided, and why

# Of each source, in the order of the spec
SOURCES = [
    "../../../examples/chat/conversations.jsonl", "../../../examples/quickstart/tickets.csv",
    "../../../examples/mixture/products.csv",
]
NAMES = ["conversations.jsonl", "tickets.csv", "products.csv"]
ENCODINGS = ["utf-8", "utf-8", "utf-8"]
DELIMITERS = [None, ",", ","]
MAX_ROWS_EACH = [None, 800, None]
MODEL = "HuggingFaceTB/SmolLM2-360M-Instruct"
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
parser.add_argument("--data", type=Path, help="the folder that the files lie in")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
args = parser.parse_args()

places = [
    args.data / name if args.data else HERE / source
    for source, name in zip(SOURCES, NAMES, strict=True)
]
local = places
for path in local:
    if not path.is_file():
        guard.stop(f"the data file {path} is not there: give the folder of the files with --data")
guard.need_model(args.model, MODEL)

guard.lock()
mark = guard.fingerprint(
    __file__,
    HERE / "examples.py",
    HERE / "mixture.py",
    *local,
    args.model,
)
if guard.is_done("data", mark):
    raise SystemExit

# -----------------------------------------------------------------------------
# Read

def read_csv(path, number):
    """Yield the rows of a table in chunks; None stands for one that is broken."""
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding=ENCODINGS[number], errors="replace", newline="") as file:
        lines = filter(None, csv.reader(file, delimiter=DELIMITERS[number]))
        header = next(lines, [])
        # More cells than columns: nobody knows which belongs where.
        rows = (c if len(c) <= len(header) else None for c in lines)
        yield from cut(c and dict(zip(header, c, strict=False)) for c in rows)


def read_jsonl(path, number):
    """Yield lines in chunks."""
    with path.open(encoding=ENCODINGS[number], errors="replace") as file:
        yield from cut(filter(str.strip, file))


READERS = {
    "csv": read_csv,
    "jsonl": read_jsonl,
}


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

files = [[path] for path in places]


def chunks():
    """Yield the chunks of all files, each with the number of its source."""
    for number, paths in enumerate(files):
        read = READERS[examples.FORMATS[number]]
        for chunk in chain.from_iterable(read(path, number) for path in paths):
            yield number, chunk


changes = defaultdict(lambda: array("Q"))  # what happened -> rows, counted from 1
columns, keys = [set() for _ in SOURCES], array("Q")
counted = [0] * len(SOURCES)  # the rows of each source
for number, found, looks in spread(examples.look, chunks()):
    columns[number] |= found
    counted[number] += len(looks)
    for what, key in looks:
        keys.append(key)
        if what:
            changes[what].append(len(keys))
for name, found, roles in zip(NAMES, columns, examples.COLUMNS, strict=True):
    needed = set(roles.values())
    if not needed <= found:
        said = f"{name} has the columns {sorted(found, key=str)}"
        guard.stop(f"{said}, and {sorted(needed)} are needed")
sources = numpy.repeat(numpy.arange(len(SOURCES), dtype="uint8"), counted)  # of each row
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
for number, most in enumerate(MAX_ROWS_EACH):
    beyond = numpy.flatnonzero(wanted & (sources == number))
    if most is not None and len(beyond) > most:
        drawn = sorted(random.Random(SEED).sample(range(len(beyond)), most))
        beyond = numpy.delete(beyond, drawn)
        changes["beyond max_rows"].extend((beyond + 1).tolist())
        wanted[beyond] = False

# -----------------------------------------------------------------------------
# Turn them into records, which go to disk as they come

OUT.mkdir(parents=True, exist_ok=True)
records = tempfile.TemporaryFile(dir=OUT)
lengths, learned, prompts = array("I"), array("B"), array("Q")
labels, names = array("I"), {}  # of each record the place of its label's name
origins = array("B")  # of each record the number of its source
ends = array("Q", [0])


def jobs():
    """Yield each chunk, and which of its rows are wanted."""
    start = 0
    for number, chunk in chunks():
        yield (number, chunk), wanted[start : start + len(chunk)]
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
        origins.append(sources[row - 1])
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
    walk = numpy.lexsort((chances, numpy.asarray(origins)[firsts]))
    # Walking the groups by source, each split takes the next group when it is owed half of one: its
    # share of every source is then exact to a row.
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
splits["train"] = mixture.mix(splits["train"], numpy.asarray(origins), SEED)

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
    names = [name for name in row if name != "messages"]
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


def place_of(row):
    """Return the source of a row of the whole, and its number there, counted from 1."""
    source = int(sources[row - 1])
    return {"source": NAMES[source], "row": row - sum(counted[:source])}


def held_of(number):
    """Return what came of a source's rows; repeats count in training."""
    of = numpy.asarray(origins)
    rows = {name: int((of[split] == number).sum()) for name, split in splits.items()}
    return {"source": NAMES[number], "read": counted[number], "used": origins.count(number), **rows}


report = {
    "rows_read": len(wanted),
    "rows_used": len(learned),
    "changes": counts,
    "splits": {name: len(split) for name, split in splits.items()},
    "tokens": {f"p{p}": int(ordered[(len(ordered) - 1) * p // 100]) for p in (50, 90, 95, 99, 100)},
    "sources": [held_of(number) for number in range(len(SOURCES))],
    "changed_rows": [
        {**place_of(row), "what": what}
        for row, what in sorted((row, what) for what in counts for row in changes[what])
    ],
}
guard.write_json(OUT / "report.json", report)
lines = ["# Data report", "", "| what | rows |", "| --- | ---: |", f"| read | {len(wanted):,} |"]
lines += [f"| {what} | {count:,} |" for what, count in counts.items()]
lines += [f"| in {name} | {len(split):,} |" for name, split in splits.items()]
lines += ["", "| source | read | used | train | validation | test |"]
lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
for held in report["sources"]:
    name, *numbers = held.values()
    lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")
lines += ["", f"Tokens per row: {report['tokens']}.", "", "Rows by number, counted from 1:", ""]
for what in counts:
    rows = (place_of(row).values() for row in sorted(changes[what]))
    lines.append(f"- {what}: {', '.join(f'{name} {row:,}' for name, row in rows)}")
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
