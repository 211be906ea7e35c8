"""The part of a report about the regression checks: abilities that were not trained."""

from ..reports import page
from ..reports.page import Parts
from ..reports.results import Numbers


def describe_kept(kept: Numbers) -> Parts:
    """Return the results of the checks, and how many of their questions are in training rows."""
    titles = ["file", "measure", "questions", "before training", "trained"]
    titles += ["lost", "95% interval", "at most", "verdict"]
    explained = (
        "A check fails if even the lower end of the interval is above the allowed loss. For a text,"
        " the questions are stretches of it, and the loss is the rise in perplexity."
    )
    parts: Parts = [page.Heading(text="What it was not trained for")]
    parts += page.table(titles, kept["rows"], left=2)
    told = (explained, *kept["overlaps"], kept["rule"])
    return parts + [page.Paragraph(text=text) for text in told]
