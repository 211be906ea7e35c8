#!/usr/bin/env bash
# The Slurm job of this run. Submit it from this folder, which all nodes must see at the same path:
#
#   sbatch slurm.sh
#   sbatch slurm.sh --data OTHER-FILE --model OTHER-FOLDER
#
# Two minutes before its time limit, or when it is preempted, training saves a checkpoint and the
# job requeues itself. It then resumes from the checkpoint. More options: sbatch --OPTION slurm.sh
#
#SBATCH --job-name=llama-two-nodes
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=61440M
#SBATCH --gpus-per-node=8
#SBATCH --time=720
#SBATCH --partition=gpu
#SBATCH --account=nlp
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=slurm-%j.log
set -euo pipefail

PREEMPTED=75  # run.sh saved a checkpoint after a signal

cd -- "${SLURM_SUBMIT_DIR:?submit this with sbatch}"
if [[ ! -x run.sh ]]; then
  echo "slurm.sh: submit this from the bundle's folder" >&2
  exit 2
fi
while read -r name; do
  module load "$name"
done <modules.txt
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))  # different for jobs that share a node
export MASTER_ADDR MASTER_PORT

./run.sh "$@" &
run=$!
signals=0
trap 'signals=$((signals + 1)); kill -TERM "$run" 2>/dev/null || true' USR1 TERM
while true; do  # a signal interrupts `wait`, but not run.sh
  before=$signals
  code=0
  wait "$run" || code=$?
  if [[ "$signals" -eq "$before" ]]; then
    break
  fi
done
if [[ "$code" -eq "$PREEMPTED" ]]; then
  echo "slurm.sh: the checkpoint is saved; the job is requeued"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
