"""Checks on one matrix that saved weights are complete, finite and changed by training."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import safe_open

_SAME_PARTS: Final = 2  # of two names, at their ends: the module and its weight


class WeightProbe:
    """One trained matrix of a model, and one frozen matrix if there is any, before training.

    `gather` is `parallel.shards.gather_weights` for weights that ZeRO-3 divides. Then every process
    takes part; otherwise only the first one has the weights.
    """

    def __init__(self, model: Any, gather: Callable[[list[Any]], Any] = nullcontext) -> None:
        named = model.named_parameters()
        matrices = [(n, w) for n, w in named if len(getattr(w, "ds_shape", w.shape)) == 2]  # noqa: PLR2004
        trained = [(name, weight) for name, weight in matrices if weight.requires_grad][-1:]
        frozen = [(name, weight) for name, weight in matrices if not weight.requires_grad][-1:]
        self.trained = {name for name, _ in trained}
        with gather([weight for _, weight in trained + frozen]):
            held = [(name, weight) for name, weight in trained + frozen if not weight.is_meta]
            self.before = {name: weight.detach().cpu().clone() for name, weight in held}

    def find_fault(self, folder: Path) -> str | None:
        """Return what is wrong with the model saved in a folder, as a clause, or None."""
        for name, before in self.before.items():
            saved = _read(folder, name)
            if saved is None or saved.shape != before.shape:
                return f"{name} was not saved completely"
            if not torch.isfinite(saved).all():
                return f"{name} has a value that is not finite"
            is_equal = torch.equal(saved, before.to(saved.dtype))
            if name in self.trained and is_equal:
                return f"training did not change {name}"
            if name not in self.trained and not is_equal:
                return f"training changed {name}, which is frozen"
        return None


def _read(folder: Path, name: str) -> Any:
    """Return a saved weight: of this name, or of one with the same end.

    transformers saves a wrapper under the names it was loaded from, which may begin differently.
    """
    places: dict[str, Path] = {}
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            places |= dict.fromkeys(file.keys(), path)
    likest = max(places, key=lambda saved: _compare(saved.split("."), name.split(".")))
    if _compare(likest.split("."), name.split("."))[0] < _SAME_PARTS:
        return None
    with safe_open(places[likest], framework="pt") as file:
        return file.get_tensor(likest)


def _compare(saved: list[str], name: list[str]) -> tuple[int, int]:
    """Return how many parts two names have in common, at their ends and in all."""
    pairs = zip(reversed(saved), reversed(name), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return len(list(same)), len(set(saved) & set(name))
