"""Look at the packed batches of a bundle's train.py, then let it train.

    python packed_rows.py BUNDLE

The script runs up to where training begins; its model, its trainer and its batches are then asked
what packing changes. Prints JSON, all of it largest differences: `alone` between the logits of a
row in a packed batch and by itself, `neighbour` in the logits of all other rows when one is
replaced, `loss` between a packed batch's loss and that of the same rows padded; `replaced` is what
the replacement changed in its own place, and `spread` the logits' own standard deviation. `losses`
are those of the run, first to last.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

bundle = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(bundle))
os.chdir(bundle)
sys.argv = ["train.py"]
beginning, mark, end = (
    (bundle / "train.py").read_text(encoding="utf-8").partition("with session.resume")
)
names: dict[str, Any] = {"__file__": str(bundle / "train.py"), "__name__": "__main__"}
exec(compile(beginning, "train.py", "exec"), names)  # noqa: S102 - the script under test

torch, trainer, rows = names["torch"], names["trainer"], names["train_rows"]
model = trainer.model.eval()
packed = [row for row in trainer.train_dataset if len(row["seq_lengths"]) > 2][:3]
batch = trainer.data_collator(packed)
starts = [sum(row["seq_lengths"][:i]) for row in packed for i in range(len(row["seq_lengths"]))]
places = [i for i, row in enumerate(packed) for _ in row["seq_lengths"]]
sizes = [size for row in packed for size in row["seq_lengths"]]
assert "attention_mask" not in batch
learned = {tuple(row["input_ids"]): row["labels"] for row in rows}


def logits(**inputs: Any) -> Any:
    """Return the logits of a batch."""
    with torch.no_grad():
        return model(**inputs, use_cache=False).logits


together = logits(input_ids=batch["input_ids"], position_ids=batch["position_ids"])
alone = 0.0
for place, start, size in zip(places, starts, sizes, strict=True):
    ids = batch["input_ids"][place, start : start + size]
    mine = batch["labels"][place, start : start + size].tolist()
    assert mine == [-100, *learned[tuple(ids.tolist())][1:]]  # as prepare.py wrote it
    apart = logits(input_ids=ids[None])[0] - together[place, start : start + size]
    alone = max(alone, apart.abs().max().item())

changed = batch["input_ids"].clone()
first, size = starts[1], sizes[1]  # the second row of the first packed one
changed[0, first : first + size] = changed[0, first : first + size].roll(1)
moved = (logits(input_ids=changed, position_ids=batch["position_ids"]) - together).abs()
replaced = moved[0, first : first + size].max().item()
moved[0, first : first + size] = 0.0

same = [row for row in rows if tuple(row["input_ids"]) in {
    tuple(batch["input_ids"][p, s : s + n].tolist())
    for p, s, n in zip(places, starts, sizes, strict=True)
}]  # fmt: skip
width = max(len(row["input_ids"]) for row in same)
padded = {
    "input_ids": [row["input_ids"] + [0] * (width - len(row["input_ids"])) for row in same],
    "labels": [row["labels"] + [-100] * (width - len(row["labels"])) for row in same],
    "attention_mask": [[1] * len(row["input_ids"]) for row in same],
}
padded["attention_mask"] = [mask + [0] * (width - len(mask)) for mask in padded["attention_mask"]]
with torch.no_grad():
    whole = trainer.compute_loss(model, dict(batch)).item()
    by_row = trainer.compute_loss(model, {k: torch.tensor(v) for k, v in padded.items()}).item()
trainer._metrics["eval"].clear()
trainer.model.train()

exec(compile(mark + end, "train.py", "exec"), names)  # noqa: S102 - the script under test
report = {
    "rows": len(rows),
    "packed": len(trainer.train_dataset),
    "fullest": max(len(row["input_ids"]) for row in trainer.train_dataset),
    "alone": alone,
    "neighbour": moved.max().item(),
    "replaced": replaced,
    "loss": abs(whole - by_row),
    "spread": together.std().item(),
    "losses": [log["loss"] for log in trainer.state.log_history if "loss" in log],
}
sys.stdout.write(f"packed: {json.dumps(report)}\n")
