#!/usr/bin/env bash
# All stages of this run, in order. A stage that is done and still valid is not repeated:
# starting this again after any kind of end goes on from there.
#
#   ./run.sh
#   ./run.sh --data OTHER-FILE --model OTHER-FOLDER
set -euo pipefail

absolute() {  # a path as seen from anywhere; what is no path is an id
  if [[ -e "$1" ]]; then realpath -- "$1"; else printf '%s' "$1"; fi
}

data=()
model=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --data) data=(--data "$(absolute "${2:?--data needs a path}")"); shift 2 ;;
    --model) model=(--model "$(absolute "${2:?--model needs a path}")"); shift 2 ;;
    *) echo "usage: ./run.sh [--data FILE] [--model FOLDER]" >&2; exit 2 ;;
  esac
done

cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
if [[ -d .venv ]]; then
  PATH="$PWD/.venv/bin:$PATH"
fi
export TOKENIZERS_PARALLELISM=false
export PYTORCH_ALLOC_CONF=expandable_segments:True  # less memory lost between blocks

PREEMPTED=75  # of survival.py: saved after SIGTERM
OUT_OF_MEMORY=76  # of survival.py: too little memory for this row of the ladder
RESTARTS=20  # at most, in all
ROWS=2  # of the ladder of batches in train.py

python prepare.py "${data[@]}" "${model[@]}"

launch=(accelerate launch --config_file accelerate.yaml train.py)
told_to_stop=false
launcher=none
trap 'told_to_stop=true; kill -TERM -- "-$launcher" 2>/dev/null || true' TERM INT
row=0
for ((restart = 0; ; restart++)); do
  rm -f run/train/exit_code.json
  setsid "${launch[@]}" --row "$row" "${model[@]}" &
  launcher=$!
  status=0
  wait "$launcher" || status=$?
  flock run/.lock true  # a process that is still saving holds the lock
  if [[ "$status" -eq 0 ]]; then
    break
  fi
  code=1
  if [[ -f run/train/exit_code.json ]]; then
    code=$(tr -cd 0-9 <run/train/exit_code.json)
  fi
  if [[ "$told_to_stop" == true ]]; then
    exit "$PREEMPTED"
  fi
  if [[ "$code" -eq "$OUT_OF_MEMORY" ]]; then
    row=$((row + 1))
  elif [[ "$code" -ne "$PREEMPTED" ]]; then
    exit 1
  fi
  if [[ "$row" -ge "$ROWS" || "$restart" -ge "$RESTARTS" ]]; then
    echo "run.sh: training does not fit or was stopped too often" >&2
    exit "$code"
  fi
done
trap - TERM INT

python merge.py "${model[@]}"
python evaluate.py
python quantize.py
python report.py
