"""The part of a report about what the model was not trained for."""

from ..reports import page
from ..reports.page import Parts
from ..reports.results import Numbers


def describe_kept(kept: Numbers) -> Parts:
    """Return what the model lost of what it was not trained for, and what it had been taught."""
    titles = ["file", "measure", "questions", "before training", "trained"]
    titles += ["lost", "95% interval", "at most", "verdict"]
    explained = (
        "A check fails if even the smaller end of the interval is above what may be lost. Of a text"
        " the questions are stretches of it, and the loss is the rise of the perplexity."
    )
    parts: Parts = [page.Heading(text="What it was not trained for")]
    parts += page.table(titles, kept["rows"], left=2)
    told = (explained, *kept["overlaps"], kept["rule"])
    return parts + [page.Paragraph(text=text) for text in told]
