"""Exit codes of training, by which a launcher decides whether to start it again."""

PREEMPTED = 75  # stopped by a signal, everything is saved; EX_TEMPFAIL of sysexits.h
OUT_OF_MEMORY = 76  # the next start uses smaller passes
DIVERGED = 77  # a loss is not finite, or has exploded
HUNG = 78  # a process made no progress for too long
WORSE = 79  # the best checkpoint is worse than the model before training
