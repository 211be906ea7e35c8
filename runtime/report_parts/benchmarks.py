"""The part of a report about public benchmarks, which harness.py measures."""

from .. import stages
from ..reports import page
from ..reports.page import Parts
from ..reports.results import Results, is_current


def describe_benchmarks(results: Results) -> Parts:
    """Return the numbers of each task, or that they are of an earlier training or setting."""
    record = stages.read_record(results.run.bundle, "harness")
    if record is None:
        return []
    parts: Parts = [page.Heading(text="Public benchmarks")]
    if not is_current(record, results.records.get("train")):
        said = "run/harness/report.json is from an earlier training, other tasks or other settings:"
        return [*parts, page.Paragraph(text=f"{said} `python harness.py` measures them again.")]
    found = results.read("harness/report.json")
    cells = [
        (task, name.removesuffix(",none"), page.number(number))
        for task, numbers in found["tasks"].items()
        for name, number in numbers.items()
    ]
    parts += page.table(("task", "measure", "trained model"), cells, left=2)
    if found["limit"] is not None:
        said = f"Only the first {found['limit']:,} questions of each task were asked."
        parts.append(page.Paragraph(text=said))
    return parts
