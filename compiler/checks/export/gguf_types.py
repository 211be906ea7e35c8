"""The rules about the types of GGUF files (FTC621, FTC660 to FTC662)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.exports.gguf_quality import published
from ftc.compiler.knowledge.exports.gguf_types import block_weights, file_type
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.batch.lengths import usual_mean
from ftc.compiler.plan.gguf.size import choose_types, falls_back, weight_bytes
from ftc.compiler.plan.gguf.tensors import list_tensors
from ftc.spec.message import Message
from ftc.spec.sections import GgufType

_SPARED_BITS = 3.0
_SMALL_PARAMETERS: Final = 7_000_000_000
_LARGE_PARAMETERS: Final = 70_000_000_000
_LOSSY: Final = 2.0  # times the perplexity of 16 bits
_FEW_TOKENS: Final = 2048  # of the data, per expert that a matrix is computed for


@rule("FTC621", "narrow-rows-for-k-quant", "warning", reads=("model",))
def narrow_rows_for_k_quant(case: Case) -> Iterator[Problem]:
    """What it is: A type with blocks of 256 is requested, and 256 does not divide some rows.

    Why it matters: llama.cpp stores those tensors in a larger type with smaller blocks, so the file
    is larger than its name suggests. The plan and the message include this.

    Example: {"model": "HuggingFaceTB/SmolLM2-135M", "export": ["Q4_K_M"]}

    Use instead: {"model": "HuggingFaceTB/SmolLM2-135M", "export": ["Q8_0"]}
    """
    shape = case.model.shape
    narrow = [kind for kind in case.spec.export.types if 0 < _narrow_share(shape, kind) < 1]
    scores = OBJECTIVES[case.spec.objective.type].head == "scores"  # see FTC570
    if shape is None or not narrow or scores:
        return
    share = _narrow_share(shape, narrow[0])
    sizes = tuple(
        Message("phrase.type_will_have", {"kind": kind, "size": _size(shape, kind)})
        for kind in narrow
    )
    yield problem("/export/types", share=share, sizes=sizes)


@rule("FTC660", "type-of-no-tensor", "warning", reads=("model",))
def type_of_no_tensor(case: Case) -> Iterator[Problem]:
    """What it is: No row of the model's layers is a multiple of the block size of the type.

    Why it matters: llama.cpp stores every tensor in another type. The file has the name of a type
    that it does not contain, and the size and quality of the other type.

    Example: {"model": "./narrow-model", "export": ["Q4_K_M"]}

    Use instead: {"model": "./narrow-model", "export": ["Q5_0"]}
    """
    shape = case.model.shape
    for place, kind in enumerate(case.spec.export.types):
        if shape is not None and _narrow_share(shape, kind) == 1:
            most = _most_common(shape, kind)
            block = block_weights(file_type(kind).tensor)
            yield problem(
                f"/export/types/{place}",
                block=block,
                kind=kind,
                most=most,
                size=_size(shape, kind),
            )


@rule("FTC661", "importance-from-few-tokens", "warning", reads=("model", "data", "plan"))
def importance_from_few_tokens(case: Case) -> Iterator[Problem]:
    """What it is: A type needs an importance matrix, and there are few tokens to compute it from.

    Why it matters: The matrix tells the quantizer which columns of a weight matter for the data.
    If it is computed from few tokens, it is mostly noise, and types below three bits then lose more
    quality than usual.

    Example: {"data": "twenty-rows.csv", "export": ["IQ2_XXS"]}

    Use instead: {"data": "twenty-rows.csv", "export": ["Q3_K_M"]}
    """
    needing = [kind for kind in case.spec.export.types if file_type(kind).matrix == "needed"]
    shape = case.model.shape
    share = shape.experts / shape.experts_per_token if shape is not None and shape.experts else 1
    tokens = round(case.plan.decisions.splits.train_rows.value * usual_mean(case.data.lengths))
    if needing and tokens < _FEW_TOKENS * share:
        yield problem("/export/types", kinds=needing, tokens=tokens, few=round(_FEW_TOKENS * share))


@rule("FTC662", "too-few-bits-for-a-small-model", "warning", reads=("model",))
def too_few_bits_for_a_small_model(case: Case) -> Iterator[Problem]:
    """What it is: A type has too few bits per weight for the size of the model.

    Why it matters: Large models tolerate such types; small ones lose what they learned. For the
    same file size, a larger type of a smaller model loses less. For Llama 3 8B, llama.cpp published
    a perplexity 2.3 times that of 16 bits with IQ2_XXS, and 9.7 times with IQ1_S.

    Example: {"model": "Qwen/Qwen2.5-1.5B", "export": ["IQ2_XS"]}

    Use instead: {"model": "Qwen/Qwen2.5-1.5B", "export": ["Q4_K_M"]}
    """
    low = [k for k in case.spec.export.types if file_type(k).bits_per_weight < _SPARED_BITS]
    parameters = case.model.parameters
    if low and parameters < _SMALL_PARAMETERS:
        # Q4_K_M of narrow rows would lead to FTC621
        advice = "narrow" if _narrow_share(case.model.shape, "Q4_K_M") > 0 else ""
        yield problem("/export/types", help=advice, kinds=low, parameters=parameters)
        return
    ratios = {kind: published(kind).perplexity_ratio for kind in low}
    lossy = [kind for kind in low if ratios[kind] > _LOSSY]
    if lossy and parameters < _LARGE_PARAMETERS:
        worst = max(lossy, key=lambda kind: ratios[kind])
        yield problem(
            "/export/types",
            message="lossy",
            kinds=lossy,
            worst=worst,
            ratio=ratios[worst],
            parameters=parameters,
        )


def _narrow_share(shape: Shape | None, kind: GgufType) -> float:
    """Return how much of the layers' weights are in rows too narrow for the file's own type."""
    if shape is None:
        return 0.0
    one = list_tensors(replace(shape, layers=min(1, shape.layers)))  # all layers are alike
    layers = [tensor for tensor in one if tensor.layer >= 0 and not tensor.kept]
    narrow = sum(tensor.weights for tensor in layers if falls_back(tensor, kind))
    return narrow / max(1, sum(tensor.weights for tensor in layers))


def _most_common(shape: Shape, kind: GgufType) -> str:
    """Return the type that most of the layers' weights have."""
    weights: dict[str, int] = {}
    for tensor, name in choose_types(shape, kind):
        if tensor.layer >= 0:
            weights[name] = weights.get(name, 0) + tensor.weights
    return max(weights, key=lambda name: weights[name])


def _size(shape: Shape, kind: GgufType) -> Message:
    """Return the size of the weights, and how much more it is than the type's own bits."""
    size = weight_bytes(shape, kind)
    more = 8 * size / shape.parameters / file_type(kind).bits_per_weight - 1
    return Message("phrase.size_against_name", {"size": size, "more": more})
