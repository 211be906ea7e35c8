"""The stages of a bundle in order, and the files that they write for other programs."""

from pathlib import Path
from typing import Final

#: The names in run/stages.jsonl, in run/done/NAME.json and in plan.json.
STAGES: Final = (
    *("prepare", "train", "merge", "evaluate", "quantize", "projector", "adapter", "vllm"),
)
#: Names of records in bundles compiled by an earlier ftc.
_EARLIER: Final = {"prepare": "data", "merge": "merged"}


def find_record(bundle: Path, stage: str) -> Path | None:
    """Return the record of a completed stage, or None."""
    if stage not in STAGES:
        raise ValueError(f"there is no stage {stage}")
    for name in (stage, _EARLIER.get(stage, stage)):
        path = bundle / "run" / "done" / f"{name}.json"
        if path.is_file():
            return path
    return None
