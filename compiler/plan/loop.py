"""How the training loop runs: compiled or not, and who prepares its batches."""

from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide, keep
from ftc.spec.sections import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Whether the model is compiled, and how many processes prepare batches for each trainer.

    `loader_prefetch` counts the batches that each of them keeps ready; None leaves PyTorch's two.
    """

    compile: Decision[bool]
    loader_workers: Decision[int]
    loader_prefetch: Decision[int] | None


def decide_loop(spec: Spec) -> Loop:
    """Return what the spec says; else nothing is compiled, and who trains makes its own batches.

    Rows are tokens that are mapped from disk. Stacking 8 of them takes a millisecond, and 16,000
    packed tokens eleven, while a device computes; a worker's messages take one and a half of each
    (`benchmarks/README.md`).
    """
    training = spec.training
    return Loop(
        compile=decide(
            spec, "/training/compile", training.compile, lambda: (False, Because(key="compile.off"))
        ),
        loader_workers=decide(
            spec,
            "/training/loader_workers",
            training.loader_workers,
            lambda: (0, Because(key="loader_workers.none")),
        ),
        loader_prefetch=keep(spec, "/training/loader_prefetch", training.loader_prefetch)
        if training.loader_prefetch is not None
        else None,
    )
