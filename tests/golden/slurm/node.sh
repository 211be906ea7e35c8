#!/usr/bin/env bash
# Starts the training processes of one node; run.sh calls this on every node.
#
# NODE_RANK is 0 on the first node, which listens on MASTER_PORT of MASTER_ADDR.
# The output of each process is also written to run/logs/.
set -euo pipefail
CDPATH="" cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
NODE_RANK=$SLURM_NODEID

launch=(accelerate launch --config_file accelerate.yaml
  --machine_rank "$NODE_RANK" --main_process_ip "$MASTER_ADDR" --main_process_port "$MASTER_PORT"
  --log_dir "run/logs/node-$NODE_RANK" --tee 3)
export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=110  # seconds to save a checkpoint; the default is 30
mkdir -p "run/logs/node-$NODE_RANK"

# The launcher gets signals itself, because it is in the same process group. They are counted here.
signals=0
trap 'signals=$((signals + 1))' TERM USR1
"${launch[@]}" train.py "$@" &
while true; do  # a signal interrupts `wait`, but not the launcher
  before=$signals
  code=0
  wait "$!" || code=$?
  if [[ "$signals" -eq "$before" ]]; then
    break
  fi
done
if [[ "$code" -ne 0 && "$signals" -gt 0 && ! -f run/train/exit_code.json ]]; then
  folder=run/train
  if [[ " $* " == *" --pilot "* ]]; then
    folder=run/pilot
  fi
  mkdir -p "$folder"
  echo 75 >"$folder/exit_code.json"  # stopped before training started, or after it ended
fi
exit "$code"
