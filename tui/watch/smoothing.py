"""Smoothing by an exponential moving average, as in TensorBoard."""

from typing import Final

from ftc.tui.watch.training import Curve

#: The share of the average that remains after a new point; 0 draws the points themselves.
STRENGTHS: Final = (0.0, 0.6, 0.9, 0.97)


def smooth(curve: Curve, strength: float) -> Curve:
    """Return the averages at the steps of a curve.

    The average starts at 0, so it is divided by the sum of its weights (Kingma and Ba 2015,
    section 3): the first point stays where it is.
    """
    if not strength:
        return curve
    average, weight = 0.0, 0.0
    points = []
    for step, value in curve:
        average = strength * average + (1 - strength) * value
        weight = strength * weight + (1 - strength)
        points.append((step, average / weight))
    return tuple(points)
