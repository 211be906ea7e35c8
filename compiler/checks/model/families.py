"""The rules about kinds of models: wrappers, hybrids, experts, models that read both ways.

FTC119, FTC174 to FTC176, FTC335 to FTC338, FTC353 and FTC504.
"""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.derived import derived_table
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.training.peft_targets import (
    is_bypassed,
    is_redirected,
    is_unlearned,
)
from ftc.compiler.knowledge.training.router_losses import has_router_loss, has_unread_loss
from ftc.compiler.plan.memory.activations import has_margin, wide_margin
from ftc.compiler.plan.method.adapter import hit
from ftc.compiler.resolve.model.similar import list_alike

_ADAPTERS: Final = ("lora", "qlora")
_MOST: Final = 0.5


@rule("FTC174", "multimodal-wrapper", "error", reads=("model",))
def multimodal_wrapper(case: Case) -> Iterator[Problem]:
    """What it is: The scripts cannot train the language model inside this multimodal class.

    Why it matters: A miniature of each known class was trained on text and merged by the scripts.
    None of this class was, so nothing shows that the real run would end with a merged model.

    Example: {"model": "org/a-new-multimodal-class"}

    Use instead: {"model": "Qwen/Qwen3-VL-2B-Instruct"}
    """
    wrapper = case.model.wrapper
    known = None if wrapper is None else find_rehearsed(wrapper)
    if wrapper is None or (known is not None and known.is_trained):
        return
    yield problem(
        "/model/id",
        name=case.model.id,
        wrapper=wrapper,
        architecture=case.model.architecture,
    )


@rule("FTC353", "wrapper-with-another-head", "error", reads=("model",))
def wrapper_with_another_head(case: Case) -> Iterator[Problem]:
    """What it is: The objective is not about tokens, and the model reads images.

    Why it matters: transformers has no class that puts a head for labels or rewards on the language
    model inside most multimodal models, and none that merges into the files of one. For `embed`,
    sentence-transformers loads such a model with its tower and its processor of images.

    Example: {"model": "google/gemma-3-4b-it", "objective": "classification"}

    Use instead: {"model": "google/gemma-3-1b-it", "objective": "classification"}
    """
    objective = case.spec.objective.type
    head = OBJECTIVES[objective].head
    if case.model.wrapper is not None and head != "tokens":
        yield problem(
            "/objective/type",
            message="vectors" if head == "vectors" else "",
            help="vectors" if head == "vectors" else "",
            name=case.model.id,
            wrapper=case.model.wrapper,
        )


@rule("FTC119", "next-token-in-sight", "error", reads=("model",))
def next_token_in_sight(case: Case) -> Iterator[Problem]:
    """What it is: The objective predicts the next token, and the model attends to all tokens.

    Why it matters: Such a model finds the next token in its input. The loss falls to nearly 0, and
    the model learns to copy, so it cannot generate text. Its config.json has `is_causal: false` or
    `use_bidirectional_attention: true`, as embedding models made from causal ones have.

    Example: {"model": "Alibaba-NLP/gte-Qwen2-1.5B-instruct", "objective": "sft"}

    Use instead: {"model": "Qwen/Qwen2.5-1.5B-Instruct", "objective": "sft"}
    """
    if case.model.reads_both_ways and OBJECTIVES[case.spec.objective.type].head == "tokens":
        yield problem("/model/id", name=case.model.id)


@rule("FTC504", "comparer-trained-to-write", "warning", reads=("model",))
def comparer_trained_to_write(case: Case) -> Iterator[Problem]:
    """What it is: The objective predicts the next token, and the model compares texts.

    Why it matters: An embedding model or a reranker was trained away from writing: its vectors or
    scores are what it is for, and it answers worse than the model that it was made from. The files
    of sentence-transformers beside it, its name or ftc's table tell what it is.

    Example: {"model": "Qwen/Qwen3-Embedding-0.6B", "objective": "sft"}

    Use instead: {"model": "Qwen/Qwen3-Embedding-0.6B", "objective": "embed"}
    """
    model, objective = case.model, case.spec.objective.type
    if model.purpose is None or OBJECTIVES[objective].head != "tokens" or model.reads_both_ways:
        return
    kind = "" if model.purpose == "vectors" else model.purpose
    yield problem(
        "/objective/type",
        message=kind,
        help=kind,
        name=model.id,
        objective=objective,
        models=list_alike(model.parameters),
    )


@rule("FTC175", "frozen-experts", "info", reads=("model",), fix_safety="unsafe")
def frozen_experts(case: Case) -> Iterator[Problem]:
    """What it is: LoRA adapts modules around the experts, and none of the experts.

    Why it matters: The experts of a layer are one tensor and not linear modules, so no target
    matches them. Most of the model's weights then stay as they are, which is enough for a style or
    a format, and may not be for new knowledge. Adapters on experts take more memory and time.

    Example: {"model": "Qwen/Qwen3-30B-A3B", "method": "lora"}

    Use instead: {"model": "Qwen/Qwen3-30B-A3B", "method": {"type": "lora", "experts": true}}
    """
    method, shape = case.spec.method, case.model.fused_experts
    if method.type not in _ADAPTERS or method.experts or shape is None:
        return
    if "/method/experts" in case.spec.said:
        return
    share = shape.expert_parameters / max(1, shape.parameters)
    if share > _MOST:
        yield problem("/method/type", fix=(put("/method/experts", True),), share=share)


@rule("FTC176", "router-loss-without-router", "error", reads=("model",), fix_safety="unsafe")
def router_loss_without_router(case: Case) -> Iterator[Problem]:
    """What it is: `training.router_loss` is above 0, and the model computes no such loss.

    Why it matters: A dense model has no router, and some classes with experts balance them without
    a loss. TRL would stop at the first step, because their output has no `aux_loss`. It asks for
    the loss by the key `num_experts`, so that it stops at classes that name it otherwise as well.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct", "training": {"router_loss": 0.001}}

    Use instead: {"model": "Qwen/Qwen3-30B-A3B", "training": {"router_loss": 0.001}}
    """
    shape = case.model.known_shape
    if not case.spec.training.router_loss or shape is None:
        return
    if not shape.experts or not has_router_loss(shape.architecture):
        is_unread = shape.experts > 0 and has_unread_loss(shape.architecture)
        yield problem(
            "/training/router_loss",
            message="unread" if is_unread else "",
            fix=({"op": "remove", "path": "/training/router_loss"},),
            name=case.model.id,
            architecture=shape.architecture,
        )


@rule("FTC335", "slow-recurrent-layers", "warning", reads=("model", "hardware"))
def slow_recurrent_layers(case: Case) -> Iterator[Problem]:
    """What it is: Layers with a linear attention or a state space run without their kernels.

    Why it matters: The kernels are in flash-linear-attention, causal-conv1d and mamba-ssm, which
    the locked requirements do not have. transformers then computes these layers with plain
    operations of PyTorch, which move and keep far more bytes. The plan's memory and time are those
    of the plain operations, and no run on a GPU has measured that time. A short convolution, as in
    LFM2, needs no kernel. Do not add flash-linear-attention by hand: its version 0.6.0 fits the
    locked packages, but the pinned transformers takes its kernels wherever it is installed. On a
    CPU, as in a rehearsal, the forward pass then stops in Triton (`0 active drivers`).

    Example: {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "hardware": "8x H100-80GB"}

    Use instead: {"model": "Qwen/Qwen3-30B-A3B", "hardware": "8x H100-80GB"}
    """
    shape = case.model.known_shape
    if shape is not None and shape.scanned_layers() and case.hardware.kind == "gpu":
        yield problem(
            "/model/id",
            architecture=case.model.architecture,
            count=shape.scanned_layers(),
            layers=shape.layers,
        )


@rule("FTC336", "target-without-effect", "error", reads=("model",), fix_safety="unsafe")
def target_without_effect(case: Case) -> Iterator[Problem]:
    """What it is: A LoRA target is a module whose adapter would not be trained.

    Why it matters: PEFT refuses an adapter on `out_proj` in Mamba, Mamba 2, Falcon Mamba, Falcon H1
    and Nemotron-H. Elsewhere the kernel of a state space reads the weight and never calls the
    module. The indexers of sparse attention, as in DeepSeek-V3.2 and GLM-5, run without gradients.

    Example: {"model": "ibm-ai-platform/Bamba-9B-v2", "method": {"targets": ["out_proj"]}}

    Use instead: {"model": "ibm-ai-platform/Bamba-9B-v2", "method": {"targets": "auto"}}
    """
    method, shape = case.spec.method, case.model.shape
    if method.type not in _ADAPTERS or not isinstance(method.targets, tuple) or shape is None:
        return
    for index, target in enumerate(method.targets):
        found = hit(shape, (target,))
        bypassed = any(is_bypassed(shape.architecture, name) for name in found)
        if bypassed or (found and all(is_unlearned(shape.architecture, name) for name in found)):
            alone = len(method.targets) == 1
            pointer = f"/method/targets/{index}"
            without = put("/method/targets", "auto") if alone else {"op": "remove", "path": pointer}
            yield problem(pointer, fix=(without,), target=target, architecture=shape.architecture)


@rule("FTC337", "layers-not-traced", "info", reads=("model",))
def layers_not_traced(case: Case) -> Iterator[Problem]:
    """What it is: The activations of this architecture's layers were never traced.

    Why it matters: The parameters are exact, but the memory of the activations is that of a
    Llama-like layer times a margin. The batch may be smaller than what would fit, or too
    large.

    Example: {"model": "rednote-hilab/dots.llm1.inst"}

    Use instead: {"model": "rednote-hilab/dots.llm1.inst", "allow": ["FTC337"]}
    """
    shape = case.model.shape
    if shape is None or shape.architecture not in derived_table():
        return
    if not has_margin(shape.architecture):
        yield problem("/model/id", architecture=shape.architecture, times=wide_margin(shape))


@rule("FTC338", "target-moved-to-experts", "error", reads=("model",), fix_safety="unsafe")
def target_moved_to_experts(case: Case) -> Iterator[Problem]:
    """What it is: PEFT rewrites a target or a pattern for this class with experts.

    Why it matters: The experts' projections were modules in transformers 4 and are one tensor now.
    PEFT takes `gate_proj`, `up_proj` and `down_proj` for those, so that the dense layers and the
    shared experts of the same names get no adapter and all experts get one of twice the rank. A
    pattern becomes the last parts of the names that it matches, in every layer.

    Example: {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "method": {"targets": ["down_proj"]}}

    Use instead: {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "method": {"experts": true}}
    """
    method, shape = case.spec.method, case.model.shape
    if method.type not in _ADAPTERS or shape is None or not is_redirected(shape.model_type):
        return
    if method.target_pattern is not None:
        fix = {"op": "remove", "path": "/method/target_pattern"}
        yield problem(
            "/method/target_pattern",
            fix=(fix,),
            target=method.target_pattern,
            architecture=shape.architecture,
        )
    written = method.targets if isinstance(method.targets, tuple) else ()
    for index, target in enumerate(written):
        if is_redirected(shape.model_type, target):
            pointer = f"/method/targets/{index}"
            alone = len(written) == 1
            without = put("/method/targets", "auto") if alone else {"op": "remove", "path": pointer}
            yield problem(pointer, fix=(without,), target=target, architecture=shape.architecture)
