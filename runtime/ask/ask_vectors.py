"""Ranks texts by their cosine to a query, with the merged model or with a GGUF file of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files import read_json
from ..run import Run

Ranked = list[tuple[float, str]]


def rank(
    folder: Path, query: str, texts: Sequence[str], *, max_length: int, pooling: str
) -> Ranked:
    """Return (cosine, text), the nearest first."""
    from ..models import vectors  # noqa: PLC0415 - torch is slow, and a GGUF file needs none

    model = vectors.load(folder, pooling=pooling, max_length=max_length)
    asked = vectors.encode(model, [query], vectors.QUERY)
    return sort(vectors.encode(model, texts, vectors.DOCUMENT) @ asked[0], texts)


def rank_by_file(
    run: Run, path: Path, query: str, texts: Sequence[str], *, max_length: int, on_gpu: bool
) -> Ranked:
    """Return the same as `rank`, from a GGUF file; prompts come from the merged model's folder."""
    from ..export import vector_files  # noqa: PLC0415 - llama.cpp, which only a GGUF file needs

    said = read_json(run.folder / "merged" / "config_sentence_transformers.json")
    prompts = said.get("prompts") or {}
    llm = vector_files.open_file(run, path, max_length, on_gpu=on_gpu)
    asked = vector_files.embed(llm, (prompts.get("query") or "") + query, max_length)
    before = prompts.get("document") or ""
    found = [float(vector_files.embed(llm, before + text, max_length) @ asked) for text in texts]
    llm.close()
    return sort(found, texts)


def sort(scores: Any, texts: Sequence[str]) -> Ranked:
    """Return (score, text), the best first."""
    pairs = zip((float(score) for score in scores), texts, strict=True)
    return sorted(pairs, key=lambda pair: -pair[0])
