"""The mixture: how many rows of each source one epoch of training holds; prepare.py calls it."""

import random
from array import array

import numpy

# -----------------------------------------------------------------------------
# What was decided, and why: of each source, in the order of the spec

WEIGHTS = [4.0, 3.0, 1.0]  # by the weights 4 : 3 : 1: enough for every row to be seen in an epoch
MAX_REPEATS = [5, 4, 5]  # how often an epoch may hold a row


def mix(split, origins, seed):
    """Return the training records as one epoch has them, in the proportion of the weights.

    The epoch is the shortest that holds every record, or shorter where one would be in it more
    often than its source allows. What is left over of a source is drawn, as the split is shuffled.
    `origins` has the number of its source for each record of the whole.
    """
    split = numpy.asarray(split)
    own = [split[origins[split] == number].tolist() for number in range(len(WEIGHTS))]
    weighed = list(zip(own, WEIGHTS, MAX_REPEATS, strict=True))
    whole = sum(weight for rows, weight, _ in weighed if rows)
    longest = max(len(rows) * whole / weight for rows, weight, _ in weighed if rows)
    most = min(len(rows) * times * whole / weight for rows, weight, times in weighed if rows)
    epoch = array("I")
    for rows, weight, times in weighed:
        wanted = min(len(rows) * times, round(min(longest, most) * weight / whole))
        again, rest = divmod(wanted, max(1, len(rows)))
        epoch.extend(rows * again + rows[:rest])
    random.Random(seed).shuffle(epoch)
    return epoch
