"""Best-fit packing: which rows share a packed row; the plan counts with it. Standard library."""

from bisect import bisect_left, insort
from collections import defaultdict


def fill(sizes: list[int], length: int) -> list[list[int]]:
    """Return the numbers of the rows in each packed row.

    Best fit: a row goes into the fullest packed row that has room. Rows are taken in their random
    order. Sorting them by length first, as is common, would make some packed rows of long rows only
    and others of short rows only, and so uneven steps.
    """
    packed: list[list[int]] = []
    rooms: list[int] = []  # the free tokens of packed rows, sorted
    having: dict[int, list[int]] = defaultdict(list)  # packed rows by their free tokens
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
