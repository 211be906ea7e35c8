"""PyTorch's caching allocator for one stream, replayed on sizes alone.

Source: `c10/cuda/CUDACachingAllocator.cpp` and `AllocatorConfig.h` of torch 2.4 to 2.13. Requests
are rounded to 512 bytes; those of at most 1 MiB come from segments of 2 MiB, larger ones from
segments of 20 MiB or, from 10 MiB on, of their own size rounded to 2 MiB. The smallest free block
that is large enough is used, and split if enough remains; free neighbours are joined. With
expandable segments a pool is one segment that grows by pages of 2 or 20 MiB. If the device is full,
completely free segments are released first.
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


@dataclass(slots=True)
class Block:
    """A piece of a segment; neighbours in the segment, None at its ends."""

    address: int
    size: int
    small: bool
    free: bool = False
    before: "Block | None" = None
    after: "Block | None" = None


@dataclass(slots=True)
class Heap:
    """An allocator's state: allocated and reserved bytes, and the peak of each.

    `capacity_bytes` limits the reserved bytes; None means no limit. A request that does not fit is
    reserved anyway, so that the peak is still measured.
    """

    expandable: bool = False
    capacity_bytes: int | None = None
    taken_bytes: int = 0
    reserved_bytes: int = 0
    most_taken_bytes: int = 0
    most_reserved_bytes: int = 0
    free: dict[bool, list[tuple[int, int]]] = field(default_factory=lambda: {True: [], False: []})
    blocks: dict[int, Block] = field(default_factory=dict)  # free ones, by address
    tails: dict[bool, Block] = field(default_factory=dict)  # the end of each expandable segment
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
        before, after = block.before, block.after
        if before is not None and before.free:
            self._unlist(before)
            before.size += block.size
            before.after = after
            if after is not None:
                after.before = before
            if self.tails.get(block.small) is block:
                self.tails[block.small] = before
            block = before
        if after is not None and after.free:
            self._unlist(after)
            block.size += after.size
            block.after = after.after
            if after.after is not None:
                after.after.before = block
            if self.tails.get(block.small) is after:
                self.tails[block.small] = block
        self._list(block)

    def release(self) -> None:
        """Release completely free segments; expandable segments are not modelled."""
        for block in list(self.blocks.values()):
            if block.before is None and block.after is None and not self.expandable:
                self._unlist(block)
                self.reserved_bytes -= block.size

    def _cached(self, size: int, *, small: bool) -> Block | None:
        """Return the smallest free block that is large enough.

        The end of an expandable segment counts as its maximum size, so it is used last.
        """
        found = self.free[small]
        place = bisect_left(found, (size, 0))
        if place == len(found):
            return None
        block = self.blocks[found[place][1]]
        if block is self.tails.get(small) and place + 1 < len(found):
            block = self.blocks[found[place + 1][1]]
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
        return self._reserve(segment, small=small)

    def _expand(self, size: int, *, small: bool) -> Block:
        """Map the pages after the pool's last block that the request still needs."""
        page = _SMALL_SEGMENT if small else _LARGE_SEGMENT
        tail = self.tails.get(small)
        room = tail.size if tail is not None and tail.free else 0
        pages = -(-(size - room) // page) * page
        if tail is not None and tail.free:
            self._unlist(tail)
            tail.size += pages
            self._count(pages)
            return tail
        block = self._reserve(pages, small=small)
        block.before = tail
        if tail is not None:
            tail.after = block
        self.tails[small] = block
        return block

    def _reserve(self, size: int, *, small: bool) -> Block:
        block = Block(address=self.end, size=size, small=small)
        self.end += size + 2**40  # far apart, so that segments never join
        self._count(size)
        return block

    def _count(self, size: int) -> None:
        if self.capacity_bytes is not None and self.reserved_bytes + size > self.capacity_bytes:
            self.release()
        self.reserved_bytes += size
        self.most_reserved_bytes = max(self.most_reserved_bytes, self.reserved_bytes)

    def _split(self, block: Block, size: int) -> None:
        rest = block.size - size
        least = _LEAST if block.small or self.expandable else _SMALL + 1
        if rest < least:
            return
        behind = Block(
            address=block.address + size, size=rest, small=block.small, before=block,
            after=block.after,
        )  # fmt: skip
        if block.after is not None:
            block.after.before = behind
        block.after, block.size = behind, size
        if self.tails.get(block.small) is block:
            self.tails[block.small] = behind
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
