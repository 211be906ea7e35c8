"""The rules about folders for vLLM and SGLang (FTC680 to FTC683)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.exports.served_types import SERVED
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.plan.served import find_obstacle

_FIELD = "/export/vllm"


@rule("FTC680", "vllm-folder-without-text", "error", reads=(), fix_safety="unsafe")
def vllm_folder_without_text(case: Case) -> Iterator[Problem]:
    """What it is: A quantized folder for vLLM is requested for a model that writes no text.

    Why it matters: A folder is verified by the model's next-token probabilities. For labels,
    scores and vectors the bundle has no such comparison.

    Example: {"objective": "classification", "export": {"vllm": ["FP8"]}}

    Use instead: {"objective": "classification", "export": {"vllm": []}}
    """
    objective = case.spec.objective.type
    writes_none = OBJECTIVES[objective].head != "tokens" or compares_texts(objective)
    if case.spec.export.vllm and writes_none:
        yield problem(_FIELD, fix=(put(_FIELD, []),), objective=objective)


@rule("FTC681", "vllm-folder-of-unsupported-layers", "error", reads=("model",), fix_safety="unsafe")
def vllm_folder_of_unsupported_layers(case: Case) -> Iterator[Problem]:
    """What it is: A quantized folder for vLLM is requested, and the layers are not plain matrices.

    Why it matters: The bundle quantizes the linear modules of a language model. The experts of a
    mixture-of-experts model are not such modules, and are most of its weights. Recurrent layers
    lose more than others when they are rounded. A model with images has a tower that is not
    calibrated. Of an unknown class it is not known which of its tensors are matrices of a layer.

    Example: {"model": "mistralai/Mixtral-8x7B-v0.1", "export": {"vllm": ["FP8"]}}

    Use instead: {"model": "mistralai/Mixtral-8x7B-v0.1", "export": {"vllm": []}}
    """
    model = case.model
    if not case.spec.export.vllm:
        return
    seeing = model.vision is not None or model.wrapper is not None
    obstacle = "images" if seeing else find_obstacle(model.shape)
    if obstacle is not None:
        name = model.wrapper or model.architecture
        yield problem(_FIELD, message=obstacle, fix=(put(_FIELD, []),), architecture=name)


@rule("FTC682", "vllm-group-beyond-row", "error", reads=("model",), fix_safety="unsafe")
def vllm_group_beyond_row(case: Case) -> Iterator[Problem]:
    """What it is: The groups of a type do not divide the rows of some matrices.

    Why it matters: W4A16 has a scale for 128 weights of a row, NVFP4 for 16. The kernels of vLLM
    read whole groups, and compressed-tensors writes no others.

    Example: {"model": "HuggingFaceTB/SmolLM2-135M", "export": {"vllm": ["W4A16"]}}

    Use instead: {"model": "HuggingFaceTB/SmolLM2-135M", "export": {"vllm": ["FP8_DYNAMIC"]}}
    """
    shape, types = case.model.shape, case.spec.export.vllm
    if shape is None:
        return
    widths = sorted({linear.in_features for linear in shape.linear_shapes.values()})
    misfits = {
        kind: [width for width in widths if width % group]
        for kind in types
        if (group := SERVED[kind].group)
    }
    kept = [kind for kind in types if not misfits.get(kind)]
    for index, kind in enumerate(types):
        if left := misfits.get(kind):
            yield problem(
                f"{_FIELD}/{index}",
                fix=(put(_FIELD, kept),),
                kind=kind,
                group=SERVED[kind].group or 0,
                width=left[0],
            )


@rule("FTC683", "vllm-type-beyond-gpu", "info", reads=("hardware",))
def vllm_type_beyond_gpu(case: Case) -> Iterator[Problem]:
    """What it is: The GPU of the training has no arithmetic for a type of `export.vllm`.

    Why it matters: The folder is written and verified all the same. On such a GPU vLLM refuses the
    type, or rounds only weights and computes in 16 bits: it saves memory and little time. FP8 needs
    compute capability 8.9, NVFP4 10.0, W4A16 and NVFP4A16 8.0.

    Example: {"hardware": "A100-80GB", "export": {"vllm": ["FP8"]}}

    Use instead: {"hardware": "A100-80GB", "export": {"vllm": ["W4A16"]}}
    """
    hardware = case.hardware
    has = hardware.compute_capability
    if hardware.kind != "gpu" or has is None:
        return
    for index, kind in enumerate(case.spec.export.vllm):
        needed = SERVED[kind].least_capability
        if has < needed:
            yield problem(
                f"{_FIELD}/{index}", kind=kind, name=hardware.name, needed=needed, has=has
            )
