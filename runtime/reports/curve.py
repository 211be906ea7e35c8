"""Draws the curve of a training."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

DECADE = 10  # a loss that spans more than this factor is drawn on a logarithmic axis


def draw_curve(
    points: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    unit: str,
    kept: int | None,
    is_loss: bool,
) -> Figure:
    """Return a picture of the training and validation curves, with the step of the saved model.

    A loss that spans more than a factor of ten is drawn on a logarithmic axis.
    """
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
