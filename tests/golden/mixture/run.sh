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
python=(python)
export TOKENIZERS_PARALLELISM=false
export PYTORCH_ALLOC_CONF=expandable_segments:True  # less memory lost between blocks

PREEMPTED=75  # of survival.py: saved after a signal
OUT_OF_MEMORY=76  # of survival.py: it has noted a smaller batch for the next time
RESTARTS=20  # at most, in all

# A stage runs in a session of its own, so that signals reach it from here alone.
running=none
stage=prepare.py
told_to_stop=false

relay() {  # training saves at the end of its step; any other stage is done anew by the next start
  if [[ "$told_to_stop" == true && "$1" == INT ]]; then
    # shellcheck disable=SC2046  # these are numbers
    kill -KILL -- $(cat "/proc/$running/task/"*/children) "-$running" 2>/dev/null || true
  elif [[ "$stage" == train.py ]]; then
    touch run/stop
    echo "run.sh: training saves at the end of this step (Ctrl-C again ends it at once)" >&2
  else
    kill -TERM -- "-$running" 2>/dev/null || true
  fi
  told_to_stop=true
}
trap 'relay TERM' TERM USR1
trap 'relay INT' INT

stop_if_told() {
  if [[ "$told_to_stop" == true ]]; then
    echo "run.sh: told to stop in $stage; ./run.sh goes on from what is done and saved" >&2
    exit "$PREEMPTED"
  fi
}

run() {  # NAME COMMAND...: a stage to its end, whatever signals come
  stop_if_told
  stage=$1
  setsid "${@:2}" &
  running=$!
  while true; do
    status=0
    wait "$running" || status=$?
    kill -0 "$running" 2>/dev/null || break
  done
  if [[ "$stage" == train.py ]]; then
    flock run/.lock true  # a process that is still saving holds the lock
  fi
  stop_if_told
  return "$status"
}

rm -f run/stop
run prepare.py "${python[@]}" prepare.py "${data[@]}" "${model[@]}"

launch=(accelerate launch --quiet --config_file accelerate.yaml train.py)
for ((restart = 0; ; restart++)); do
  rm -f run/train/exit_code.json
  kills=$(grep -s '^oom_kill ' /proc/vmstat | tr -cd 0-9) || true  # for memory, by the kernel
  if run train.py "${launch[@]}" "${model[@]}"; then
    break
  fi
  if [[ ! -f run/train/exit_code.json ]]; then
    "${python[@]}" killed.py "${kills:-0}" || true
  fi
  code=1
  if [[ -f run/train/exit_code.json ]]; then
    code=$(tr -cd 0-9 <run/train/exit_code.json)
  fi
  if [[ "$code" -ne "$PREEMPTED" && "$code" -ne "$OUT_OF_MEMORY" ]]; then
    exit "$code"
  fi
  if [[ "$restart" -ge "$RESTARTS" ]]; then
    echo "run.sh: training was started again $RESTARTS times, and still does not end" >&2
    exit "$code"
  fi
done

run merge.py "${python[@]}" merge.py "${model[@]}"
run evaluate.py "${python[@]}" evaluate.py
run quantize.py "${python[@]}" quantize.py
run report.py "${python[@]}" report.py
