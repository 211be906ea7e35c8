"""The part of a report about a model's quality: metrics, the training curve, and its files."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..metric import metrics
from . import page
from .page import Parts
from .results import Numbers, Results, load_part

UNJUDGED = "No rows were held out: nothing says whether training made the model better."
DECADE = 10  # a loss that spans more than this factor is drawn on a logarithmic axis
INTERVALS = (
    "Intervals of shares are Wilson's; all others are bootstrapped over the rows, paired for a"
    " change. A verdict needs an interval of the change that excludes zero, and at least"
    f" {metrics.LEAST_ROWS} rows that differ."
)


def describe_test(results: Results) -> Parts:
    """Return the result on the test split against the base and chance, with its uncertainty."""
    judged = results.read("evaluate/report.json")
    parts: Parts = [page.Paragraph(text=judged["verdict"], is_headline=True)]
    parts.append(page.Heading(text="On the test split"))
    parts += page.comparison(judged, metrics.title) + _describe_chance(judged)
    if "perplexity" in judged:
        said = f"The loss is a mean over the {judged['tokens']:,} learned tokens of the split"
        said += f": a perplexity of {judged['perplexity']:,.2f}."
        parts.append(page.Paragraph(text=said))
    parts.append(page.Paragraph(text=INTERVALS))
    if "sources" in judged:
        parts += load_part("sources").list_losses(judged["sources"])
    if "run/evaluate/regression.json" in results.records["evaluate"].read["outputs"]:
        parts += load_part("kept").describe_kept(results.read("evaluate/regression.json"))
    if labels := results.read_rows("labels.jsonl"):
        parts += load_part("answers").list_labels(labels)
    return parts


def _describe_chance(judged: Numbers) -> Parts:
    """Return what an answer without understanding would reach."""
    if "labels" in judged:
        text = load_part("answers").describe_chance(judged)
    elif "bm25_verdict" in judged:
        text = load_part("texts").describe_chance(judged)
    elif "chance" in judged:
        text = load_part("pairs").describe_chance(judged)
    else:
        return []
    return [page.Paragraph(text=text)]


def describe_validation(curve: Numbers) -> Parts:
    """Return the number by which the checkpoint was chosen, before and after training."""
    if "before" not in curve:
        return []
    higher = "higher is better" if curve["higher"] else "lower is better"
    gained = [
        ("before training", page.number(curve["before"])),
        (f"the best checkpoint (step {curve['best_step']:,})", page.number(curve["shipped"])),
    ]
    title = f"On the validation split, by which the checkpoint was chosen ({higher})"
    parts: Parts = [page.Heading(text=title)]
    parts += page.table(("model", curve["metric"].replace("_", " ")), gained)
    if stopped := curve.get("stopped_early"):
        parts.append(page.Paragraph(text=stopped))
    return parts


def draw_training(results: Results) -> Parts:
    """Draw run/curve.png, and return the figure."""
    curve = results.read("train/curve.json")
    is_loss = "reward" not in curve
    trained, validated = ("train", "validation") if is_loss else ("reward", "validation_reward")
    title = f"{'Loss' if is_loss else 'Mean reward'} during training"
    figure = draw_curve(
        {"training": curve[trained], "validation": curve.get(validated, ())},
        title=title,
        unit=results.plan["report"]["loss"] if is_loss else "mean reward",
        kept=curve.get("best_step"),
        is_loss=is_loss,
    )
    figure.savefig(results.run.folder / "curve.png", dpi=120)
    return [page.Heading(text="Curve"), page.Figure(file="curve.png", title=title)]


def draw_curve(
    points: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    unit: str,
    kept: int | None,
    is_loss: bool,
) -> Any:
    """Return a picture of the training and validation curves, with the step of the saved model.

    A loss that spans more than a factor of ten is drawn on a logarithmic axis.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow, for a stage that is up to date

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(*zip(*points["training"], strict=True), label="training", linewidth=1, alpha=0.6)
    if points.get("validation"):
        pairs = zip(*points["validation"], strict=True)
        axes.plot(*pairs, label="validation", linewidth=2.5, marker="o", zorder=3)
    if kept is not None:
        label = f"saved model (step {kept:,})"
        axes.axvline(kept, color="black", linestyle="--", linewidth=1, label=label)
    axes.set(xlabel="optimizer step", ylabel=unit)
    heights = [height for pairs in points.values() for _, height in pairs]
    if is_loss and min(heights) > 0 and max(heights) > DECADE * min(heights):
        axes.set(yscale="log", ylabel=f"{unit}, logarithmic scale")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(framealpha=0)
    axes.set_title(title)
    return figure


# -----------------------------------------------------------------------------
# The files


def describe_files(results: Results) -> Parts:
    """Return the sizes of the files, and how close each quantized one is to the trained model."""
    parts, merged = list[page.Part](), results.run.folder / "merged"
    sizes = {path.name: path.stat().st_size for path in merged.glob("*.safetensors")}
    if "quantize" in results.records:
        files = results.read("quantize/quality.json")["files"]
        sizes = {entry["file"]: entry["bytes"] for entry in files}
        parts += [page.Heading(text="GGUF files against the trained model")]
        if all("asked_rows" in entry for entry in files):
            metric = str(results.decided["metric"])
            parts += load_part("answers").list_answers(files, metric)
        is_text = all("cosine" in entry or "difference" in entry for entry in files)
        parts += load_part("texts").list_files(files) if is_text else list_fidelity(files)
    if "vllm" in results.records:
        folders = results.read("vllm/quality.json")["files"]
        sizes |= {entry["file"]: entry["bytes"] for entry in folders}
        parts += load_part("served").describe_folders(folders, results)
    cells = [(name, f"{size / 2**20:,.1f} MiB") for name, size in sizes.items()]
    return parts + page.table(("file", "size"), sorted(cells))


def list_fidelity(files: Sequence[Numbers]) -> Parts:
    """Return the table of how close the predictions of each file are, with their bounds."""
    cells = []
    for entry in files:
        bounds, row = entry["bounds"], [str(entry["file"]), f"{entry['tokens']:,}"]
        row += map(page.number, (entry["divergence"], bounds["max_divergence"]))
        agreements = entry["agreement"], bounds["min_agreement"]
        row += (page.number(share, share=True) for share in agreements)
        row += map(page.number, (entry["trained_perplexity"], entry["perplexity"]))
        row += map(page.number, (entry["perplexity_ratio"], bounds["max_perplexity_ratio"]))
        cells.append(row)
    titles = ["file", "tokens", "KL divergence, nats", "at most", "same next token", "at least"]
    titles += ["perplexity, trained", "perplexity, file", "ratio", "at most"]
    return page.table(titles, cells)
