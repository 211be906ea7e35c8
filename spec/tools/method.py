"""Reads what a foreign config trains of the model: adapter, quantized base and targets."""

import re
from typing import Any, Final

from ftc.spec.tools.entry import Entry
from ftc.spec.tools.work import Work

_TYPE: Final = "/method/type"
_PARTS: Final = {
    "embed_tokens": "embeddings", "wte": "embeddings", "embed_in": "embeddings", "lm_head": "head",
    "embed_out": "head",
}  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_TUNE: Final = {"q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "output_proj": "o_proj"}
_TUNE_MLP: Final = ("gate_proj", "up_proj", "down_proj")
_FUSED: Final = re.compile(r"phi")  # classes whose projections are one matrix each
_MODAL: Final = re.compile(r"vision|flamingo|clip|fusion")
_SCORED: Final = re.compile(r"reward|classifier")
_LORA: Final = ("lora", "qlora")
_BITS: Final = {4: "nf4", 8: "int8"}
#: Axolotl's patterns: a dot is a dot, and one without `^` matches anywhere in a weight's name.
_LANGUAGE: Final = re.compile(r"\^?(?:model\.)?language_model(?:\.\*?)?")
_LAYERS: Final = re.compile(r"\^?(?:\w+\.)*(?:layers|blocks|h)\.(?P<numbers>[\d\[\]()|+\-]+)\.\*?")
_MOST_LAYERS: Final = 200


def derive_method(work: Work) -> None:
    """Set the method: an adapter, on a quantized base or not, or the whole model."""
    _read_component(work)
    adapter = work.entry("@adapter")
    peft = work.entry("@peft")
    if peft is not None and peft.value:
        adapter = peft
        work.put(peft, _TYPE, "lora")
    elif peft is not None:
        work.leave(peft, "off")
    if (full := work.entry("@full")) is not None:
        if full.value is True:
            adapter = full
            work.put(full, _TYPE, "full")
        else:
            work.leave(full, "off")
    if adapter is not None and adapter not in (peft, full):
        word = work.meaning("@adapter")
        if word is None or not work.put(adapter, _TYPE, word, "carried"):
            work.refuse(adapter, "method")
    _read_bits(work)
    _read_targets(work)
    _read_rest(work)
    _read_unfrozen(work)
    _read_classes(work)


def _read_classes(work: Work) -> None:
    """Refuse an adapter that is no LoRA; one of LoRA may be set up by several calls."""
    for entry in work.facts.get("@peft_class", []):
        if entry.value != "LoraConfig":
            work.refuse(entry, "method")
    for entry in (*work.facts.get("@peft", []), *work.facts.get("@peft_class", [])):
        if entry.value and _TYPE in work.fields:
            work.use(entry, {_TYPE: work.fields[_TYPE]})


def _read_component(work: Work) -> None:
    """Torchtune's model builder: `lora_llama3_8b` is an adapter on a model."""
    entry = work.entry("@component")
    if entry is None:
        return
    name = str(entry.value).rpartition(".")[2]
    if _MODAL.search(str(entry.value)):
        work.refuse(entry, "modality")
    elif _SCORED.search(name):
        work.refuse(entry, "objective")
    elif name.startswith(("lora_", "qlora_")):
        work.put(entry, _TYPE, name.partition("_")[0])
    else:
        work.put(entry, _TYPE, "full")
    if (base := work.entry("@quantize_base")) is not None:
        if base.value is True:
            work.put(base, _TYPE, "qlora")
        else:
            work.leave(base, "off")


def _read_bits(work: Work) -> None:
    """Make LoRA on a base in 4 or 8 bits a QLoRA; a whole model is not trained in them."""
    bits = _bits(work)
    for name in ("@bits4", "@bits8", "@bits"):
        entry = work.entry(name)
        if entry is None:
            continue
        if entry.value in (None, False, 0):
            work.leave(entry, "off")
        elif bits and work.fields.get(_TYPE, "qlora") in _LORA and bits == _of(name, entry):
            whole = work.sources.get(_TYPE)
            work.put(entry, _TYPE, "qlora")
            if whole is not None:
                work.use(whole, {_TYPE: "qlora"})
            if bits == 8 or name == "@bits8":  # noqa: PLR2004 - bits
                work.put(entry, "/method/quantization", "int8")
        else:
            work.leave(entry, "quantization")


def _of(name: str, entry: Entry) -> int | None:
    stated = entry.value if isinstance(entry.value, int) and entry.value in _BITS else None
    return {"@bits4": 4, "@bits8": 8}.get(name) or stated


def _bits(work: Work) -> int | None:
    for name in ("@bits4", "@bits8", "@bits"):
        entry = work.entry(name)
        if entry is not None and entry.value and not isinstance(entry.value, str):
            return _of(name, entry)
    return None


def _read_targets(work: Work) -> None:
    pointer, pattern = "/method/targets", "/method/target_pattern"
    if (entry := work.entry("@targets")) is not None:
        value = _split_parts(work, entry, _listed(entry.value))
        if value in ("all", "all-linear", ["all-linear"], ["all"]):
            work.put(entry, pointer, "all-linear")
        elif isinstance(value, str):
            work.put(entry, pattern, value, "carried")
        elif isinstance(value, list) and value and all(map(_is_name, value)):
            work.put(entry, pointer, list(dict.fromkeys(value)), "carried")
        else:
            work.leave(entry, "value")
    if (entry := work.entry("@targets_all")) is not None:
        if entry.value is True:
            if pattern in work.fields:
                work.forget(pattern, "repeated")
            work.put(entry, pointer, "all-linear")
        else:
            work.leave(entry, "off")
    _read_modules(work)
    if (entry := work.entry("@expert_targets")) is not None:
        if entry.value:
            work.put(entry, "/method/experts", True)
        else:
            work.leave(entry, "empty")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _split_parts(work: Work, entry: Entry, value: Any) -> Any:
    """Train the embeddings and the head in full where they are listed among the targets."""
    if not isinstance(value, list):
        return value
    parts = sorted({_PARTS[name] for name in value if isinstance(name, str) and name in _PARTS})
    if parts:
        work.put(entry, "/method/also_train", parts)
    return [name for name in value if not isinstance(name, str) or name not in _PARTS]


def _read_modules(work: Work) -> None:
    """Set the targets that are given as kinds of modules: attention, and the layers after it."""
    pointer = "/method/targets"
    attention, mlp = work.entry("@tune_attention"), work.entry("@tune_mlp")
    if attention is not None and isinstance(attention.value, list):
        component = work.entry("@component")
        if component is not None and _FUSED.search(str(component.value)):
            names = ["qkv_proj", "o_proj"]
            after = ["gate_up_proj", "down_proj"]
        else:
            names = [_TUNE.get(str(each), str(each)) for each in attention.value]
            after = list(_TUNE_MLP)
        if mlp is not None and mlp.value is True:
            names += after
        if names:
            work.put(attention, pointer, names)
        else:
            work.leave(attention, "empty")
        if mlp is not None and names:
            work.use(mlp, {pointer: names})
    if (entry := work.entry("@tune_output")) is not None:
        work.leave(entry, "parts" if entry.value else "off")
    heads, layers = work.entry("@tune_attention_modules"), work.entry("@tune_mlp_modules")
    if heads is not None and pointer not in work.fields:
        everything = layers is None or layers.value is not False
        work.put(heads, pointer, "all-linear" if everything else "attention")
    for entry in (heads, layers):
        if entry is not None:
            work.use(entry, {pointer: work.fields.get(pointer)})
    if (entry := work.entry("@vision_layers")) is not None:
        if entry.value is True:
            work.refuse(entry, "modality")
        else:
            work.leave(entry, "off")


def _listed(value: Any) -> Any:
    """Return names separated by commas as a list; a text that is a pattern stays one."""
    if isinstance(value, str) and re.fullmatch(r"[\w.\-]+(?:\s*,\s*[\w.\-]+)*", value):
        names = [part.strip() for part in value.split(",")]
        return value if value in ("all", "all-linear") else names
    return value


def _read_rest(work: Work) -> None:
    if (entry := work.entry("@also_train")) is not None:
        names = _listed(entry.value)
        names = names if isinstance(names, list) else [names]
        parts = [_PARTS.get(str(name).rpartition(".")[2]) for name in names]
        if names and all(parts):
            work.put(entry, "/method/also_train", sorted({str(part) for part in parts}))
        else:
            work.leave(entry, "parts" if names else "empty")
    if (entry := work.entry("@layers")) is not None:
        positive = isinstance(entry.value, int) and entry.value > 0
        if positive:
            work.put(entry, "/method/layers", entry.value, "carried")
        else:
            work.leave(entry, "parts")
    if (entry := work.entry("@alpha_number")) is not None:
        whole = isinstance(entry.value, float) and entry.value.is_integer()
        work.put(entry, "/method/alpha", int(entry.value) if whole else entry.value, "carried")
    factor, rank = work.entry("@alpha_factor"), work.fields.get("/method/rank")
    if factor is not None and isinstance(rank, int) and "/method/alpha" not in work.fields:
        work.put(factor, "/method/alpha", factor.value * rank)
    pissa, rounds = work.entry("@pissa"), work.entry("@pissa_iter")
    if pissa is not None and pissa.value is True:
        few = rounds is not None and rounds.value == 16  # noqa: PLR2004 - the one that PEFT names
        work.put(pissa, "/method/init", "pissa_niter_16" if few else "pissa")
        if rounds is not None:
            work.use(rounds, {"/method/init": work.fields["/method/init"]})
    for entry in (pissa, rounds):
        if entry is not None and entry.path not in work.became:
            work.leave(entry, "off")


def _read_unfrozen(work: Work) -> None:
    """Train the layers and parts that axolotl's patterns select; the rest stays frozen.

    The whole language model of a multimodal one is what ftc trains of it.
    """
    entry = work.entry("@unfrozen")
    if entry is None:
        return
    patterns = [
        str(each) for each in (entry.value if isinstance(entry.value, list) else [entry.value])
    ]
    parts = {each: _part_of(each) for each in patterns}
    rest = [each for each in patterns if parts[each] is None]
    if rest and all(map(_LANGUAGE.fullmatch, rest)):
        work.leave(entry, "text_part")
        return
    matches = [match for match in map(_LAYERS.fullmatch, rest) if match]
    layers = sorted({layer for match in matches for layer in _expand(match["numbers"])})
    if not layers or len(matches) < len(rest) or work.fields.get(_TYPE) != "full":
        work.refuse(entry, "parts")
        return
    work.put(entry, _TYPE, "freeze")
    work.put(entry, "/method/layers", layers)
    if also := sorted({part for part in parts.values() if part is not None}):
        work.put(entry, "/method/also_train", also)


def _part_of(pattern: str) -> str | None:
    """Return the part of the model that is all a pattern selects."""
    name = pattern.removeprefix("^").removesuffix("$").removesuffix("*").removesuffix(".")
    return _PARTS.get(name.removesuffix(".weight").removeprefix("model."))


def _expand(numbers: str) -> list[int]:
    """Return the layers whose number a pattern matches."""
    try:
        pattern = re.compile(numbers)
    except re.error:
        return []
    return [layer for layer in range(_MOST_LAYERS) if pattern.fullmatch(str(layer))]
