"""Writes the trained reranker as one folder, whose scores are those of the trained model.

sentence-transformers and transformers read it, and llama.cpp's converter where it has the head.
"""

import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from ..evaluate import candidates
from ..files import replace_folder
from ..models import relevance
from .vector_merging import Job, merge_adapter, save

__all__ = ["Job", "write_merged"]

ROWS: Final = 8  # of the training split, on which both models are compared
MOST_APART: Final = 0.01  # of a score in 16 bits to that of the trained model


def write_merged(job: Job) -> None:
    """Write run/merged; ends the stage if its scores differ from those of the trained model."""
    run, out = job.run, job.run.folder / "merged"
    rows = run.read_rows(run.folder / "data" / "train.jsonl", ROWS)
    pairs = candidates.list_pairs(rows)
    model = _load(job)
    trained = candidates.apply_sigmoid(relevance.score(model, pairs))
    if job.is_adapter:
        merge_adapter(run, model)
    model = model.to(getattr(torch, job.dtype))
    is_finite = all(torch.isfinite(weight).all() for weight in model.state_dict().values())
    run.ensure(is_finite, f"every weight is a finite number in {job.dtype}")
    merged = candidates.apply_sigmoid(relevance.score(model, pairs))
    apart = float(np.abs(trained - merged).max())
    run.say(f"the scores of the merged model differ by {apart:.6f} at most from the trained")
    run.ensure(apart <= MOST_APART, f"the merged model agrees with the trained in {job.dtype}")
    new = out.with_name("merged.partial")
    shutil.rmtree(new, ignore_errors=True)
    save(model, Path(job.base), new, revision=job.loading.get("revision"))
    replace_folder(out, new)


def _load(job: Job) -> Any:
    """Return the trained model, with its adapter and its head beside the weights if it has one."""
    if not job.is_adapter:
        return relevance.load(job.trained, **job.loading)
    from peft import PeftModel  # noqa: PLC0415 - slow, and a full fine-tune needs it not

    model = relevance.load(job.base, **job.loading)
    model[0].model = PeftModel.from_pretrained(model[0].model, str(job.trained))
    return model
