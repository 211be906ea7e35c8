"""Rows laid one behind the other, so that a batch is hardly padded."""

from bisect import bisect_left, insort
from collections import defaultdict
from itertools import chain

import numpy
import pyarrow
import pyarrow.compute


def pack(rows, length):
    """Return the rows packed, a thousand at a time; `seq_lengths` are those of the rows in each."""
    rows = rows.select_columns(["input_ids", "labels"]).with_format("arrow")
    packed = rows.map(join, batched=True, fn_kwargs={"length": length}, load_from_cache_file=False)
    return packed.with_format(None)


def join(table, length):
    """Return a table of rows as a table of packed ones."""
    sizes = pyarrow.compute.list_value_length(table["input_ids"]).to_numpy()
    packed = fill(sizes.tolist(), length)
    table = table.take(list(chain.from_iterable(packed))).combine_chunks()
    ends = numpy.cumsum([0, *(sizes[members].sum() for members in packed)], dtype=numpy.int32)
    names = {name: table[name].chunk(0).flatten() for name in table.column_names}
    joined = {name: pyarrow.ListArray.from_arrays(ends, row) for name, row in names.items()}
    within = pyarrow.array([sizes[members].tolist() for members in packed])
    return pyarrow.table({**joined, "seq_lengths": within})


def fill(sizes, length):
    """Return the numbers of the rows in each packed one: a row joins the fullest that has room.

    Rows come in the order of chance. Sorted by length first, as best fit often goes, some packed
    rows would be all long rows and others all short ones, and steps would learn less evenly.
    """
    packed, rooms, having = [], [], defaultdict(list)  # the packed rows that have a room left
    for row, size in enumerate(sizes):
        place = bisect_left(rooms, size)
        if place == len(rooms):
            number, room = len(packed), length
            packed.append([])
        else:
            room = rooms.pop(place)
            number = having[room].pop()
        packed[number].append(row)
        insort(rooms, room - size)
        having[room - size].append(number)
    return packed
