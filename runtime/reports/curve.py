"""Draws the curve of a training."""

import io
import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

DECADE = 10  # a loss that spans more than this factor is drawn on a logarithmic axis
INK = "#010203"  # stands for the colour of the page's text


def draw_curve(
    points: Mapping[str, Sequence[Sequence[float]]],
    *,
    title: str,
    unit: str,
    kept: int | None,
    is_loss: bool,
    ink: str = "black",
) -> Figure:
    """Return a picture of the training and validation curves, with the step of the saved model.

    A loss that spans more than a factor of ten is drawn on a logarithmic axis. `ink` is the colour
    of lines and letters.
    """
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(*zip(*points["training"], strict=True), label="training", linewidth=1, alpha=0.6)
    if points.get("validation"):
        pairs = zip(*points["validation"], strict=True)
        axes.plot(*pairs, label="validation", linewidth=2.5, marker="o", zorder=3)
    if kept is not None:
        label = f"saved model (step {kept:,})"
        axes.axvline(kept, color=ink, linestyle="--", linewidth=1, label=label)
    axes.set(xlabel="optimizer step", ylabel=unit)
    heights = [height for pairs in points.values() for _, height in pairs]
    if is_loss and min(heights) > 0 and max(heights) > DECADE * min(heights):
        axes.set(yscale="log", ylabel=f"{unit}, logarithmic scale")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(labelcolor=ink, framealpha=0)
    axes.set_title(title, color=ink)
    axes.xaxis.label.set_color(ink)
    axes.yaxis.label.set_color(ink)
    axes.tick_params(which="both", colors=ink)
    for spine in axes.spines.values():
        spine.set_color(ink)
    return figure


def to_svg(figure: Figure) -> str:
    """Return a figure that was drawn in INK as an SVG element, in the colour of the page's text.

    The same figure gives the same text: it has neither a date nor random names.
    """
    stream = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with mpl.rc_context({"svg.hashsalt": "ftc", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    text = stream.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace(INK, "currentColor").strip()
