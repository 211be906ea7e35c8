"""The parts of a report about a model that compares texts: its files, and BM25 beside it."""

from collections.abc import Sequence

from ..metric import metrics
from ..reports import page
from ..reports.page import Parts
from ..reports.results import Numbers


def list_files(files: Sequence[Numbers]) -> Parts:
    """Return the table of how close the vectors or the scores of each file are, with their bounds.

    A reranker has scores of pairs, an embedding model vectors of texts.
    """
    is_pair = "difference" in files[0]
    rows, measure, bound = ("texts", "cosine", "min_cosine")
    titles = ("file", "texts", "least cosine", "at least", "mean cosine")
    if is_pair:
        rows, measure, bound = ("pairs", "difference", "max_difference")
        titles = ("file", "pairs", "largest difference", "at most", "mean")
    cells = [
        [
            str(entry["file"]),
            f"{entry[rows]:,}",
            page.number(entry[measure]),
            page.number(entry["bounds"][bound]),
            page.number(entry[f"mean_{measure}"]),
            f"{entry[f'other_{rows}']:,}",
        ]
        for entry in files
    ]
    return page.table((*titles, "read as other tokens"), cells)


def describe_chance(judged: Numbers) -> str:
    """Return what BM25, a comparison of words, reaches."""
    name = next(iter(judged["judged"]))
    return (
        f"BM25, which compares words, has {metrics.title(name)}"
        f" {judged[f'bm25_{name}']:.4f} on the same rows. Against it, the trained model is"
        f" {judged['bm25_verdict']}."
    )
