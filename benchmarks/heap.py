"""PyTorch's caching allocator for one stream, replayed on sizes alone.

Source: `c10/cuda/CUDACachingAllocator.cpp` and `AllocatorConfig.h` of torch 2.4 to 2.13. Requests
are rounded to 512 bytes; those of at most 1 MiB come from segments of 2 MiB, larger ones from
segments of 20 MiB or, from 10 MiB on, of their own size rounded to 2 MiB. The smallest free block
that is large enough is used, and split if enough remains; free neighbours are joined.

With expandable segments a pool is one range of addresses, of which pages of 2 or 20 MiB are mapped
where a request needs them. If the device is full, completely free segments are released first, and
so are completely free pages, whose addresses are mapped again later.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Final

_MIB: Final = 2**20
_LEAST = 512
_SMALL = _MIB  # the largest request of the small pool
_SMALL_SEGMENT, _LARGE_SEGMENT = 2 * _MIB, 20 * _MIB
_OWN_SEGMENT = 10 * _MIB  # a larger request gets a segment of its own size
_ROUND_LARGE = 2 * _MIB
_ADDRESSES = (
    20 * 2**40
)  # of one segment, in whole pages: more than any device has, so that segments never join


@dataclass(slots=True)
class Block:
    """A piece of a segment; neighbours in the segment, None at its ends."""

    address: int
    size: int
    small: bool
    free: bool = False
    mapped: bool = True
    before: "Block | None" = None
    after: "Block | None" = None


@dataclass(slots=True)
class Heap:
    """An allocator's state: allocated and reserved bytes, and the peak of each.

    `capacity_bytes` limits the reserved bytes; None means no limit. A request that does not fit is
    reserved anyway, so that the peak is still measured. `unmapped` are the addresses of pages that
    are not mapped, in each expandable segment, in rising order.
    """

    expandable: bool = False
    capacity_bytes: int | None = None
    taken_bytes: int = 0
    reserved_bytes: int = 0
    most_taken_bytes: int = 0
    most_reserved_bytes: int = 0
    free: dict[bool, list[tuple[int, int]]] = field(default_factory=lambda: {True: [], False: []})
    blocks: dict[int, Block] = field(default_factory=dict)  # free ones, by address
    unmapped: dict[bool, list[Block]] = field(default_factory=lambda: {True: [], False: []})
    end: int = 0

    def take(self, size_bytes: int) -> Block:
        """Return a block of at least so many bytes, from the cache or from a new segment."""
        size = max(_LEAST, -(-size_bytes // _LEAST) * _LEAST)
        small = size <= _SMALL
        block = self._cached(size, small=small) or self._grow(size, small=small)
        self._split(block, size)
        block.free = False
        self.taken_bytes += block.size
        self.most_taken_bytes = max(self.most_taken_bytes, self.taken_bytes)
        return block

    def give(self, block: Block) -> None:
        """Return a block to the cache, joined with free neighbours."""
        self.taken_bytes -= block.size
        self._list(self._join(block))

    def release(self) -> None:
        """Release completely free segments, or the completely free pages of expandable ones."""
        for block in list(self.blocks.values()):
            if self.expandable:
                self._unmap(block)
            elif block.before is None and block.after is None:
                self._unlist(block)
                self.reserved_bytes -= block.size

    def _join(self, block: Block) -> Block:
        """Return a block that is not listed, joined with its free neighbours."""
        before, after = block.before, block.after
        if before is not None and before.free:
            self._unlist(before)
            before.size += block.size
            _link(before, after)
            block = before
        if after is not None and after.free:
            self._unlist(after)
            block.size += after.size
            _link(block, after.after)
        return block

    def _cached(self, size: int, *, small: bool) -> Block | None:
        """Return the smallest free block that is large enough.

        One before unmapped pages counts as large as they make it.
        """
        found = self.free[small]
        place = bisect_left(found, (size, 0))
        if place == len(found):
            return None
        block = self.blocks[found[place][1]]
        while place + 1 < len(found):
            place += 1
            following = self.blocks[found[place][1]]
            if _room(following) >= _room(block):
                break
            block = following
        self._unlist(block)
        return block

    def _grow(self, size: int, *, small: bool) -> Block:
        if self.expandable:
            return self._expand(size, small=small)
        if small:
            segment = _SMALL_SEGMENT
        elif size < _OWN_SEGMENT:
            segment = _LARGE_SEGMENT
        else:
            segment = -(-size // _ROUND_LARGE) * _ROUND_LARGE
        self._make_room(segment)
        self._count(segment)
        return self._address(segment, small=small)

    def _address(self, size: int, *, small: bool) -> Block:
        block = Block(address=self.end, size=size, small=small)
        self.end += _ADDRESSES
        return block

    def _expand(self, size: int, *, small: bool) -> Block:
        """Map the pages that a request needs in the first run of addresses with enough room."""
        if not self.unmapped[small]:
            whole = self._address(_ADDRESSES // 2, small=small)
            whole.mapped = False
            self.unmapped[small].append(whole)
        if self._make_room(_missing(self._find_run(size, small=small), size)):
            return self._expand(size, small=small)
        run = self._find_run(size, small=small)
        self._count(_missing(run, size))
        block = Block(address=run[0].address, size=0, small=small)
        _link(run[0].before, block)
        for part in run:
            if part.mapped:
                self._unlist(part)
            else:
                self._map(part, _pages(size - block.size, small=small))
            block.size += part.size
            _link(block, part.after)
        return self._join(block)

    def _find_run(self, size: int, *, small: bool) -> list[Block]:
        """Return the first neighbours without a tensor, a hole among them, with enough room."""
        for hole in self.unmapped[small]:
            before = hole.before
            run = [hole] if before is None or not before.free else [before, hole]
            room = sum(block.size for block in run)
            while room < size and (following := run[-1].after) is not None and _empty(following):
                run.append(following)
                room += following.size
            if room >= size:
                return run
        raise RuntimeError("the last hole of a segment has room for every request")

    def _map(self, hole: Block, size: int) -> None:
        """Map the first pages of a hole; the others stay one."""
        self.unmapped[hole.small].remove(hole)
        hole.mapped = True
        if size < hole.size:
            rest = Block(
                address=hole.address + size, size=hole.size - size, small=hole.small, mapped=False
            )
            hole.size = size
            _link(rest, hole.after)
            _link(hole, rest)
            self._list_unmapped(rest)

    def _unmap(self, block: Block) -> None:
        """Make a hole of the pages that are completely in a free block."""
        page = _pages(1, small=block.small)
        first, last = -(-block.address // page) * page, (block.address + block.size) // page * page
        if first >= last:
            return
        self._unlist(block)
        self.reserved_bytes -= last - first
        hole = Block(address=first, size=last - first, small=block.small, mapped=False)
        ends = (
            Block(address=block.address, size=first - block.address, small=block.small),
            Block(address=last, size=block.address + block.size - last, small=block.small),
        )
        before, after = block.before, block.after
        for part in (ends[0], hole, ends[1]):
            if part.size:
                _link(before, part)
                before = part
        _link(before, after)
        for part in ends:
            if part.size:
                self._list(part)
        self._list_unmapped(hole)

    def _list_unmapped(self, hole: Block) -> None:
        """List a hole, joined with the holes beside it."""
        for other in (hole.before, hole.after):
            if other is not None and not other.mapped:
                self.unmapped[hole.small].remove(other)
        before, after = hole.before, hole.after
        if after is not None and not after.mapped:
            hole.size += after.size
            _link(hole, after.after)
        if before is not None and not before.mapped:
            before.size += hole.size
            _link(before, hole.after)
            hole = before
        insort(self.unmapped[hole.small], hole, key=lambda block: block.address)

    def _make_room(self, size: int) -> bool:
        """Release what is free if the device is full; return whether that freed memory."""
        if self.capacity_bytes is None or self.reserved_bytes + size <= self.capacity_bytes:
            return False
        reserved = self.reserved_bytes
        self.release()
        return self.reserved_bytes < reserved

    def _count(self, size: int) -> None:
        self.reserved_bytes += size
        self.most_reserved_bytes = max(self.most_reserved_bytes, self.reserved_bytes)

    def _split(self, block: Block, size: int) -> None:
        rest = block.size - size
        least = _LEAST if block.small or self.expandable else _SMALL + 1
        if rest < least:
            return
        behind = Block(address=block.address + size, size=rest, small=block.small)
        _link(behind, block.after)
        _link(block, behind)
        block.size = size
        self._list(behind)

    def _list(self, block: Block) -> None:
        block.free = True
        self.blocks[block.address] = block
        insort(self.free[block.small], (block.size, block.address))

    def _unlist(self, block: Block) -> None:
        block.free = False
        del self.blocks[block.address]
        found = self.free[block.small]
        del found[bisect_left(found, (block.size, block.address))]


def _link(before: Block | None, after: Block | None) -> None:
    """Make two blocks neighbours."""
    if before is not None:
        before.after = after
    if after is not None:
        after.before = before


def _empty(block: Block) -> bool:
    return block.free or not block.mapped


def _room(block: Block) -> int:
    """Return a free block's size, with the unmapped addresses after it."""
    after = block.after
    return block.size + (after.size if after is not None and not after.mapped else 0)


def _pages(size: int, *, small: bool) -> int:
    page = _SMALL_SEGMENT if small else _LARGE_SEGMENT
    return -(-size // page) * page


def _missing(run: list[Block], size: int) -> int:
    """Return the bytes of pages that a run must map to hold a request."""
    missing = 0
    for part in run:
        pages = part.size if part.mapped else min(part.size, _pages(size, small=part.small))
        missing += 0 if part.mapped else pages
        size -= pages
    return missing
