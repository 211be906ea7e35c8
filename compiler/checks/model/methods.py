"""The rules about what a method trains and how an adapter begins (FTC150 to 159, 446 to 449)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import re
from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.module_names import ModuleNames, find_module_names
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.plan.method.adapter import matched
from ftc.compiler.resolve.patterns import SlowPatternError, match_texts

_ADAPTERS = ("lora", "qlora")
_PARTS = {"embeddings", "head"}
_SPLIT = ("pissa", "pissa_niter_16", "olora")


def _splits(case: Case) -> bool:
    method = case.spec.method
    return method.type in _ADAPTERS and method.init in _SPLIT


@rule("FTC150", "targets-said-twice", "error", fix_safety="unsafe")
def targets_said_twice(case: Case) -> Iterator[Problem]:
    """What it is: Both `method.targets` and `method.target_pattern` choose the layers for LoRA.

    Why it matters: PEFT uses one of them. The other would be accepted and then ignored.

    Example: {"method": {"type": "lora", "targets": "attention", "target_pattern": ".*_proj"}}

    Use instead: {"method": {"type": "lora", "target_pattern": ".*_proj"}}
    """
    said = case.spec.said
    if "/method/targets" in said and case.spec.method.target_pattern is not None:
        yield problem(
            "/method/target_pattern", fix=({"op": "remove", "path": "/method/target_pattern"},)
        )


@rule("FTC151", "pattern-matches-nothing", "error", reads=("model",))
def pattern_matches_nothing(case: Case) -> Iterator[Problem]:
    """What it is: No linear layer has a name that `method.target_pattern` matches as a whole.

    Why it matters: PEFT stops when nothing matches. It compares whole names, such as
    `model.layers.3.self_attn.q_proj`: a pattern without `.*` before it matches none.

    Example: {"method": {"type": "lora", "target_pattern": "q_proj|v_proj"}}

    Use instead: {"method": {"type": "lora", "target_pattern": ".*(q_proj|v_proj)"}}
    """
    pattern, shape = case.spec.method.target_pattern, case.model.shape
    if pattern is None or case.spec.method.type not in _ADAPTERS:
        return
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        yield problem(
            "/method/target_pattern", message="malformed", help="malformed", error=str(error)
        )
        return
    names = find_module_names(case.model.architecture)
    if names is None or _is_slow(pattern, names):  # FTC167 says it
        return
    if shape is not None and not matched(shape, pattern):
        kind = next(iter(names.linears))
        yield problem(
            "/method/target_pattern", architecture=shape.architecture, name=names.linear(kind, 0)
        )


@rule("FTC167", "endless-pattern", "error", reads=("model",))
def endless_pattern(case: Case) -> Iterator[Problem]:
    """What it is: Matching `method.target_pattern` with one name takes several seconds.

    Why it matters: With a repetition inside a repetition, Python tries every way to divide the
    letters between the two. PEFT matches the pattern with every module, so training would never
    start.

    Example: {"method": {"type": "lora", "target_pattern": "(.+)+_projection"}}

    Use instead: {"method": {"type": "lora", "target_pattern": ".*_proj"}}
    """
    pattern, names = case.spec.method.target_pattern, find_module_names(case.model.architecture)
    if pattern is None or names is None or case.spec.method.type not in _ADAPTERS:
        return
    if _is_slow(pattern, names):
        yield problem("/method/target_pattern")


def _is_slow(pattern: str, names: ModuleNames) -> bool:
    texts = (names.head, names.linear(next(iter(names.linears)), 0))
    try:
        match_texts(pattern, texts, "fullmatch")
    except SlowPatternError:
        return True
    except (re.error, OverflowError, RecursionError):
        return False
    return False


@rule("FTC152", "pattern-matches-the-head", "error", reads=("model",))
def pattern_matches_the_head(case: Case) -> Iterator[Problem]:
    """What it is: `method.target_pattern` matches the output head as well.

    Why it matters: The loss is computed from the head's own weights, and TRL does not support an
    adapter on it.

    Example: {"method": {"type": "lora", "target_pattern": ".*"}}

    Use instead: {"method": {"type": "lora", "target_pattern": ".*_proj", "also_train": ["head"]}}
    """
    pattern = case.spec.method.target_pattern
    names = find_module_names(case.model.architecture)
    if pattern is None or names is None or case.spec.method.type not in _ADAPTERS:
        return
    try:
        (hits,) = match_texts(pattern, (names.head,), "fullmatch")
    except (re.error, OverflowError, RecursionError, SlowPatternError):  # FTC151 or FTC167 says it
        return
    if hits:
        yield problem("/method/target_pattern", head=names.head)


@rule("FTC153", "experts-that-are-not-there", "error", reads=("model",), fix_safety="unsafe")
def experts_that_are_not_there(case: Case) -> Iterator[Problem]:
    """What it is: `method.experts` is set, and ftc knows no experts in this architecture.

    Why it matters: PEFT looks up the experts' tensors by name and stops if there are none.

    Example: {"model": "Qwen/Qwen2.5-7B", "method": {"type": "lora", "experts": true}}

    Use instead: {"model": "Qwen/Qwen3-30B-A3B", "method": {"type": "lora", "experts": true}}
    """
    asked = case.spec.method.experts and case.spec.method.type in _ADAPTERS
    if asked and case.model.fused_experts is None:
        yield problem(
            "/method/experts",
            fix=({"op": "remove", "path": "/method/experts"},),
            architecture=case.model.architecture,
        )


@rule("FTC154", "experts-beside", "error")
def experts_beside(case: Case) -> Iterator[Problem]:
    """What it is: LoRA on experts is combined with dropout, DoRA, `pissa` or `olora`.

    Why it matters: The experts of a layer are one tensor and not modules. PEFT's wrapper for a
    tensor supports neither dropout nor DoRA, and a decomposition of all experts at once is not one
    of each expert.

    Example: {"method": {"type": "lora", "experts": true, "dropout": 0.1}}

    Use instead: {"method": {"type": "lora", "experts": true}}
    """
    method = case.spec.method
    if not method.experts or method.type not in _ADAPTERS:
        return
    beside = {
        "dropout": "/method/dropout" in case.spec.said and method.dropout > 0,
        "dora": method.dora,
        "init": method.init in _SPLIT,
    }
    for name, present in beside.items():
        if present:
            yield problem(f"/method/{name}", name=name)


@rule("FTC155", "split-of-a-rounded-base", "error", fix_safety="unsafe")
def split_of_a_rounded_base(case: Case) -> Iterator[Problem]:
    """What it is: LoRA is initialised from the base (`pissa`, `olora`), which is quantized.

    Why it matters: PEFT cannot decompose 4-bit weights. Splitting the weights first and quantizing
    the rest would train on a base that exists nowhere else, so the adapter could not be merged into
    the original.

    Example: {"method": {"type": "qlora", "init": "pissa"}}

    Use instead: {"method": {"type": "lora", "init": "pissa"}}
    """
    if case.spec.method.type == "qlora" and _splits(case):
        yield problem(
            "/method/init", fix=(put("/method/init", "default"),), init=case.spec.method.init
        )


@rule("FTC156", "split-beside", "error", reads=("plan",), fix_safety="unsafe")
def split_beside(case: Case) -> Iterator[Problem]:
    """What it is: `pissa` or `olora` is combined with DoRA, fully trained parts, ZeRO-3 or FSDP.

    Why it matters: The initial adapter is subtracted from the trained one, so that the result fits
    the original base. PEFT does that only for LoRA's matrices: DoRA's magnitudes, heads and
    embeddings would be lost. Under ZeRO-3 and FSDP no process has a whole matrix to split.

    Example: {"method": {"type": "lora", "init": "pissa", "dora": true}}

    Use instead: {"method": {"type": "lora", "init": "pissa"}}
    """
    if not _splits(case):
        return
    method = case.spec.method
    beside = {
        "method.dora": method.dora,
        "method.also_train": bool(method.also_train),
        "model.new_tokens": bool(case.spec.model.new_tokens),
        "objective.type": OBJECTIVES[case.spec.objective.type].head != "tokens",
        "distribution.strategy": case.plan.decisions.distribution.sharding.value
        in ("zero3", "fsdp"),
    }
    for name, present in beside.items():
        if present:
            yield problem(
                "/method/init", fix=(put("/method/init", "default"),), init=method.init, name=name
            )


@rule("FTC157", "parts-without-names", "error", reads=("model",))
def parts_without_names(case: Case) -> Iterator[Problem]:
    """What it is: Layers or parts are to be trained by name, in a model that ftc's table lacks.

    Why it matters: Architectures name their layers, embeddings and heads differently, and what is
    not found by name is not trained.

    Example: {"model": "org/brand-new-architecture", "method": "freeze"}

    Use instead: {"model": "org/brand-new-architecture", "method": "lora"}
    """
    method, model = case.spec.method, case.model
    known = model.shape is not None and find_module_names(model.architecture) is not None
    known = known or compares_texts(case.spec.objective.type)  # FTC573 refuses both
    if known or not (method.type == "freeze" or (method.also_train and method.type != "full")):
        return
    yield problem(
        "/method/type" if method.type == "freeze" else "/method/also_train",
        architecture=model.architecture,
    )


@rule("FTC158", "layers-beyond-the-last", "error", reads=("model",))
def layers_beyond_the_last(case: Case) -> Iterator[Problem]:
    """What it is: `method.layers` asks for layers that the model does not have.

    Why it matters: No layer of that number exists, so it would not be trained. Layers are counted
    from 0.

    Example: {"method": {"type": "freeze", "layers": [31, 32]}}

    Use instead: {"method": {"type": "freeze", "layers": [30, 31]}}
    """
    method, shape = case.spec.method, case.model.shape
    if method.type != "freeze" or shape is None or method.layers == "auto":
        return
    asked = method.layers if isinstance(method.layers, int) else max(method.layers) + 1
    if asked > shape.layers:
        yield problem("/method/layers", layers=shape.layers, last=shape.layers - 1)


@rule("FTC159", "nothing-is-frozen", "error", reads=("model", "plan"), fix_safety="unsafe")
def nothing_is_frozen(case: Case) -> Iterator[Problem]:
    """What it is: The method is `freeze`, and every layer, the embeddings and the head are trained.

    Why it matters: That is a full fine-tune under another name, except for one vector.

    Example: {"method": {"type": "freeze", "layers": 28, "also_train": ["embeddings", "head"]}}

    Use instead: {"method": "full"}
    """
    shape, layers = case.model.shape, case.plan.decisions.method.trained_layers
    if layers is None or shape is None or len(layers.value) < shape.layers:
        return
    parts = set(case.spec.method.also_train)
    if parts >= {"embeddings", "head"} or (parts and shape.tied):
        unread = [f"/method/{name}" for name in ("layers", "also_train")]
        removed = [
            {"op": "remove", "path": pointer} for pointer in unread if pointer in case.spec.said
        ]
        yield problem(
            "/method/layers", fix=(*removed, put("/method/type", "full")), layers=shape.layers
        )


@rule("FTC446", "adapter-beyond-llama-cpp", "error", fix_safety="unsafe")
def adapter_beyond_llama_cpp(case: Case) -> Iterator[Problem]:
    """What it is: The adapter is to be exported as GGUF, and it has more than LoRA's two matrices.

    Why it matters: llama.cpp's converter stops at DoRA's magnitudes, embeddings, heads and tensors
    of experts. It scales by alpha / rank, which rsLoRA does not. GGUF types are not affected: the
    merged model contains everything.

    Example: {"method": {"type": "lora", "dora": true}, "export": {"adapter": true}}

    Use instead: {"method": {"type": "lora", "dora": true}, "export": ["Q8_0"]}
    """
    method = case.spec.method
    if not case.spec.export.adapter or method.type not in _ADAPTERS:
        return
    beyond = {
        "method.dora": method.dora,
        "method.rslora": method.rslora,
        "method.experts": method.experts,
        "method.also_train": bool(method.also_train),
        "model.new_tokens": bool(case.spec.model.new_tokens),
    }
    for name, present in beyond.items():
        if present:
            yield problem("/export/adapter", fix=(put("/export/adapter", False),), name=name)


@rule("FTC447", "new-tokens-that-stay-untrained", "error", reads=("model",), fix_safety="unsafe")
def new_tokens_that_stay_untrained(case: Case) -> Iterator[Problem]:
    """What it is: Tokens are added, and their rows of the embedding or head are not trained.

    Why it matters: A new token starts near the mean of all others. Unless its row is trained, the
    model can neither distinguish it from other new tokens nor write it.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "freeze"}

    Use instead: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "lora"}
    """
    method, shape = case.spec.method, case.model.shape
    if not case.spec.model.new_tokens or method.type == "full":
        return
    if method.type == "freeze":
        tied = shape is not None and shape.tied
        missing = not (tied and method.also_train) and set(method.also_train) != _PARTS
    else:
        missing = shape is None or find_module_names(case.model.architecture) is None
    if missing:
        yield problem(
            "/model/new_tokens", help="freeze" if method.type == "freeze" else "unknown_names"
        )
