"""Read the data, clean it, split it, turn it into tokens.

    python prepare.py
    python prepare.py --data other-data --model ../other-model

Writes run/data/{train,validation,test}.jsonl, in which each row has its `input_ids` and
its `labels` (-100 for tokens that are not learned), and report.json and report.md, which list every
row that was repaired, cut or left out.
"""

import argparse
from functools import partial
from pathlib import Path

from runtime.prepare.data_report import show_row, write_report
from runtime.prepare.planned import Planned, check_lengths, find_changed
from runtime.prepare.preparing import make_records, scan, start_workers, write_splits
from runtime.prepare.records import RowWork, Source
from runtime.prepare.splitting import divide
from runtime.read.json_files import parse_lines, read_jsonl
from runtime.read.text_rows import read_texts
from runtime.run import Run
from runtime.tokenizer.saved_tokenizer import find_tokenizer_file
from runtime.tokenizer.tokenizer_check import check_tokenizer
from runtime.tokens.chat_records import learn_last_answer, make_chats
from runtime.tokens.encoding import Encoder

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

DATA = "../../../examples/grpo/sums.jsonl"
ENCODING = "utf-8"
COLUMNS = {"prompt": "prompt", "completion": "completion"}  # the column of each role
MODEL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
MODEL_REVISION = None
MAX_LENGTH = 40  # the longest row has about 38 tokens, estimated from characters
OVERLONG_SHARE = 0.0  # the share of rows longer than that, estimated from characters
SHARES = {"test": 0.1, "validation": 0.1}  # of the rows; training has the rest
SEED = 42  # the default of `training.seed`
# of the files that the plan was made for
PLANNED_SHA256 = ["976d3d53cc3f2de29420f870b9af7765157c17a2d5b0914442cfb90d4ae73d1c"]
PLANNED_ROWS = [400]  # after cleaning

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Clean, split and tokenize the data.")
parser.add_argument("--data", type=Path, default=HERE / DATA, help="another file of the same form")
parser.add_argument("--changed-data", action="store_true", help="accept data that changed")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
args = parser.parse_args()

run = Run(HERE, stage="prepare")
if not args.data.is_file():
    run.stop(f"the data file {args.data} does not exist: give its path with --data")
run.need_model(args.model, MODEL)

run.begin()
inputs = [args.data, args.model]
identity = run.identify(*inputs)
if run.is_done(identity):
    raise SystemExit

changed = find_changed([args.data], identity.inputs, planned=PLANNED_SHA256, bundle=HERE)
is_intended = args.changed_data or args.data != HERE / DATA  # --data is another one on purpose
plan = Planned(run=run, rows=PLANNED_ROWS, changed=changed, is_intended=is_intended)

# -----------------------------------------------------------------------------
# The model's tokenizer

from transformers import AutoTokenizer  # noqa: E402 - slow

options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
tokenizer = AutoTokenizer.from_pretrained(args.model, **options)
tokenizer("")  # removes truncation and padding that the tokenizer's own file may set

# -----------------------------------------------------------------------------
# How each row is processed

source = Source(
    columns=COLUMNS,
    read=read_texts,
    chunks=partial(read_jsonl, [args.data], encoding=ENCODING),
    unpack=parse_lines,
)
make = partial(
    make_chats,
    encoder=Encoder(tokenizer=tokenizer),
    learn=learn_last_answer,
    keep_prompt=True,  # as text, which rewards get
)
work = RowWork(sources=[source], make=make, max_length=MAX_LENGTH, repair=True)

# -----------------------------------------------------------------------------
# Choose the rows, and turn them into records

workers = start_workers(run, work)
rows = scan(run, workers, work)
rows.drop_copies()
plan.check_rows(rows.count_wanted())
records = make_records(run, workers, work, rows, folder=OUT)
check_lengths(run, records.lengths, max_length=MAX_LENGTH, planned_share=OVERLONG_SHARE)

# -----------------------------------------------------------------------------
# Split: rows with the same prompt, and those of one conversation, stay together

splits = divide(records, SHARES, seed=SEED, stratify=False, by_source=False)

# -----------------------------------------------------------------------------
# Write, and check

write_splits(OUT, records, splits)
saved = find_tokenizer_file(args.model, options.get("revision"))
round_trip = check_tokenizer(run, tokenizer, saved, records, seed=SEED)
run.say(write_report(OUT, rows, records, splits, round_trip=round_trip))
for name in ("train", *SHARES):
    run.ensure(splits[name], f"the split {name} has rows")
run.ensure(all(records.learned), "every row has a token to learn")
show_row(run, tokenizer, next(records.read(splits["train"])))
written = [OUT / f"{name}.jsonl" for name in splits]
run.mark_done(identity, *written, *OUT.glob("*.arrow"))
