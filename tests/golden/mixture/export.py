"""Export the trained model: merge it, quantize it, and verify each result.

    python export.py            # everything that is not done
    python export.py --merge    # only the merge, which evaluate.py reads

Reads run/train/model, the base model and run/data. Writes run/merged for transformers, and what the
spec exports: GGUF files with their reports to run/quantize, and folders for vLLM and SGLang to
run/vllm. A result that differs too much from the trained model is renamed, and the script fails.
"""

import argparse
from pathlib import Path

from runtime.compare import conversations, reference
from runtime.compare.same_tokens import JudgedRows
from runtime.llama_cpp import converter
from runtime.reports.report import write_report
from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
TRAIN_ROWS = HERE / "run" / "data" / "train.jsonl"
JUDGED_ROWS = HERE / "run" / "data" / "test.jsonl"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "HuggingFaceTB/SmolLM2-360M-Instruct"
MODEL_REVISION = None
DTYPE = "bfloat16"  # as the base is: llama.cpp reads it without another rounding
NAME = "shop-mixture"
# of llama-cpp-python, which has the converter
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
TYPES = ["Q8_0"]
PREDICTED_BYTES = {"Q8_0": 386369251}  # by the types that llama.cpp gives the tensors
# in nats per token: export.py measures the expected cost of each type's rounding for this model,
# and adds a margin
MAX_DIVERGENCE = "measured"
# a share of the tokens: export.py measures how many tokens of this model each type's rounding is
# expected to change, and adds a margin
MIN_AGREEMENT = "measured"
# relative to the trained model: export.py measures the expected cost of each type's rounding for
# this model, and adds a margin
MAX_PERPLEXITY_RATIO = "measured"
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
VERIFY_TOKENS = 4096  # judged, at most: the default of `export.verify.tokens`
ANSWER_TOKENS = 128  # room for a short answer of free text

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Export the trained model.")
parser.add_argument("--model", default=MODEL, help="the folder of another base model")
parser.add_argument("--merge", action="store_true", help="stop after the merge")
parser.add_argument("--llama-cpp", type=Path, help="the folder of a llama.cpp checkout")
args = parser.parse_args()

# -----------------------------------------------------------------------------
# Merge

run = Run(HERE, stage="merge", script="export.py")
run.need_model(args.model, MODEL)
trained = HERE / "run" / "train" / "model"
if not (trained / "config.json").is_file() and not (trained / "adapter_config.json").is_file():
    run.stop("run/train/model is missing: run train.py first (see run.sh)")
run.begin()
for stage in ("prepare", "train"):
    run.check_current(stage)
options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
identity = run.identify(args.model, trained, TRAIN_ROWS)
if not run.is_done(identity):  # torch is imported only if there is something to do
    from runtime.merge.adapter_merging import merge_adapter
    from runtime.merge.merging import Job
    from runtime.merge.plain_model import PLAIN_MODEL

    job = Job(run=run, base=args.model, dtype=DTYPE, options=options, kind=PLAIN_MODEL)
    merge_adapter(job)
    run.mark_done(identity, MERGED)
if args.merge:
    raise SystemExit

# -----------------------------------------------------------------------------
# How the results are judged

BOUNDS = {
    "max_divergence": MAX_DIVERGENCE,
    "min_agreement": MIN_AGREEMENT,
    "max_perplexity_ratio": MAX_PERPLEXITY_RATIO,
}
judging = reference.Job(
    rows=JUDGED_ROWS.stem,
    tokens=VERIFY_TOKENS,
    answer_tokens=ANSWER_TOKENS,
    attention=ATTENTION,
    on_gpu=True,
)
converters = converter.Converter(sha256=SDIST_SHA256, checkout=args.llama_cpp)
inputs = [converter.find_version(), *converters.list_sources(run)]
rows = JudgedRows(path=JUDGED_ROWS, is_same=conversations.is_same)

# -----------------------------------------------------------------------------
# Quantize

run = run.begin_next("quantize")
run.check_inputs("merge")
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
    quantizing.write_files(job, identity)

# -----------------------------------------------------------------------------
# Write the report

write_report(run)
