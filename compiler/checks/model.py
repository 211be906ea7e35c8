"""The rules about the model (FTC120 to FTC139): weights that cannot be trained as asked."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator
from difflib import get_close_matches

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.adapter import ALL_LINEAR, hit

_ADAPTERS = ("lora", "qlora")
_OUTSIDE_LAYERS = ("lm_head", "embed_tokens", "wte", "embed_out", "word_embeddings")


@rule("FTC120", "quantized-base", "error", reads=("model",))
def quantized_base(case: Case) -> Iterator[Problem]:
    """What it is: The base's `config.json` says that its weights are already quantized.

    Why it matters: Rounded weights take no gradients, and an adapter trained on them cannot be
    merged into 16-bit weights that it never saw.

    Example: {"model": "TheBloke/Mistral-7B-v0.1-GPTQ"}

    Use instead: {"model": "mistralai/Mistral-7B-v0.1"}
    """
    if case.model.quantized is not None:
        yield Problem(
            message=f"the base is already quantized ({case.model.quantized})",
            help="name the 16-bit model that it was made from",
            pointer="/model/id",
        )


@rule("FTC121", "untrusted-custom-code", "error", reads=("model",))
def untrusted_custom_code(case: Case) -> Iterator[Problem]:
    """What it is: The model brings its own Python files, and the spec does not trust them.

    Why it matters: transformers refuses to load such a model, so no stage of the bundle would run.

    Example: {"model": "org/model-with-code"}

    Use instead: {"model": {"id": "org/model-with-code", "trust_remote_code": true}}
    """
    if case.model.custom_code and not case.spec.model.trust_remote_code:
        yield Problem(
            message="the model runs code of its own, which the spec does not trust",
            help="read that code, then set `model.trust_remote_code`; or choose another model",
            pointer="/model/id",
        )


@rule("FTC122", "trusted-custom-code", "warning", reads=("model",))
def trusted_custom_code(case: Case) -> Iterator[Problem]:
    """What it is: The spec lets the model's repository run its own Python files.

    Why it matters: That code runs with the rights of whoever trains, and what it does to memory
    and to weights is not in the plan.

    Example: {"model": {"id": "org/model-with-code", "trust_remote_code": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.model.custom_code and case.spec.model.trust_remote_code:
        at = case.model.revision or "an unpinned revision"
        yield Problem(
            message=f"code of the model's repository will run, at {at}",
            help="read it at that revision; then allow FTC122",
            pointer="/model/trust_remote_code",
        )


@rule("FTC123", "facts-from-table", "warning", reads=("model",))
def facts_from_table(case: Case) -> Iterator[Problem]:
    """What it is: The model's files could not be read, so ftc's own table of models was used.

    Why it matters: The table knows a model as it was published. The repository may have moved on,
    no revision is pinned, and without its tokenizer lengths are estimated from characters.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct"}

    Use instead: {"model": "./models/Qwen2.5-7B-Instruct"}
    """
    if case.model.origin == "table":
        yield Problem(
            message=f"the facts of `{case.model.id}` come from ftc's table, not from its files; "
            "lengths in tokens are estimates",
            help="compile once with the Hub within reach, or point `model` to a local folder",
            pointer="/model/id",
        )


@rule("FTC124", "length-beyond-context", "error", reads=("model",), fix_safety="unsafe")
def length_beyond_context(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_length` is larger than the number of positions that the model knows.

    Why it matters: Learned positions fail with an index error; rotary ones give noise beyond the
    context that they were trained on.

    Example: {"data": {"source": "a.csv", "max_length": 1000000}}

    Use instead: {"data": {"source": "a.csv", "max_length": 32768}}
    """
    length, context = case.spec.data.max_length, case.model.context_tokens
    if length != "auto" and length > context:
        yield Problem(
            message=f"`max_length` is {length:,} tokens, the model's context {context:,}",
            help=f"use at most {context:,}, or leave it out",
            pointer="/data/max_length",
            fix=(put("/data/max_length", context),),
        )


@rule("FTC125", "unknown-architecture", "warning", reads=("model",))
def unknown_architecture(case: Case) -> Iterator[Problem]:
    """What it is: The model's architecture is not in ftc's table.

    Why it matters: The memory plan rests on a Llama-like stand-in of as many parameters, and LoRA
    targets are left for PEFT to find: expect errors of tens of percent.

    Example: {"model": "org/brand-new-architecture"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.model.shape is None:
        yield Problem(
            message=f"the architecture `{case.model.architecture}` is not in ftc's table",
            help="leave room in memory: the plan's peak is a rough one",
            pointer="/model/id",
        )


@rule("FTC127", "targets-match-nothing", "error", reads=("model",), fix_safety="unsafe")
def targets_match_nothing(case: Case) -> Iterator[Problem]:
    """What it is: A LoRA target is no linear module of this architecture.

    Why it matters: PEFT stops when no target matches, and leaves a name that matches nothing
    untrained without a word when others do.

    Example: {"method": {"type": "lora", "targets": ["q_poj", "v_proj"]}}

    Use instead: {"method": {"type": "lora", "targets": ["q_proj", "v_proj"]}}
    """
    targets, shape = case.spec.method.targets, case.model.shape
    if case.spec.method.type not in _ADAPTERS or shape is None or not isinstance(targets, tuple):
        return
    for index, target in enumerate(targets):
        if target in (*_OUTSIDE_LAYERS, ALL_LINEAR) or hit(shape, (target,)):
            continue
        near = get_close_matches(target, shape.linear_shapes, n=1)
        pointer = f"/method/targets/{index}"
        names = ", ".join(f"`{name}`" for name in shape.linear_shapes)
        yield Problem(
            message=f"`{target}` is no linear module of `{shape.architecture}`",
            help=f"did you mean `{near[0]}`?" if near else f"it has {names}",
            pointer=pointer,
            fix=({"op": "replace", "path": pointer, "value": near[0]},) if near else (),
        )


@rule("FTC128", "head-as-target", "error", reads=("model",), fix_safety="unsafe")
def head_as_target(case: Case) -> Iterator[Problem]:
    """What it is: A LoRA target is the output head or the token table.

    Why it matters: TRL's fused loss refuses an adapter on `lm_head`; with tied embeddings a merge
    would change the input table as well.

    Example: {"method": {"type": "lora", "targets": ["q_proj", "lm_head"]}}

    Use instead: {"method": {"type": "lora", "targets": "all-linear"}}
    """
    if case.spec.method.type not in _ADAPTERS or not isinstance(case.spec.method.targets, tuple):
        return
    tied = case.model.shape is not None and case.model.shape.tied
    for index, target in enumerate(case.spec.method.targets):
        if target in _OUTSIDE_LAYERS:
            yield Problem(
                message=f"`{target}` cannot carry an adapter"
                + (": its weights are tied to the other end of the model" if tied else ""),
                help="remove it; `all-linear` adapts every layer",
                pointer=f"/method/targets/{index}",
                fix=({"op": "remove", "path": f"/method/targets/{index}"},),
            )


@rule("FTC129", "needs-hub-token", "info", reads=("model",))
def gated_model(case: Case) -> Iterator[Problem]:
    """What it is: The Hub gives this model only to accounts that accepted its terms.

    Why it matters: The machine that trains needs a token of such an account, or the first stage
    stops at a download.

    Example: {"model": "meta-llama/Llama-3.1-8B-Instruct"}

    Use instead: {"model": "./models/Llama-3.1-8B-Instruct"}
    """
    if case.model.gated and case.model.path is None:
        yield Problem(
            message=f"`{case.model.id}` is gated on the Hub",
            help="accept its terms there, and set `HF_TOKEN` where the bundle runs",
            pointer="/model/id",
        )


@rule("FTC131", "revision-of-a-folder", "warning", reads=("model",))
def revision_of_a_folder(case: Case) -> Iterator[Problem]:
    """What it is: `model.revision` is set, and the model is a local folder.

    Why it matters: A folder has no revisions: what is in it is used, and its hash goes to the lock.

    Example: {"model": {"id": "./my-model", "revision": "main"}}

    Use instead: {"model": "./my-model"}
    """
    if case.spec.model.revision is not None and case.model.origin == "folder":
        yield Problem(
            message="a local folder has no revisions: `model.revision` is not read",
            help="remove it",
            pointer="/model/revision",
            fix=({"op": "remove", "path": "/model/revision"},),
        )


@rule("FTC132", "needless-trust", "warning", reads=("model",))
def needless_trust(case: Case) -> Iterator[Problem]:
    """What it is: The spec trusts code of the model's repository, and none is needed.

    Why it matters: The scripts would run whatever Python the repository brings one day.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "trust_remote_code": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.spec.model.trust_remote_code and not case.model.custom_code:
        yield Problem(
            message="the model needs no code of its own to be trusted",
            help="remove `trust_remote_code`",
            pointer="/model/trust_remote_code",
            fix=({"op": "remove", "path": "/model/trust_remote_code"},),
        )


@rule("FTC133", "folder-without-weights", "warning", reads=("model",))
def folder_without_weights(case: Case) -> Iterator[Problem]:
    """What it is: The model's folder has a config.json and no weights.

    Why it matters: The plan needs none, but the first stage that loads the model stops.

    Example: {"model": "./config-and-tokenizer-only"}

    Use instead: {"model": "./config-tokenizer-and-safetensors"}
    """
    if case.model.origin == "folder" and case.model.weights_bytes is None:
        yield Problem(
            message=f"`{case.model.id}` holds no weights",
            help="put the model's safetensors files beside its config.json before training",
            pointer="/model/id",
        )
