"""Writes a model card from what the stages of a run measured.

It contains no rows of the data, because they may be private.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..reports import page, report_making, report_results
from ..reports.page import Parts
from ..reports.results import Results
from .publication import Job

LOCAL = {"base model", "data", "teacher"}  # settings that may be paths of this machine
SENTENCE_CLASSES = {"text-ranking": "CrossEncoder", "sentence-similarity": "SentenceTransformer"}


def write_front_matter(card: Mapping[str, Any]) -> list[str]:
    """Return the metadata as YAML; values are JSON, which is part of YAML."""
    return ["---", *(f"{name}: {_to_yaml(value)}" for name, value in card.items()), "---", ""]


def _to_yaml(value: Any) -> str:
    r"""Return a value as JSON that YAML reads too.

    YAML has no pairs of escapes such as `\ud83d\ude00`, and allows no DEL in a text.
    """
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(r"[\x7f-\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def write_card(job: Job, results: Results, files: Mapping[str, Path]) -> list[str]:
    """Return the lines of the card; `files` are those of the repository."""
    parts: Parts = [page.Heading(text=job.name, level=1)]
    base = job.base or "a base model that is not on the Hub"
    method = results.plan["report"]["settings"]["method"]
    said = f"Trained from {base} ({method}; objective {job.objective}) with ftc"
    parts.append(page.Paragraph(text=f"{said} {results.lock['ftc']}."))
    if "evaluate" in results.records:
        parts += report_results.describe_test(results)
    parts += report_results.describe_validation(results.read("train/curve.json"))
    if "curve.png" in files:
        parts.append(page.Figure(file="curve.png", title="The curve of the training"))
    rest = _describe_data(job, results)
    length = results.decided.get("max_length")
    if length:
        said = f"It was trained on rows of at most {length:,} tokens."
        rest = [page.Paragraph(text=said), *rest]
    rest += _describe_licences(job)
    rest += report_results.describe_files(results)
    if "quality.png" in files:
        rest.append(page.Figure(file="quality.png", title="The GGUF files"))
    rest += _list_decisions(results)
    rest += report_making.list_versions(results)
    rest += report_making.list_hashes(results)
    return [*page.to_markdown(parts), *_say_use(job, files), *page.to_markdown(rest)]


def _say_use(job: Job, files: Mapping[str, Path]) -> list[str]:
    """Return the lines about how to run the model."""
    lines = page.to_markdown([page.Heading(text="How to run it")])
    for text in _say_python(job):
        lines += _fence(text, "python")
    for text in _list_commands(job, files):
        lines += _fence(text, "sh")
    return lines


def _fence(text: str, language: str) -> list[str]:
    """Return a block of code, with a fence that is longer than any in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence, ""]


def _list_commands(job: Job, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the commands that run the files beside the weights at the root."""
    if "Modelfile" in files:
        text = f"hf download {job.repository} --local-dir {job.name}\ncd {job.name}\n"
        yield f"{text}ollama create {job.name} -f Modelfile"
    ggufs = [name for name in files if name.endswith(".gguf")]
    if ggufs and "Modelfile" not in files:
        yield f"hf download {job.repository} {ggufs[0]} --local-dir ."
    folders = {name.partition("/")[0] for name in files if "/" in name} - {"adapter"}
    for folder in sorted(folders):
        text = f"hf download {job.repository} --include '{folder}/*' --local-dir .\n"
        yield f"{text}vllm serve ./{folder}"


def _say_python(job: Job) -> Iterator[str]:
    """Yield the Python code that loads the weights at the root of the repository."""
    if not {"adapter", "merged"} & set(job.what):
        return
    task, name = job.card["pipeline_tag"], json.dumps(job.repository)
    if task in SENTENCE_CLASSES:
        kind = SENTENCE_CLASSES[task]
        yield f"from sentence_transformers import {kind}\n\nmodel = {kind}({name})"
        return
    needs = "  # needs peft too" if "merged" not in job.what else ""
    call = f"pipeline({json.dumps(task)}, model={name})"
    yield f"from transformers import pipeline{needs}\n\nmodel = {call}"


def _describe_data(job: Job, results: Results) -> Parts:
    parts = report_making.describe_data(results)
    names = ", ".join(job.data_names)
    licence = job.data_licence or "not stated"
    said = page.Paragraph(text=f"Trained on {names}. The licence of the data: {licence}.")
    return [*parts[:1], said, *parts[1:]]


def _describe_licences(job: Job) -> Parts:
    rows = [
        ("this model", job.licence),
        ("its base", job.base_licence or "not stated"),
        ("its data", job.data_licence or "not stated"),
    ]
    return [page.Heading(text="Licences"), *page.table(("of", "licence"), rows, left=2)]


def _list_decisions(results: Results) -> Parts:
    """Return every decision of the plan, and the settings of train.py, which may be edited."""
    decided = results.lock["decisions"]
    rows = [
        (name.replace("_", " "), page.shorten(str(entry["value"])), entry["source"])
        for name, entry in decided.items()
    ]
    titles = ("decision", "value", "by")
    settings = report_making.read_settings(results)
    kept = [(name, value) for name, value in settings.items() if name not in LOCAL]
    return [
        page.Heading(text="Settings of the training"),
        *page.table(("setting", "value"), kept, left=2),
        page.Heading(text="Every decision of the plan"),
        *page.table(titles, rows, left=3),
    ]
