"""Writes the report of a run: run/report.md, run/report.html and the curve in run/curve.png.

evaluate.py and export.py call it at their end. It states how good the result is and how certain
that is, which files there are, and how they were made. Everything is read from what the stages
wrote, and from plan.json, ftc.lock.json and the constants of train.py.
"""

from ..files import write_lines
from ..run import Run
from . import page, report_making, report_results
from .page import Parts
from .results import Results, load_part, read_results


def write_report(run: Run) -> None:
    """Write the report of the stages so far; run/report.html is the same as one file.

    It is printed if the last stage of plan.json is done.
    """
    results = read_results(run)
    parts: Parts = [page.Heading(text="Report", level=1), *describe_run(results)]
    lines = page.to_markdown(parts)
    title = f"{results.plan['name']}: report"
    text = page.to_html(parts, title=title, folder=run.folder)
    write_lines(run.folder / "report.md", ["\n".join(lines).encode()])
    write_lines(run.folder / "report.html", [text.encode()])
    run.say("\n".join(lines) if results.is_complete else "the report is in run/report.md")


def describe_run(results: Results) -> Parts:
    """Return what is known of a run, the result first."""
    is_trained, is_judged = ("train" in results.records), ("evaluate" in results.records)
    parts: Parts = []
    if is_judged:
        parts += report_results.describe_test(results)
    elif "evaluate" not in results.plan["stages"]:
        parts.append(page.Paragraph(text=report_results.UNJUDGED, is_headline=True))
    if results.decided.get("harness"):
        parts += load_part("benchmarks").describe_benchmarks(results)
    if is_trained:
        parts += report_results.describe_validation(results.read("train/curve.json"))
        parts += report_results.draw_training(results)
    parts += report_results.describe_files(results)
    if is_judged and (rows := results.read_rows("predictions.jsonl")):
        parts += load_part("answers").list_samples(results, rows)
    if "prepare" in results.records:
        parts += report_making.describe_data(results)
    if is_trained:
        parts += report_making.compare_plan(results)
        parts += report_making.list_batch_changes(results)
    parts += report_making.list_times(results)
    parts += report_making.list_settings(results)
    parts += report_making.list_versions(results)
    return parts + report_making.list_hashes(results)
