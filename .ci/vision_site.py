"""Declares the operators that torchvision's CUDA build registers in C++, beside torch for a CPU.

`.ci/setup` copies this file to `.venv/vision/sitecustomize.py`. Only tests use it. Without the
operators, importing torchvision fails, and with it every image processor of transformers.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import Any

OPERATORS = ("nms", "qnms")
kept: list[Any] = []


class Declare(MetaPathFinder):
    """Finds nothing, and declares the operators when torchvision is first looked for."""

    def find_spec(self, fullname: str, *_: Any) -> None:
        """Return nothing."""
        if fullname != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch  # noqa: PLC0415 - only a process that needs torchvision

        library = torch.library.Library("torchvision", "DEF")
        for name in OPERATORS:
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        kept.append(library)  # the declarations live as long as it does


sys.meta_path.insert(0, Declare())
