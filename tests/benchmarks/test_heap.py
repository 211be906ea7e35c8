"""The replay of PyTorch's caching allocator: sizes as in its source."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.heap import Heap

MIB = 2**20


def test_requests_are_rounded_and_come_from_segments_of_their_pool() -> None:
    """512 bytes; 2 MiB up to 1 MiB, 20 MiB up to 10 MiB, then their own size in 2 MiB."""
    for size, taken, reserved in (
        (1, 512, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (11 * MIB, 12 * MIB, 12 * MIB),
    ):
        heap = Heap()
        heap.take(size)
        assert (heap.taken_bytes, heap.reserved_bytes) == (taken, reserved)


def test_the_smallest_block_that_is_large_enough_is_taken_and_split() -> None:
    """The rest of a large block is kept if it is above 1 MiB."""
    heap = Heap()
    large, small = heap.take(100 * MIB), heap.take(40 * MIB)
    heap.give(large)
    heap.give(small)
    assert heap.take(30 * MIB).address == small.address
    heap.take(8 * MIB)  # the ten that are left of the smaller one
    assert heap.reserved_bytes == 140 * MIB
    heap.take(100 * MIB)
    assert heap.reserved_bytes == 140 * MIB


def test_a_larger_request_cannot_use_two_smaller_segments() -> None:
    """The cause of fragmentation, which expandable segments avoid."""
    reserved = {}
    for expandable in (False, True):
        heap = Heap(expandable=expandable)
        for block in [heap.take(40 * MIB), heap.take(40 * MIB)]:
            heap.give(block)
        heap.take(80 * MIB)
        reserved[expandable] = heap.reserved_bytes
    assert reserved == {False: 160 * MIB, True: 80 * MIB}


def test_free_segments_go_back_before_a_full_device_is_overrun() -> None:
    """Only completely free segments are released."""
    heap = Heap(capacity_bytes=100 * MIB)
    heap.give(heap.take(60 * MIB))
    heap.take(80 * MIB)
    assert heap.reserved_bytes == 80 * MIB
    assert heap.most_reserved_bytes == 80 * MIB


def test_free_pages_are_mapped_elsewhere_on_a_full_device() -> None:
    """With expandable segments a hole gives its whole pages to a larger request."""
    heap = Heap(expandable=True, capacity_bytes=200 * MIB)
    first, hole, last = heap.take(40 * MIB), heap.take(80 * MIB), heap.take(20 * MIB)
    heap.give(hole)
    large = heap.take(100 * MIB)
    assert heap.most_reserved_bytes == 160 * MIB
    assert large.address > last.address
    for block in (first, last, large):
        heap.give(block)
    again = heap.take(160 * MIB)
    assert again.address == first.address
    assert heap.most_reserved_bytes <= 200 * MIB


@given(st.lists(st.tuples(st.integers(1, 64 * MIB), st.integers(0, 5)), max_size=60), st.booleans())
def test_nothing_is_lost(requests: list[tuple[int, int]], expandable: bool) -> None:
    """Allocated and free bytes add up to the reserved bytes; released blocks are free."""
    heap, held = Heap(expandable=expandable), []
    for size, gone in requests:
        held.append(heap.take(size))
        if gone == 0:
            heap.give(held.pop(len(held) // 2))
        free = sum(block.size for block in heap.blocks.values())
        assert heap.taken_bytes + free == heap.reserved_bytes
        assert all(block.free for block in heap.blocks.values())
    for block in held:
        heap.give(block)
    assert heap.taken_bytes == 0
    assert sum(block.size for block in heap.blocks.values()) == heap.reserved_bytes
