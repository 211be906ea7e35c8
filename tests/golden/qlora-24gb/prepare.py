"""Read the data, clean it, split it, turn it into tokens.

    python prepare.py
    python prepare.py --data other-data --model another/model

Reads the data and the model's tokenizer. Writes run/data/{train,validation,test}.jsonl, in which
each row has its `input_ids` and its `labels` (-100 where nothing is learned), and report.json and
report.md, which list every row that was repaired, cut or left out, and why.
"""

import argparse
import csv
import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

from transformers import AutoTokenizer

import guard

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# What was decided, and why

DATA = "../../../examples/quickstart/tickets.csv"
ENCODING = "utf-8"
DELIMITER = ","
PROMPT_COLUMN = "message"
COMPLETION_COLUMN = "intent"
SYSTEM = "Name the intent of the customer's message."
MODEL = "Qwen/Qwen2.5-14B-Instruct"
MODEL_REVISION = None
MAX_LENGTH = 96  # the longest row has about 92 tokens, estimated from characters
OVERLONG_SHARE = 0.0  # the share of rows longer than that, estimated from characters
TEST_SHARE = 0.1
VALIDATION_SHARE = 0.1
SEED = 42  # the default of `training.seed`

NOT_LEARNED = -100  # the label that the loss leaves out
MARGIN = 0.01  # share of the rows that may be over-long beyond what the plan said

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Clean, split and tokenise the data.")
parser.add_argument("--data", type=Path, default=HERE / DATA, help="another file of the same form")
parser.add_argument("--model", default=MODEL, help="a model's id or its folder")
args = parser.parse_args()

if not args.data.is_file():
    guard.stop(f"the data file {args.data} is not there: give its path with --data")

guard.lock()
mark = guard.fingerprint(__file__, args.data, args.model)
if guard.is_done("data", mark):
    raise SystemExit

# -----------------------------------------------------------------------------
# Read

needed = [PROMPT_COLUMN, COMPLETION_COLUMN]

def read(path):
    """Return the rows of a file; None stands for one that is broken, to be counted below."""
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding=ENCODING, errors="replace", newline="") as file:
        header, *lines = [cells for cells in csv.reader(file, delimiter=DELIMITER) if cells]
    # More cells than columns: nobody knows which belongs where.
    whole = [cells if len(cells) <= len(header) else None for cells in lines]
    return [cells and dict(zip(header, cells, strict=False)) for cells in whole]


rows = read(args.data)
columns = {column for row in rows if isinstance(row, dict) for column in row}
if not set(needed) <= columns:
    guard.stop(f"the data has the columns {sorted(columns, key=str)}, and {needed} are needed")
guard.say(f"read {len(rows):,} rows")

# -----------------------------------------------------------------------------
# Clean: every row that is changed or left out is counted and listed

changes = []  # (row, what happened), rows counted from 1


def clean(text):
    """Return the text as it is trained on."""
    return repair(text).strip()


def fold(text):
    """Return the form by which texts are compared: NFC, every run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


# UTF-8 that was read as cp1252 or latin-1: a lead byte and the continuation bytes it needs.
CP1252 = {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
UNDO = {ord(letter): byte for letter, byte in CP1252.items() if letter}
TAIL = "".join(map(chr, [*range(0x80, 0xC0), *UNDO]))
MISENCODED = re.compile(
    f"[\xc2-\xc5\xce-\xd1][{TAIL}]|[\xe2\xef][{TAIL}][{TAIL}]|\xf0[{TAIL}][{TAIL}][{TAIL}]|\ufffd"
)


def repair(text):
    """Read the text as UTF-8 again where that leaves fewer wrong sequences in it."""
    wrong = len(MISENCODED.findall(text))
    if not wrong:
        return text
    try:
        repaired = text.translate(UNDO).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
    return repaired if len(MISENCODED.findall(repaired)) < wrong else text


def cell(row, column):
    """Return a cell as text: a missing one is empty, a number its digits."""
    value = row.get(column)
    return "" if value is None else str(value)


def read_turns(row):
    """Return a row as (role, text) pairs, the answer last."""
    return [("user", cell(row, PROMPT_COLUMN)), ("assistant", cell(row, COMPLETION_COLUMN))]


seen = set()
examples = []
for number, row in enumerate(rows, start=1):
    whole = isinstance(row, dict) and not any(isinstance(row.get(c), list | dict) for c in needed)
    raw = read_turns(row) if whole else None
    if raw is None:
        changes.append((number, "malformed"))
        continue
    turns = [(role, clean(text)) for role, text in raw]
    if not turns or not all(text for _, text in turns):
        changes.append((number, "blank"))
        continue
    if any(repair(text) != text for _, text in raw):
        changes.append((number, "repaired"))
    key = "\x1f".join(fold(text) for _, text in turns)
    if key in seen:
        changes.append((number, "duplicate"))
        continue
    seen.add(key)
    examples.append((number, turns))

# -----------------------------------------------------------------------------
# Tokenise: the whole row at once, and what is learned found by rendering its beginnings

options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
tokenizer = AutoTokenizer.from_pretrained(args.model, **options)


def render(messages):
    """Return the tokens of a conversation; the white space behind its last turn is not learned."""
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    return tokenizer(text.rstrip(), add_special_tokens=False)["input_ids"]


def render_prompt(messages):
    """Return the tokens of a conversation up to where the model answers."""
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def shared(first, second):
    """Return how many tokens two lists have in common at their start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def mask(ids, messages):
    """Return the labels: every turn of the assistant, its closing token included."""
    labels = [NOT_LEARNED] * len(ids)
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            before = render_prompt(messages[:i])
            begin, end = shared(ids, before), shared(ids, render(messages[: i + 1]))
            if begin < len(before) - 1 or end <= begin:
                guard.stop(f"the chat template rewrites earlier turns, as in {messages}")
            labels[begin:end] = ids[begin:end]
    return labels


def tokenise(turns):
    """Return the row: its tokens, its labels and what evaluation needs."""
    messages = [{"role": role, "content": text} for role, text in turns]
    if messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    ids = render(messages)
    labels = mask(ids, messages)
    return {
        "input_ids": ids,
        "labels": labels,
        "prompt_ids": render_prompt(messages[:-1]),
        "messages": messages,
        "answer": turns[-1][1],
    }


records = []
lengths = []
for number, turns in examples:
    record = tokenise(turns)
    lengths.append(len(record["input_ids"]))
    if lengths[-1] > MAX_LENGTH:
        changes.append((number, "overlong"))
        continue
    records.append((fold("\x1f".join(text for _, text in turns[:-1])), turns[-1][1], record))

overlong = sum(length > MAX_LENGTH for length in lengths)
if not records:
    guard.stop(f"no row is left of {len(rows):,}: {dict(Counter(what for _, what in changes))}")
if overlong > (OVERLONG_SHARE + MARGIN) * len(lengths):
    guard.stop(
        f"{overlong:,} of {len(lengths):,} rows are longer than {MAX_LENGTH} tokens, the longest"
        f" has {max(lengths):,}, and the plan said {OVERLONG_SHARE:.1%} of rows:"
        " set data.max_length in the spec and compile again"
    )

# -----------------------------------------------------------------------------
# Split: rows with the same prompt stay together

draw = random.Random(SEED)
groups = {}
for prompt, label, record in records:
    groups.setdefault(prompt, (label, draw.random(), []))[2].append(record)
splits = {name: [] for name in ("train", "validation", "test")}
# Walking the groups by label, each split takes the next group when it is owed half of one: its
# share of every label is then exact to a row.
shares = {"test": TEST_SHARE, "validation": VALIDATION_SHARE}
owed = dict.fromkeys(shares, 0.0)
for _, _, group in sorted(groups.values(), key=lambda group: group[:2]):
    for name, share in shares.items():
        owed[name] += share * len(group)
    chosen = max(owed, key=owed.get)
    if owed[chosen] >= len(group) / 2:
        owed[chosen] -= len(group)
        splits[chosen] += group
    else:
        splits["train"] += group
for split in splits.values():
    draw.shuffle(split)

# -----------------------------------------------------------------------------
# Write, and show what is learned

for name, split in splits.items():
    guard.write_rows(OUT / f"{name}.jsonl", split)

counts = Counter(what for _, what in changes)
ordered = sorted(lengths)
report = {
    "rows_read": len(rows),
    "rows_used": len(records),
    "changes": dict(counts),
    "splits": {name: len(split) for name, split in splits.items()},
    "tokens": {f"p{p}": ordered[(len(ordered) - 1) * p // 100] for p in (50, 90, 95, 99, 100)},
    "labels": Counter(record["answer"] for _, _, record in records).most_common(),
    "changed_rows": [{"row": number, "what": what} for number, what in sorted(changes)],
}
guard.write_json(OUT / "report.json", report)
lines = ["# Data report", "", "| what | rows |", "| --- | ---: |", f"| read | {len(rows):,} |"]
lines += [f"| {what} | {count:,} |" for what, count in counts.most_common()]
lines += [f"| in {name} | {len(split):,} |" for name, split in splits.items()]
lines += ["", f"Tokens per row: {report['tokens']}.", "", "Rows by number, counted from 1:", ""]
for what in counts:
    numbers = [f"{number:,}" for number, change in sorted(changes) if change == what]
    lines.append(f"- {what}: {', '.join(numbers)}")
(OUT / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
guard.say("\n".join(lines[2 : lines.index("Rows by number, counted from 1:") - 1]))

sample = splits["train"][0]
read = [i for i, x in zip(sample["input_ids"], sample["labels"], strict=True) if x == NOT_LEARNED]
learned = [label for label in sample["labels"] if label != NOT_LEARNED]
guard.say(f"one row, what is read:    {tokenizer.decode(read)!r}")
guard.say(f"one row, what is learned: {tokenizer.decode(learned)!r}")

every = [record for split in splits.values() for record in split]
guard.ensure(
    all(any(label != NOT_LEARNED for label in record["labels"]) for record in every),
    "every row has a token to learn",
)
guard.ensure(splits["train"], "the training split has rows")
guard.ensure(splits["validation"], "the validation split has rows")
guard.ensure(splits["test"], "the test split has rows")
guard.mark_done("data", mark, *(OUT / f"{name}.jsonl" for name in splits))
