"""Ranks texts by how well they match a query, with a reranker or its GGUF file."""

from collections.abc import Sequence
from pathlib import Path

from ..evaluate import candidates
from ..run import Run
from .ask_vectors import Ranked, sort


def rank(folder: Path, query: str, texts: Sequence[str], *, max_length: int) -> Ranked:
    """Return (score, text), the best first."""
    from ..models import relevance  # noqa: PLC0415 - torch is slow, and a GGUF file needs none

    model = relevance.load(folder, max_length=max_length)
    scores = relevance.score(model, [(query, text) for text in texts])
    return sort(candidates.apply_sigmoid(scores), texts)


def rank_by_file(
    run: Run, path: Path, query: str, texts: Sequence[str], *, max_length: int, on_gpu: bool
) -> Ranked:
    """Return the same as `rank`, from the GGUF file at `path`."""
    from ..export import relevance_files, vector_files  # noqa: PLC0415 - llama.cpp, for a GGUF file only

    llm = vector_files.open_file(run, path, max_length, on_gpu=on_gpu, ranks=True)
    pairs = [relevance_files.join(llm, query, text, max_length=max_length) for text in texts]
    scores = [relevance_files.read_score(llm, ids) for ids in pairs]
    llm.close()
    return sort(candidates.apply_sigmoid(scores), texts)
