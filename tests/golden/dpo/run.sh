#!/usr/bin/env bash
# Runs all stages of this bundle in order. A stage that is done and up to date is skipped:
# run this again after any interruption, and it resumes.
#
#   ./run.sh
#   ./run.sh --pilot    # only measures a few steps of training, and compares them with the plan
#   ./run.sh --data OTHER-FILE --model OTHER-FOLDER
#   ./run.sh --changed-data    # accept that the data changed after this bundle was compiled
set -euo pipefail

caller=$PWD
CDPATH="" cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
if [[ -d .venv ]]; then
  PATH="$PWD/.venv/bin:$PATH"
fi
export TOKENIZERS_PARALLELISM=false
export PYTORCH_ALLOC_CONF=expandable_segments:True  # loses less memory to fragmentation

# runtime/supervise.py runs these commands. `[...]` is an argument of this script, if it is given.
supervise=(python -m runtime.supervise --caller "$caller")

supervise+=(--restarts 20)  # of training, after a signal or out of memory
exec "${supervise[@]}" -- "$@" <<STAGES
prepare.py [--data DATA] [--changed-data] [--model MODEL]
accelerate launch --quiet --config_file accelerate.yaml train.py [--model MODEL] [--pilot]
export.py --merge [--model MODEL]
evaluate.py [--base MODEL]
export.py [--model MODEL]
STAGES
