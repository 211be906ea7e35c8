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
from runtime.prepare.planned import Planned, check_lengths, check_planned_lengths, find_changed
from runtime.prepare.preparing import make_records, scan, start_workers, write_splits
from runtime.prepare.records import RowWork, Source
from runtime.prepare.splitting import divide
from runtime.read.csv_files import read_csv
from runtime.read.text_rows import read_texts
from runtime.run import Run
from runtime.tokenizer.saved_tokenizer import find_tokenizer_file
from runtime.tokenizer.tokenizer_match import match_tokenizer
from runtime.tokens.chat_records import learn_last_answer, make_chats
from runtime.tokens.encoding import Encoder

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "data"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

DATA = "../../../examples/quickstart/tickets.csv"
ENCODING = "utf-8"
DELIMITER = ","
COLUMNS = {"prompt": "message", "completion": "intent"}  # the column of each role
MODEL = "../../../examples/quickstart/model"
MAX_LENGTH = 120  # the longest row has 116 tokens, so none is cut
OVERLONG_SHARE = 0.0  # the share of rows longer than that, counted with the model's tokenizer
SHARES = {"test": 0.1, "validation": 0.1}  # of the rows; training has the rest
SEED = 42  # the default of `training.seed`
# of the files that the plan was made for
PLANNED_SHA256 = ["8612a0a5f0ae68d30347842e4e2a20590a8d4ac28c1f4fe62303225f1d530956"]
PLANNED_ROWS = [3000]  # after cleaning
PLANNED_P95 = 61  # the 95th percentile of the rows' lengths, in tokens

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Clean, split and tokenize the data.")
parser.add_argument("--data", type=Path, default=HERE / DATA, help="another file of the same form")
parser.add_argument("--changed-data", action="store_true", help="accept data that changed")
parser.add_argument("--model", type=Path, default=HERE / MODEL, help="the model's folder")
args = parser.parse_args()

run = Run(HERE, stage="prepare")
if not args.data.is_file():
    run.stop(f"the data file {args.data} does not exist: give its path with --data")
run.need_model(args.model)

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

tokenizer = AutoTokenizer.from_pretrained(args.model)
tokenizer("")  # removes truncation and padding that the tokenizer's own file may set

# -----------------------------------------------------------------------------
# How each row is processed

source = Source(
    columns=COLUMNS,
    read=read_texts,
    chunks=partial(read_csv, [args.data], encoding=ENCODING, delimiter=DELIMITER),
)
make = partial(make_chats, encoder=Encoder(tokenizer=tokenizer), learn=learn_last_answer)
work = RowWork(sources=[source], make=make, max_length=MAX_LENGTH, repair=True, keep_answers=True)

# -----------------------------------------------------------------------------
# Choose the rows, and turn them into records

workers = start_workers(run, work)
rows = scan(run, workers, work)
rows.drop_copies()
plan.check_rows(rows.count_wanted())
records = make_records(run, workers, work, rows, folder=OUT)
check_lengths(run, records.lengths, max_length=MAX_LENGTH, planned_share=OVERLONG_SHARE)
check_planned_lengths(plan, records.lengths, planned_p95=PLANNED_P95)

# -----------------------------------------------------------------------------
# Split: rows with the same prompt, and those of one conversation, stay together

splits = divide(records, SHARES, seed=SEED, stratify=True, by_source=False)

# -----------------------------------------------------------------------------
# Write, and check

write_splits(OUT, records, splits)
saved = find_tokenizer_file(args.model)
round_trip = match_tokenizer(run, tokenizer, saved, records, seed=SEED)
tables = write_report(OUT, rows, records, splits, round_trip=round_trip, count_labels=True)
run.say(tables)
for name in ("train", *SHARES):
    run.ensure(splits[name], f"the split {name} has rows")
run.ensure(all(records.learned), "every row has a token to learn")
show_row(run, tokenizer, next(records.read(splits["train"])))
written = [OUT / f"{name}.jsonl" for name in splits]
run.mark_done(identity, *written, *OUT.glob("*.arrow"))
