"""Export the trained model: merge it, quantize it, and verify each result.

    python export.py            # everything that is not done
    python export.py --merge    # only the merge, which evaluate.py reads

Reads run/train/model, the base model and run/data. Writes run/merged for transformers, and what the
spec exports: GGUF files with their reports to run/quantize, and folders for vLLM and SGLang to
run/vllm. A result that differs too much from the trained model is renamed, and the script fails.
"""

import argparse
from pathlib import Path

import runtime.metric.accuracy as metric
from runtime.compare import conversations, reference
from runtime.compare.same_tokens import JudgedRows
from runtime.export import gguf_answers
from runtime.llama_cpp import converter
from runtime.reports.report import write_report
from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
TRAIN_ROWS = HERE / "run" / "data" / "train.jsonl"
JUDGED_ROWS = HERE / "run" / "data" / "test.jsonl"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "../../../examples/quickstart/model"
# of the 16-bit formats the nearest to float32: llama.cpp reads it without another rounding
DTYPE = "float16"
NAME = "support-triage"
# of llama-cpp-python, which has the converter
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
TYPES = ["Q8_0", "Q4_K_M"]
# by the types that llama.cpp gives the tensors
PREDICTED_BYTES = {"Q8_0": 2977736, "Q4_K_M": 1804232}
# in nats per token: export.py measures the expected cost of each type's rounding for this model,
# and adds a margin
MAX_DIVERGENCE = "measured"
# a share of the tokens: export.py measures how many tokens of this model each type's rounding is
# expected to change, and adds a margin
MIN_AGREEMENT = "measured"
# relative to the trained model: export.py measures the expected cost of each type's rounding for
# this model, and adds a margin
MAX_PERPLEXITY_RATIO = "measured"
# a share of the answers: export.py measures the expected cost of each type's rounding for this
# model, and adds three standard errors of the difference on at most 300 rows
MAX_METRIC_DROP = "measured"
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
VERIFY_TOKENS = 4096  # judged, at most: the default of `export.verify.tokens`
METRIC = "accuracy"  # the answers are 12 labels, so an answer is right or wrong
ANSWER_TOKENS = 15  # the longest label has 15 characters

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Export the trained model.")
parser.add_argument("--model", type=Path, default=HERE / MODEL, help="the base model's folder")
parser.add_argument("--merge", action="store_true", help="stop after the merge")
parser.add_argument("--llama-cpp", type=Path, help="the folder of a llama.cpp checkout")
args = parser.parse_args()

# -----------------------------------------------------------------------------
# Merge

run = Run(HERE, stage="merge", script="export.py")
run.need_model(args.model)
trained = HERE / "run" / "train" / "model"
if not (trained / "config.json").is_file() and not (trained / "adapter_config.json").is_file():
    run.stop("run/train/model is missing: run train.py first (see run.sh)")
run.begin()
for stage in ("prepare", "train"):
    run.check_current(stage)
identity = run.identify(args.model, trained, TRAIN_ROWS)
if not run.is_done(identity):  # torch is imported only if there is something to do
    from runtime.merge.merging import Job
    from runtime.merge.plain_model import PLAIN_MODEL
    from runtime.merge.whole_merging import cast_weights

    job = Job(run=run, base=args.model, dtype=DTYPE, kind=PLAIN_MODEL)
    cast_weights(job)
    run.mark_done(identity, MERGED)
if args.merge:
    raise SystemExit

# -----------------------------------------------------------------------------
# How the results are judged

BOUNDS = {
    "max_divergence": MAX_DIVERGENCE,
    "min_agreement": MIN_AGREEMENT,
    "max_perplexity_ratio": MAX_PERPLEXITY_RATIO,
    "max_metric_drop": MAX_METRIC_DROP,
}
judging = reference.Job(
    rows=JUDGED_ROWS.stem,
    tokens=VERIFY_TOKENS,
    answer_tokens=ANSWER_TOKENS,
    attention=ATTENTION,
    on_gpu=False,
    answered={"module": gguf_answers.__name__, "scorer": metric.__name__, "metric": METRIC},
)
converters = converter.Converter(sha256=SDIST_SHA256, checkout=args.llama_cpp)
inputs = [converter.find_version(), *converters.list_sources(run)]
rows = JudgedRows(path=JUDGED_ROWS, is_same=conversations.is_same)

# -----------------------------------------------------------------------------
# Quantize

run = run.begin_next("quantize")
run.check_inputs("merge")
inputs.append(gguf_answers.find_predictions(run))
identity = run.identify(MERGED, JUDGED_ROWS, *inputs)
if not run.is_done(identity):
    from runtime.export import quantizing

    job = quantizing.Job(
        run=run,
        name=NAME,
        types=TYPES,
        predicted_bytes=PREDICTED_BYTES,
        bounds=BOUNDS,
        converter=converters,
        judged=rows,
        fidelity=judging,
    )
    quantizing.write_files(job, identity, metric=METRIC)

# -----------------------------------------------------------------------------
# Write the report

write_report(run)
