"""Exit codes of training. A launcher uses them to decide whether to restart it."""

PREEMPTED = 75  # stopped by a signal, everything is saved; EX_TEMPFAIL of sysexits.h
OUT_OF_MEMORY = 76  # the next start uses a smaller micro-batch
DIVERGED = 77  # a loss is not finite, or has exploded
HUNG = 78  # a process made no progress for too long
WORSE = 79  # the best checkpoint is worse than the model before training
