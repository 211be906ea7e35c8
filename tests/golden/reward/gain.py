"""What training brought: its best checkpoint held against the model before the first step.

Only train.py reads this. Both were measured on the same rows of validation, by the number that the
best checkpoint is chosen by. As good as before is not worse.
"""

import json
import sys

import guard
import journal
import survival

WORSE = 79  # beside the codes of survival.py
ROUNDOFF = 2**-8  # of bfloat16, which has 8 significant bits: what it computes is known no closer


def measure(trainer):
    """Return for curve.json the number before training, the best one, and how noisy they are.

    The rows are the same: all that is uncertain is how numbers are rounded.
    """
    name = trainer.args.metric_for_best_model
    found = {log["step"]: log for log in trainer.state.log_history if f"eval_{name}" in log}
    pair = [found[0], found[trainer.state.best_global_step]]
    before, best = (log[f"eval_{name}"] for log in pair)
    noise = ROUNDOFF * abs(before)
    higher = trainer.args.greater_is_better
    return {"metric": name, "before": before, "best": best, "noise": noise, "higher": higher}


def judge():
    """End training with a code of its own if the result is worse than what it began with."""
    curve = json.loads((survival.FOLDER / "curve.json").read_text(encoding="utf-8"))
    before, best = curve["before"], curve["best"]
    if (before - best if curve["higher"] else best - before) <= curve["noise"]:
        return
    name = curve["metric"].replace("_", " ").replace("/", " ")
    numbers = f"the {name} on validation was {before:.4f} before, and {best:.4f} is its best"
    sentence = (
        f"training made the model worse: {numbers}; set a lower training.learning_rate or bring"
        " more data, or set training.evaluation.allow_worse to go on with what is saved, and"
        " compile again"
    )
    journal.end.update(event="failed", code=WORSE, sentence=sentence)
    print(f"train.py: {sentence}", file=sys.stderr, flush=True)
    guard.write_json(survival.FOLDER / "exit_code.json", WORSE)
    raise SystemExit(WORSE)
