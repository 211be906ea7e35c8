"""Writes the trained reranker as one folder, which gives the same scores as the trained model.

sentence-transformers and transformers read it; llama.cpp's converter does if it knows the head.
"""

from typing import Any, Final

import numpy as np

from ..evaluate import candidates
from ..models import relevance
from .vector_merging import Job, read_first, write_compared

__all__ = ["Job", "write_merged"]

MOST_APART: Final = 0.01  # of a score in 16 bits to that of the trained model


def write_merged(job: Job) -> None:
    """Write run/merged; ends the stage if its scores differ from those of the trained model."""
    pairs = candidates.list_pairs(read_first(job))

    def compare(trained: Any, merged: Any) -> bool:
        apart = float(np.abs(trained - merged).max())
        said = f"the scores of the merged model differ by {apart:.6f} at most"
        job.run.say(f"{said} from those of the trained model")
        return apart <= MOST_APART

    write_compared(
        job,
        load=relevance.load,
        compute=lambda model: candidates.apply_sigmoid(relevance.score(model, pairs)),
        compare=compare,
    )
