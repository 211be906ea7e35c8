"""The part of a report about how a model was made: data, plan, time, settings, versions, hashes."""

import ast
import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import events, libraries
from . import page
from .page import Parts
from .results import Results, load_part

SHOWN_LETTERS = 100  # of a setting
SETTINGS = (
    *("LEARNING_RATE", "SCHEDULE", "WARMUP_STEPS", "EPOCHS", "MAX_STEPS", "WEIGHT_DECAY"),
    *("LORA_RANK", "LORA_ALPHA", "LORA_TARGETS", "TEACHER", "BETA", "SEED"),
)

# -----------------------------------------------------------------------------
# The data


def describe_data(results: Results) -> Parts:
    """Return how many rows were read, what was changed or left out, and the splits."""
    found = results.read("data/report.json")
    rows = [("read", found["rows_read"]), *found["changes"].items()]
    rows += [("used", found["rows_used"])]
    rows += [(f"in {name}", count) for name, count in found["splits"].items()]
    cells = [(what, f"{count:,}") for what, count in rows]
    parts: Parts = [page.Heading(text="Data"), *page.table(("what", "rows"), cells)]
    if sources := found.get("sources"):
        parts += load_part("sources").count_rows(sources)
    if found["changes"]:
        parts.append(page.Paragraph(text="run/data/report.md lists these rows by their numbers."))
    return parts


# -----------------------------------------------------------------------------
# The plan, and what was measured


def compare_plan(results: Results) -> Parts:
    """Return the planned time, memory and file sizes beside the measured ones."""
    curve, cells = results.read("train/curve.json"), []
    if seconds := results.plan["seconds"]:
        planned = f"{seconds['low']:,.0f} s to {seconds['high']:,.0f} s"
        cells.append(("training", planned, f"{_sum_training(results):,.0f} s"))
    sizes = [("peak memory of one process", curve["planned_bytes"], curve["peak_bytes"])]
    for stage in ("quantize", "vllm"):
        if stage not in results.records:
            continue
        files = results.read(f"{stage}/quality.json")["files"]
        listed = ((one["file"], one.get("predicted_bytes"), one["bytes"]) for one in files)
        sizes += [(name, planned, size) for name, planned, size in listed if planned is not None]
    cells += [(name, _say_bytes(planned), _say_bytes(size)) for name, planned, size in sizes]
    table = page.table(("what", "planned", "measured"), cells)
    return [page.Heading(text="The plan and what was measured"), *table]


def _say_bytes(size_bytes: int) -> str:
    """Return a size in GiB, or in MiB below one GiB."""
    if size_bytes >= 2**30:
        return f"{size_bytes / 2**30:,.2f} GiB"
    return f"{size_bytes / 2**20:,.1f} MiB"


def list_times(results: Results) -> Parts:
    """Return how long each stage took."""
    seconds = {name: record.read["seconds"] for name, record in results.records.items()}
    if "train" in seconds:
        seconds["train"] = _sum_training(results)
    times = [(stage, f"{spent:,.0f} s") for stage, spent in seconds.items()]
    times += [("in all", f"{sum(seconds.values()):,.0f} s")]
    return [page.Heading(text="Time"), *page.table(("stage", "wall time"), times)]


def _sum_training(results: Results) -> float:
    """Return the seconds of training over all its starts."""
    starts: list[list[float]] = []  # each logs that it began, and lasts until its last event
    for event in events.read(results.run.folder / "train" / "log.jsonl"):
        if event.get("event") == "began":
            starts.append([])
        if starts and "time" in event:
            starts[-1].append(event["time"])
    last: float = results.records["train"].read["seconds"]  # of the last start
    return last + sum(times[-1] - times[0] for times in starts[:-1] if times)


# -----------------------------------------------------------------------------
# How it was made


def _read_constants(script: Path) -> dict[str, Any]:
    """Return the constants of a script as they are now: a user may have changed them."""
    found = {}
    for node in ast.parse(script.read_bytes()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            with suppress(ValueError):  # computed, so not a setting
                found[ast.unparse(target)] = ast.literal_eval(node.value)
    return found


def list_settings(results: Results) -> Parts:
    """Return what the training was set to."""
    table = page.table(("setting", "value"), list(read_settings(results).items()))
    return [page.Heading(text="Settings"), *table]


def read_settings(results: Results) -> dict[str, str]:
    """Return what the training was set to: the constants of train.py as they are now."""
    settings, decided = _read_constants(results.run.bundle / "train.py"), results.decided
    size = decided.get("micro_batch"), decided.get("accumulation")
    if "LADDER" in settings:
        tried = results.run.folder / "train" / "batch.json"
        size = settings["LADDER"][results.read("train/batch.json")["row"] if tried.is_file() else 0]
    shown = dict(results.plan["report"]["settings"])
    shown["base model"] = settings.get("MODEL") or shown["base model"]
    if size[0] and size[1]:
        rows = size[0] * size[1] * decided["world"]
        shown["rows per optimizer step"] = (
            f"{rows:,} (micro-batch {size[0]} x accumulation {size[1]} x processes"
            f" {decided['world']})"
        )
    constants = {name.lower().replace("_", " "): settings.get(name) for name in SETTINGS}
    shown |= {name: value for name, value in constants.items() if value is not None}
    return {name: page.shorten(str(value), SHOWN_LETTERS) for name, value in shown.items()}


def list_versions(results: Results) -> Parts:
    """Return the packages that trained, or those installed now where the training noted none."""
    curve = results.read("train/curve.json") if "train" in results.records else {}
    noted = curve.get("versions")
    title = "Versions of the training" if noted else "Versions at the time of this report"
    cells = [("ftc", results.lock["ftc"]), *(noted or libraries.list_versions()).items()]
    return [page.Heading(text=title), *page.table(("package", "version"), cells)]


def list_batch_changes(results: Results) -> Parts:
    """Return when training ran out of memory, and which smaller micro-batch it took."""
    if not (results.run.folder / "train" / "batch.json").is_file():
        return []
    parts: Parts = []
    for change in results.read("train/batch.json")["changes"]:
        (rows, passes), (less, more) = change["from"], change["to"]
        size = f"{change['held_bytes'] / 2**30:.2f} GiB held"
        what = f"{rows} rows x {passes} passes, since then {less} x {more}: the same batch"
        said = f"Out of memory after step {change['step']:,} ({size}) with {what}."
        parts.append(page.Paragraph(text=said))
    return parts


def list_hashes(results: Results) -> Parts:
    """Return what identifies the inputs: their hashes and revisions, and the hash of the lock."""
    text = (results.run.bundle / "ftc.lock.json").read_bytes()
    rows = {"ftc.lock.json": hashlib.sha256(text).hexdigest(), **results.plan["report"]["hashes"]}
    title = page.Heading(text="Hashes and revisions")
    return [title, *page.table(("what", "SHA-256 or commit"), list(rows.items()), left=2)]
