"""Which storages of tensors are alive, and how many bytes they ever had together."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Storages(TorchDispatchMode):
    """Notes every storage that an operation returns, without holding it.

    `peak_bytes` is the most that was alive at once. Storages of `own` tensors do not count.
    """

    def __init__(self, own: Iterable[torch.Tensor] = ()) -> None:
        """Begin with none."""
        super().__init__()
        self._own = {each.untyped_storage().data_ptr() for each in own}
        self._live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak_bytes = 0

    def count_bytes(self) -> int:
        """Return the bytes that are alive now."""
        self._live = {key: item for key, item in self._live.items() if not item[0].expired()}
        return sum(size for _, size in self._live.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note the storages of its results."""
        found = func(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, torch.Tensor):
                storage = each.untyped_storage()
                reference = StorageWeakRef(storage)
                if storage.data_ptr() not in self._own:
                    self._live[storage._cdata] = (reference, storage.nbytes())  # noqa: SLF001
        self.peak_bytes = max(self.peak_bytes, self.count_bytes())
        return found
