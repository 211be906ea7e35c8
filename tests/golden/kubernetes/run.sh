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
NODE_RANK=$PET_NODE_RANK MASTER_ADDR=$PET_MASTER_ADDR MASTER_PORT=$PET_MASTER_PORT
# This runs on every node, in a folder that all of them see: the first one prepares and exports.
: "${NODE_RANK:?0 on the first node, 1 on the next}" "${MASTER_ADDR:?the first node}"
export NODE_RANK MASTER_ADDR MASTER_PORT="${MASTER_PORT:-29500}"
export TOKENIZERS_PARALLELISM=false
export PYTORCH_ALLOC_CONF=expandable_segments:True  # less memory lost between blocks

PREEMPTED=75  # of survival.py: saved after SIGTERM

if [[ "$NODE_RANK" -eq 0 ]]; then
  python prepare.py "${data[@]}" "${model[@]}"
else
  echo "run.sh: node $NODE_RANK waits for $MASTER_ADDR to train"
  until (: <"/dev/tcp/$MASTER_ADDR/$MASTER_PORT") 2>/dev/null; do
    sleep 2
  done
fi

launch=(./node.sh)
told_to_stop=false
launcher=none
trap 'told_to_stop=true; kill -TERM -- "-$launcher" 2>/dev/null || true' TERM INT
row=0
for ((restart = 0; ; restart++)); do
  if [[ "$NODE_RANK" -eq 0 ]]; then
    rm -f run/train/exit_code.json
  fi
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
  exit "$code"  # whoever started the nodes starts all of them again
done
trap - TERM INT
if [[ "$NODE_RANK" -ne 0 ]]; then
  exit 0  # the first node goes on alone
fi

python merge.py "${model[@]}"
python evaluate.py
python report.py
