#!/usr/bin/env bash
# The processes of this node; run.sh starts it on every node, once they can meet.
#
# NODE_RANK is 0 on the first node; MASTER_ADDR and MASTER_PORT say where that one listens.
# What each process prints is kept in run/logs/ as well.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
NODE_RANK=$SLURM_NODEID

launch=(accelerate launch --config_file accelerate.yaml
  --machine_rank "$NODE_RANK" --main_process_ip "$MASTER_ADDR" --main_process_port "$MASTER_PORT"
  --log_dir "run/logs/node-$NODE_RANK" --tee 3)
export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=110  # seconds that a process has to save; else 30
mkdir -p "run/logs/node-$NODE_RANK"

# A signal reaches the launcher by itself, as one of this group: here it is only remembered.
signals=0
trap 'signals=$((signals + 1))' TERM USR1
"${launch[@]}" train.py "$@" &
while true; do  # a signal ends `wait`, not the launcher
  before=$signals
  code=0
  wait "$!" || code=$?
  if [[ "$signals" -eq "$before" ]]; then
    break
  fi
done
if [[ "$code" -ne 0 && "$signals" -gt 0 && ! -f run/train/exit_code.json ]]; then
  echo 75 >run/train/exit_code.json  # told to stop before it trained, or after
fi
exit "$code"
