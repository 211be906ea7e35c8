"""The rules about the model (FTC120 to FTC139): weights that cannot be trained as asked."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import has_entry
from ftc.compiler.knowledge.architectures.causal_types import has_causal_class
from ftc.compiler.plan.memory.activations import wide_margin
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.method.adapter import ALL_LINEAR, attention_modules, hit
from ftc.compiler.resolve.facts import ModelFacts
from ftc.compiler.resolve.model.weight_files.weights import number_free
from ftc.compiler.resolve.model.weight_formats import find_format

#: "nc" as a word, and the short names of licences for research: Mistral's two and Apple's.
_NON_COMMERCIAL = re.compile(
    r"\bnc\b|non-?commercial|\bresearch\b|^(?:mrl|mnpl|apple-amlr|apple-ascl)\b", re.IGNORECASE
)
#: How the files of weights in several parts are called.
_SHARD = re.compile(r"-\d+-of-\d+\.")
_ADAPTERS = ("lora", "qlora")
_OUTSIDE_LAYERS = ("lm_head", "embed_tokens", "wte", "embed_out", "word_embeddings")


#: Quantized formats that transformers can convert to 16-bit weights, if none were published.
_RESTORED: Final = ("fp8", "mxfp4")


@rule("FTC120", "quantized-base", "error", reads=("model",))
def quantized_base(case: Case) -> Iterator[Problem]:
    """What it is: The base's weights are already quantized, by its `config.json` or by their types.

    Why it matters: Quantized weights take no gradients, and an adapter trained on them does not fit
    the original 16-bit weights. A model that was published in MXFP4 or FP8 only, such as gpt-oss or
    DeepSeek-V3, has no such original. transformers makes one: load it with `dequantize=True` and
    save it. For gpt-oss, set `save_original_format=False`, or its experts cannot be loaded again.

    Example: {"model": "TheBloke/Mistral-7B-v0.1-GPTQ"}

    Use instead: {"model": "mistralai/Mistral-7B-v0.1"}
    """
    if case.model.quantized is not None:
        kind = case.model.quantized
        yield problem("/model/id", help=kind if kind in _RESTORED else "", kind=kind)


@rule("FTC121", "untrusted-custom-code", "error", reads=("model",))
def untrusted_custom_code(case: Case) -> Iterator[Problem]:
    """What it is: The model or its tokenizer needs Python files that the spec does not trust.

    Why it matters: transformers does not load such a model, so no stage of the bundle would run.

    Example: {"model": "org/model-with-code"}

    Use instead: {"model": {"id": "org/model-with-code", "trust_remote_code": true}}
    """
    needs_code = case.model.custom_code or case.model.tokenizer_code
    if needs_code and not case.spec.model.trust_remote_code:
        yield problem("/model/id")


@rule("FTC122", "trusted-custom-code", "warning", reads=("model",))
def trusted_custom_code(case: Case) -> Iterator[Problem]:
    """What it is: The spec lets the model's repository run its own Python files.

    Why it matters: That code runs with the permissions of the user who trains. The plan does not
    include what it does to memory and weights.

    Example: {"model": {"id": "org/model-with-code", "trust_remote_code": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if (case.model.custom_code or case.model.own_code) and case.spec.model.trust_remote_code:
        revision = case.model.revision or ""
        kind = "" if revision else "unpinned"
        yield problem("/model/trust_remote_code", message=kind, revision=revision)


@rule("FTC123", "facts-from-table", "warning", reads=("model",), of_teacher=True)
def facts_from_table(case: Case) -> Iterator[Problem]:
    """What it is: The model's files could not be read, so ftc's own table of models was used.

    Why it matters: The table describes a model as it was published. The repository may have
    changed, no revision is pinned, and without its tokenizer lengths are estimated from characters.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct"}

    Use instead: {"model": "./models/Qwen2.5-7B-Instruct"}
    """
    if case.model.origin == "table":
        yield problem("/model/id", name=case.model.id)


@rule("FTC124", "length-beyond-context", "error", reads=("model",), fix_safety="unsafe")
def length_beyond_context(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_length` is larger than the model's context.

    Why it matters: Learned positions stop with an index error; rotary positions give noise beyond
    the context that they were trained on.

    Example: {"data": {"source": "a.csv", "max_length": 1000000}}

    Use instead: {"data": {"source": "a.csv", "max_length": 32768}}
    """
    length, context = case.spec.data.max_length, case.model.context_tokens
    if length != "auto" and length > context:
        yield problem(
            "/data/max_length",
            fix=(put("/data/max_length", context),),
            length=length,
            context=context,
        )


@rule("FTC125", "unknown-architecture", "warning", reads=("model",))
def unknown_architecture(case: Case) -> Iterator[Problem]:
    """What it is: The model's architecture is not in ftc's table.

    Why it matters: The layers are read from the names and sizes of the model's tensors, and their
    activations are planned as those of a Llama-like layer times a wide margin. Where the headers of
    the weights cannot be read, the plan assumes a Llama-like model with the same number of
    parameters. PEFT chooses the LoRA targets. The batch may be smaller than what would fit.

    Example: {"model": "org/brand-new-architecture"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.model.shape is None and not _is_unknown_type(case.model):
        shape = shape_of(case.model)
        kind = "" if case.model.tensor_shape is None else "tensors"
        if has_entry(case.model.architecture):
            kind = f"config_{kind}".rstrip("_")
        yield problem(
            "/model/id",
            message=kind,
            help=kind,
            architecture=case.model.architecture,
            layers=shape.layers,
            times=wide_margin(shape),
        )


@rule("FTC136", "type-unknown-to-transformers", "error", reads=("model",), of_teacher=True)
def type_unknown_to_transformers(case: Case) -> Iterator[Problem]:
    """What it is: The pinned transformers has no causal model for the `model_type` of the model.

    Why it matters: Loading stops with "does not recognize this architecture". The model is newer
    than the pinned version, or its `config.json` was edited. A repository that brings its own code
    says so in `auto_map`.

    Example: {"model": "org/newer-than-the-pinned-transformers"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if _is_unknown_type(case.model):
        yield problem("/model/id", type=case.model.model_type)


@rule("FTC172", "missing-shards", "error", reads=("model",), of_teacher=True)
def missing_shards(case: Case) -> Iterator[Problem]:
    """What it is: The model's folder has some of the safetensors files that its index names.

    Why it matters: A download or a copy was interrupted. Loading the model stops at the first file
    that is not there.

    Example: {"model": "./half-downloaded"}

    Use instead: {"model": "./downloaded-completely"}
    """
    missing = case.model.missing_weights
    if missing:
        yield problem("/model/id", name=case.model.id, file=missing[0], count=len(missing))


@rule("FTC173", "config-of-other-weights", "error", reads=("model",), of_teacher=True)
def config_of_other_weights(case: Case) -> Iterator[Problem]:
    """What it is: The sizes in the folder's `config.json` are not those of its safetensors weights.

    Why it matters: transformers builds the model from `config.json`. It stops at a matrix of
    another size. It gives layers that the weights lack random values, and drops those that
    `config.json` does not count.

    Example: {"model": "./config-of-another-size"}

    Use instead: {"model": "./config-and-weights-of-one-model"}
    """
    misfit = case.model.misfit
    if misfit is not None:
        yield problem(
            "/model/id",
            message="" if misfit.setting else "side",
            name=case.model.id,
            setting=misfit.setting,
            tensor=misfit.tensor,
            said=misfit.said,
            held=misfit.held,
        )


@rule("FTC117", "weights-of-other-names", "error", reads=("model",), of_teacher=True)
def weights_of_other_names(case: Case) -> Iterator[Problem]:
    """What it is: transformers does not look for the weights under their names.

    The names are those of the files, or of the tensors inside: the layers of the class, or its
    output head.

    Why it matters: transformers reads `model.safetensors`, or the files that
    `model.safetensors.index.json` names, and stops without them. A checkpoint of ZeRO or FSDP has
    to be merged into such files first. Tensors that it does not find get random values, and it only
    logs a table of them: training starts from nothing. `torch.compile` and DDP put a prefix before
    all names, and so do PEFT and a multimodal class.

    Example: {"model": "./saved-while-compiled"}

    Use instead: {"model": "./saved-by-save-pretrained"}
    """
    absent, lacking = case.model.absent, case.model.lacking_parameters
    if case.model.unread_weights:
        yield from _unread(case.model)
    elif absent is None and case.model.misfit is None and lacking:
        yield problem(
            "/model/id",
            message="fewer",
            help="fewer",
            name=case.model.id,
            count=lacking,
            architecture=case.model.architecture,
        )
    elif absent is not None:
        kind = "" if absent.held else "inside" if case.model.wrapper else "head"
        yield problem(
            "/model/id",
            message=kind,
            help=kind,
            name=case.model.id,
            tensor=absent.tensor,
            held=absent.held,
        )


def _unread(model: ModelFacts) -> Iterator[Problem]:
    """Report files of weights that transformers does not read, by what they are."""
    file, more = model.unread_weights[0], len(model.unread_weights) - 1
    folder, _, name = file.rpartition("/")
    form = find_format(file)
    if form is not None and not (_SHARD.search(name) and name.startswith("pytorch_model")):
        yield problem(
            "/model/id",
            message="format",
            help="foreign",
            name=model.id,
            file=file,
            what=form.what,
            advice=form.advice,
        )
    elif folder:
        where = model.id if model.path is None else f"{model.id}/{folder}"
        yield problem(
            "/model/id",
            message="below",
            help="below" if model.path is not None else "below_hub",
            name=model.id,
            file=file,
            folder=where,
        )
    else:
        is_own = model.absent is not None or name.startswith("consolidated")
        yield problem(
            "/model/id",
            message="unread",
            help="shards" if _SHARD.search(name) else "maker" if is_own else "file",
            name=model.id,
            file=file,
            more=more,
            index="pytorch_model.bin" if name.endswith(".bin") else "model.safetensors",
        )


@rule("FTC137", "non-commercial-licence", "info", reads=("model",), of_teacher=True)
def non_commercial_licence(case: Case) -> Iterator[Problem]:
    """What it is: The licence of the base model excludes commercial use.

    Why it matters: A fine-tuned model is derived from its base, so its licence holds for the result
    too. Examples are CC BY-NC and the research licences of Qwen and Mistral.

    Example: {"model": "Qwen/Qwen2.5-3B-Instruct"}

    Use instead: {"model": "Qwen/Qwen2.5-1.5B-Instruct"}
    """
    licence = case.model.licence
    if licence is not None and is_non_commercial(licence):
        yield problem("/model/id", name=case.model.id, licence=licence)


def is_non_commercial(licence: str) -> bool:
    """Return whether the name of a licence says that it excludes commercial use."""
    return _NON_COMMERCIAL.search(licence) is not None


def _is_unknown_type(model: ModelFacts) -> bool:
    """Return whether neither transformers nor the repository has the model's code."""
    known = model.shape is not None or model.custom_code or not model.model_type
    return not known and not has_causal_class(model.model_type)


@rule("FTC127", "targets-match-nothing", "error", reads=("model",), fix_safety="unsafe")
def targets_match_nothing(case: Case) -> Iterator[Problem]:
    """What it is: A LoRA target is not a linear module of this architecture.

    Why it matters: PEFT stops if no target matches. If other targets match, it silently leaves this
    one untrained. `attention` needs modules that are known to belong to attention: a state space
    has none, and the modules of a class that is in no table are read from its weights.

    Example: {"method": {"type": "lora", "targets": ["q_poj", "v_proj"]}}

    Use instead: {"method": {"type": "lora", "targets": ["q_proj", "v_proj"]}}
    """
    targets, shape = case.spec.method.targets, case.model.shape
    if case.spec.method.type not in _ADAPTERS:
        return
    if targets == "attention" and case.spec.method.target_pattern is None:
        yield from _without_attention(case)
    if not isinstance(targets, tuple):
        return
    names = _last_names(case.model.modules or ()) if shape is None else tuple(shape.linear_shapes)
    taken = set(targets)
    for index, target in enumerate(targets):
        if target in (*_OUTSIDE_LAYERS, ALL_LINEAR) or not names or _has(case.model, target):
            continue
        near = get_close_matches(target, names, n=1)
        pointer = f"/method/targets/{index}"
        fix: tuple[Mapping[str, Any], ...] = ()
        twice = bool(near) and near[0] in taken  # a list holds no name twice
        if near:
            renames = {"op": "replace", "path": pointer, "value": near[0]}
            fix = ({"op": "remove", "path": pointer} if twice else renames,)
            taken.add(near[0])
        yield problem(
            pointer,
            help="twice" if twice else "near" if near else "",
            fix=fix,
            target=target,
            architecture=case.model.architecture,
            near=near[0] if near else "",
            names=names,
        )


def _without_attention(case: Case) -> Iterator[Problem]:
    """Report a model none of whose modules are known to be those of attention."""
    shape = case.model.shape or case.model.tensor_shape
    if shape is not None and attention_modules(shape):
        return
    names = tuple(shape.linear_shapes) if shape is not None else ()
    yield problem(
        "/method/targets",
        message="attention",
        help="attention" if names else "nameless",
        architecture=case.model.architecture,
        names=names,
    )


def _has(model: ModelFacts, target: str) -> bool:
    """Return whether PEFT would adapt a module: by its whole name, or by the end of it."""
    if model.shape is not None:
        return bool(hit(model.shape, (target,)))
    end = number_free(target)
    return any(f".{module}".endswith(f".{end}") for module in model.modules or ())


def _last_names(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Return the last parts of the names of modules inside layers, each once."""
    inside = (module.rpartition(".")[2] for module in modules if ".*." in module)
    return tuple(dict.fromkeys(inside))


@rule("FTC128", "head-as-target", "error", reads=("model",), fix_safety="unsafe")
def head_as_target(case: Case) -> Iterator[Problem]:
    """What it is: A LoRA target is the output head or the embedding.

    Why it matters: TRL's fused loss does not support an adapter on `lm_head`. With tied embeddings
    a merge would change the input embedding as well.

    Example: {"method": {"type": "lora", "targets": ["q_proj", "lm_head"]}}

    Use instead: {"method": {"type": "lora", "targets": "all-linear"}}
    """
    if case.spec.method.type not in _ADAPTERS or not isinstance(case.spec.method.targets, tuple):
        return
    tied = case.model.shape is not None and case.model.shape.tied
    alone = set(case.spec.method.targets) <= set(_OUTSIDE_LAYERS)
    for index, target in enumerate(case.spec.method.targets):
        if target in _OUTSIDE_LAYERS:
            pointer = f"/method/targets/{index}"
            without = put("/method/targets", "auto") if alone else {"op": "remove", "path": pointer}
            yield problem(
                pointer,
                message="tied" if tied else "",
                fix=(without,),
                target=target,
            )


@rule("FTC129", "needs-hub-token", "info", reads=("model",), of_teacher=True)
def gated_model(case: Case) -> Iterator[Problem]:
    """What it is: The Hub gives this model only to accounts that accepted its terms.

    Why it matters: The machine that trains needs a token of such an account. Without it the first
    stage stops at the download.

    Example: {"model": "meta-llama/Llama-3.1-8B-Instruct"}

    Use instead: {"model": "./models/Llama-3.1-8B-Instruct"}
    """
    if case.model.gated and case.model.path is None:
        yield problem("/model/id", name=case.model.id)


@rule("FTC131", "revision-of-a-folder", "warning", reads=("model",), of_teacher=True)
def revision_of_a_folder(case: Case) -> Iterator[Problem]:
    """What it is: `model.revision` is set, and the model is a local folder.

    Why it matters: A folder has no revisions: its present content is used, and its hash goes to the
    lock.

    Example: {"model": {"id": "./my-model", "revision": "main"}}

    Use instead: {"model": "./my-model"}
    """
    if case.spec.model.revision is not None and case.model.origin == "folder":
        yield problem("/model/revision", fix=({"op": "remove", "path": "/model/revision"},))


@rule("FTC132", "needless-trust", "warning", reads=("model",))
def needless_trust(case: Case) -> Iterator[Problem]:
    """What it is: The spec trusts code from the model's repository, and the model needs none.

    Why it matters: The scripts would run any Python that the repository contains in the future.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "trust_remote_code": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    own = case.model.custom_code or case.model.own_code
    if case.spec.model.trust_remote_code and not own:
        yield problem(
            "/model/trust_remote_code", fix=({"op": "remove", "path": "/model/trust_remote_code"},)
        )


@rule("FTC133", "folder-without-weights", "warning", reads=("model",))
def folder_without_weights(case: Case) -> Iterator[Problem]:
    """What it is: The model's folder has a config.json and no weights of any format.

    Why it matters: The plan needs no weights, but the first stage that loads the model stops.
    transformers reads `model.safetensors`, or the files that `model.safetensors.index.json` names.

    Example: {"model": "./config-and-tokenizer-only"}

    Use instead: {"model": "./config-tokenizer-and-safetensors"}
    """
    model = case.model
    if model.origin == "folder" and model.weights_bytes is None and not model.unread_weights:
        yield problem("/model/id", name=model.id)
