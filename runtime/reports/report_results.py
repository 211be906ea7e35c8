"""The part of a report about how good a model is: metrics, curve, labels and sample answers."""

from collections.abc import Mapping

from ..metric import metrics
from . import curve as curves
from . import page
from .page import Parts
from .results import Numbers, Results, load_part

PER_ROW = {
    "classification",
    "reward",
    "dpo",
    "kto",
    "orpo",
    "cpo",
    "simpo",
    "embed",
    "rerank",
}  # objectives with a loss per row

INTERVALS = (
    "Intervals of shares are Wilson's, all others bootstrapped over the rows; those of a change are"
    " paired. A verdict needs an interval of the change without zero, and at least"
    f" {metrics.LEAST_ROWS} rows that differ."
)


def describe_test(results: Results) -> Parts:
    """Return the result on the test split against the base and chance, with its uncertainty."""
    judged = results.read("evaluate/report.json")
    parts: Parts = [page.Paragraph(text=judged["verdict"], is_headline=True)]
    parts.append(page.Heading(text="On the test split"))
    parts += page.comparison(judged, metrics.TITLES)
    parts += _describe_chance(judged)
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
    objective = results.spec.get("objective", "sft")
    kind = objective.get("type", "sft") if isinstance(objective, Mapping) else objective
    title = f"{'Loss' if is_loss else 'Mean reward'} during training"
    unit = "loss per row" if kind in PER_ROW else "loss per token (nats)"
    figure = curves.draw_curve(
        {"training": curve[trained], "validation": curve.get(validated, ())},
        title=title,
        unit=unit if is_loss else "mean reward",
        kept=curve.get("best_step"),
        is_loss=is_loss,
    )
    figure.savefig(results.run.folder / "curve.png", dpi=120)
    return [page.Heading(text="Curve"), page.Figure(file="curve.png", title=title)]
