#!/bin/bash
# One worker on each of four machines, all recorded into one folder on the shared disk.
#
#     sbatch slurm.sh
#
# Watch it from any machine that sees the disk: unslow live runs/$SLURM_JOB_ID
#SBATCH --job-name=train
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --output=train-%j.log

set -euo pipefail
cd "$SLURM_SUBMIT_DIR"
source .venv/bin/activate

port=20000
addresses=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/.*/\"&:$port\"/" | paste -sd,)
export CLUSTER="{\"worker\": [$addresses]}"

# srun starts this line once per task. SLURM_PROCID is the number of the worker; the number of the
# Slurm job tells unslow that these processes belong together.
srun --kill-on-bad-exit=1 --label bash -c '
    export TF_CONFIG="{\"cluster\": $CLUSTER, \"task\": {\"type\": \"worker\", \"index\": $SLURM_PROCID}}"
    exec unslow run --quiet --out "runs/$SLURM_JOB_ID" train.py
'
unslow why "runs/$SLURM_JOB_ID" --format html -o "runs/$SLURM_JOB_ID/report.html"
