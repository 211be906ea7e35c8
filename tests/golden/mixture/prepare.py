"""Read the data, clean it, split it, turn it into tokens.

    python prepare.py
    python prepare.py --data folder-of-the-files --model other-model

Writes run/data/{train,validation,test}.jsonl, in which each row has its `input_ids` and
its `labels` (-100 for tokens that are not learned), and report.json and report.md, which list every
row that was repaired, cut or left out.
"""

import argparse
from functools import partial
from pathlib import Path

from runtime.files import write_json
from runtime.prepare.data_report import show_row, write_report
from runtime.prepare.limiting import limit_sources
from runtime.prepare.mixture import Report, mix, name_sources
from runtime.prepare.planned import Planned, check_lengths, find_changed
from runtime.prepare.preparing import make_records, scan, start_workers, write_splits
from runtime.prepare.records import RowWork
from runtime.prepare.sources import open_source
from runtime.prepare.splitting import divide
from runtime.read.chat_rows import read_chat
from runtime.read.conversations import Conversations
from runtime.read.instruction_rows import read_instruction
from runtime.read.text_rows import read_texts
from runtime.run import Run
from runtime.tokenizer.saved_tokenizer import find_tokenizer_file
from runtime.tokenizer.tokenizer_check import check_tokenizer
from runtime.tokens.chat_labels import learn_every_answer
from runtime.tokens.chat_records import make_chats
from runtime.tokens.encoding import Encoder

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

# Of each source, in the order of the spec
SOURCES = [
    "../../../examples/chat/conversations.jsonl",
    "../../../examples/quickstart/tickets.csv",
    "../../../examples/mixture/products.csv",
]
NAMES = ["conversations.jsonl", "tickets.csv", "products.csv"]
FORMATS = ["jsonl", "csv", "csv"]
ENCODINGS = ["utf-8", "utf-8", "utf-8"]
DELIMITERS = [None, ",", ","]
FORMS = ["chat", "prompt_completion", "instruction"]
# the column of each role
COLUMNS = [
    {"messages": "messages"},
    {"prompt": "message", "completion": "intent"},
    {"instruction": "instruction", "input": "input", "output": "output"},
]
MAX_ROWS_EACH = [None, 800, None]
WEIGHTS = [4.0, 3.0, 1.0]  # by the weights 4 : 3 : 1: an epoch has every row at least once
MAX_REPEATS = [5, 4, 5]  # how often an epoch may contain a row
MODEL = "HuggingFaceTB/SmolLM2-360M-Instruct"
MODEL_REVISION = None
MAX_LENGTH = 192  # the longest row has about 190 tokens, estimated from characters
OVERLONG_SHARE = 0.0  # the share of rows longer than that, estimated from characters
SHARES = {"test": 0.1, "validation": 0.1}  # of the rows; training has the rest
SEED = 42  # the default of `training.seed`
# of the files that the plan was made for
PLANNED_SHA256 = [
    "156de54e1fdd73f0073a28f0a384f074e3d01f35a38ff5365b0079a499fd5491",
    "8612a0a5f0ae68d30347842e4e2a20590a8d4ac28c1f4fe62303225f1d530956",
    "00e3514bb820a25a3a2b733479d59363aee93a3a85acead8d6e1e02a6a1815ea",
]
PLANNED_ROWS = [240, 800, 72]  # after cleaning

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Clean, split and tokenize the data.")
parser.add_argument("--data", type=Path, help="the folder of the files")
parser.add_argument("--changed-data", action="store_true", help="accept data that changed")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
args = parser.parse_args()

run = Run(HERE, stage="prepare")
places = [
    args.data / name if args.data else HERE / source
    for source, name in zip(SOURCES, NAMES, strict=True)
]
local = [path for path in places if path]
for path in local:
    if not path.is_file():
        run.stop(f"the data file {path} does not exist: give the folder of the files with --data")
run.need_model(args.model, MODEL)

run.begin()
inputs = [*local, args.model]
identity = run.identify(*inputs)
if run.is_done(identity):
    raise SystemExit

changed = find_changed(places, identity.inputs, planned=PLANNED_SHA256, bundle=HERE)
is_intended = args.changed_data or args.data is not None  # --data is another data set on purpose
plan = Planned(run=run, rows=PLANNED_ROWS, changed=changed, is_intended=is_intended)

# -----------------------------------------------------------------------------
# The model's tokenizer

from transformers import AutoTokenizer  # noqa: E402 - slow

options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
tokenizer = AutoTokenizer.from_pretrained(args.model, **options)
tokenizer("")  # removes truncation and padding that the tokenizer's own file may set

# -----------------------------------------------------------------------------
# How each row is processed

READERS = {"chat": read_chat, "instruction": read_instruction, "prompt_completion": read_texts}


def find_files(number):
    """Return the paths of a source's files; those of the Hub are downloaded."""
    return [places[number]]


def make_source(number):
    """Return a source by its number."""
    settings = {
        "name": NAMES[number],
        "columns": COLUMNS[number],
        "read": READERS[FORMS[number]],
        "max_rows": MAX_ROWS_EACH[number],
        "kind": FORMATS[number],
        "encoding": ENCODINGS[number],
        "delimiter": DELIMITERS[number],
    }
    return open_source(partial(find_files, number), **settings)


sources = [make_source(number) for number in range(len(SOURCES))]
make = partial(make_chats, encoder=Encoder(tokenizer=tokenizer), learn=learn_every_answer)
work = RowWork(
    sources=sources,
    make=make,
    max_length=MAX_LENGTH,
    repair=True,
    conversations=Conversations(),  # a row may continue another one
)

# -----------------------------------------------------------------------------
# Choose the rows, and turn them into records

workers = start_workers(run, work)
rows = scan(run, workers, work)
rows.drop_copies()
limit_sources(rows, SEED)
plan.check_rows(rows.count_wanted())
records = make_records(run, workers, work, rows, folder=OUT)
check_lengths(run, records.lengths, max_length=MAX_LENGTH, planned_share=OVERLONG_SHARE)

# -----------------------------------------------------------------------------
# Split: rows with the same prompt, and those of one conversation, stay together

splits = divide(records, SHARES, seed=SEED, stratify=False, by_source=True)
splits["train"] = mix(
    splits["train"], records.origins, weights=WEIGHTS, max_repeats=MAX_REPEATS, seed=SEED
)

# -----------------------------------------------------------------------------
# Write, and check

write_splits(OUT, records, splits)
write_json(OUT / "test_sources.json", name_sources(rows, records, splits["test"]))
saved = find_tokenizer_file(args.model, options.get("revision"))
round_trip = check_tokenizer(run, tokenizer, saved, records, seed=SEED)
tables = write_report(
    OUT,
    rows,
    records,
    splits,
    round_trip=round_trip,
    mixture=Report(rows=rows, records=records, splits=splits),
)
run.say(tables)
for name in ("train", *SHARES):
    run.ensure(splits[name], f"the split {name} has rows")
run.ensure(all(records.learned), "every row has a token to learn")
show_row(run, tokenizer, next(records.read(splits["train"])))
written = [OUT / f"{name}.jsonl" for name in splits]
written.append(OUT / "test_sources.json")
run.mark_done(identity, *written, *OUT.glob("*.arrow"))
