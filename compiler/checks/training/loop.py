"""The rules about compiling the model and separate rates (FTC327 to FTC329, FTC537)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case


@rule("FTC327", "compiled-rounded-base", "error")
def compiled_rounded_base(case: Case) -> Iterator[Problem]:
    """What it is: `training.compile` is set under QLoRA.

    Why it matters: Kernels of bitsandbytes unpack the quantized weights, and `torch.compile` cannot
    look into them. Little is left to fuse, and the pinned versions have not been tested together.

    Example: {"method": "qlora", "training": {"compile": true}}

    Use instead: {"method": "lora", "training": {"compile": true}}
    """
    if case.spec.method.type == "qlora" and case.spec.training.compile is True:
        yield problem("/training/compile", fix=(put("/training/compile", False),))


@rule("FTC328", "compiled-in-parts", "error", reads=("plan",))
def compiled_in_parts(case: Case) -> Iterator[Problem]:
    """What it is: `training.compile` is set, and ZeRO-3 divides the weights.

    Why it matters: ZeRO-3 gathers the weights of each module in a hook before the module runs. Each
    hook ends the compiled graph, so single modules are compiled, which takes minutes and is hardly
    faster.

    Example: {"distribution": {"strategy": "zero3"}, "training": {"compile": true}}

    Use instead: {"distribution": {"strategy": "zero2"}, "training": {"compile": true}}
    """
    decided = case.plan.decisions
    if decided.loop.compile.value and decided.distribution.sharding.value == "zero3":
        yield problem("/training/compile", fix=(put("/training/compile", False),))


@rule("FTC329", "prefetch-without-workers", "error", reads=("plan",))
def prefetch_without_workers(case: Case) -> Iterator[Problem]:
    """What it is: Batches are to be prefetched, and there are no loader processes.

    Why it matters: Without a loader process each batch is made when the trainer asks for it. The
    trainer stops at this setting before its first step.

    Example: {"training": {"loader_prefetch": 4}}

    Use instead: {"training": {"loader_prefetch": 4, "loader_workers": 1}}
    """
    decided = case.plan.decisions
    if decided.loop.loader_prefetch is not None and not decided.loop.loader_workers.value:
        yield problem(
            "/training/loader_prefetch",
            fix=({"op": "remove", "path": "/training/loader_prefetch"},),
        )


@rule("FTC537", "rate-of-frozen-embeddings", "error")
def rate_of_frozen_embeddings(case: Case) -> Iterator[Problem]:
    """What it is: Embeddings have a learning rate, and neither they nor the head are trained.

    Why it matters: An adapter trains neither, nor does a fine-tune of some layers. The field
    would be accepted and then ignored.

    Example: {"method": "lora", "training": {"embedding_learning_rate": 1e-5}}

    Use instead: {"method": {"type": "lora", "also_train": ["embeddings"]},
                  "training": {"embedding_learning_rate": 1e-5}}
    """
    spec = case.spec
    rows = bool(spec.model.new_tokens) and spec.method.type != "freeze"
    trained = spec.method.type == "full" or bool(spec.method.also_train) or rows
    if spec.training.embedding_learning_rate is not None and not trained:
        yield problem(
            "/training/embedding_learning_rate",
            fix=({"op": "remove", "path": "/training/embedding_learning_rate"},),
            method=spec.method.type,
        )
