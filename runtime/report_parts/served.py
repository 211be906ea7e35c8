"""The part of a report about the folders for vLLM and SGLang."""

from collections.abc import Sequence

from ..reports import page
from ..reports.page import Parts
from ..reports.report_results import list_fidelity
from ..reports.results import Numbers, Results, load_part


def describe_folders(folders: Sequence[Numbers], results: Results) -> Parts:
    """Return the tables of the folders for vLLM, and how they were made."""
    parts: Parts = [page.Heading(text="Folders for vLLM and SGLang against the trained model")]
    if all("asked_rows" in entry for entry in folders):
        metric = str(results.decided["metric"])
        parts += load_part("answers").list_answers(folders, metric)
    parts += list_fidelity(folders)
    cells = [
        [
            str(entry["file"]),
            page.number(entry["rounding"]["error"], share=True),
            page.number(entry["rounding"]["expected"], share=True),
            page.number(entry["input_divergence"]),
        ]
        for entry in folders
    ]
    titles = (
        "file",
        "error of the worst matrix",
        "of its type",
        "cost of its activations alone, nats",
    )
    parts += page.table(titles, cells)
    said = (
        "Each weight is rounded to the nearest value of its type; W4A16 is not GPTQ or AWQ. Each"
        " folder was loaded by transformers, with rounded activations where its type has them."
    )
    return [*parts, page.Paragraph(text=said)]
