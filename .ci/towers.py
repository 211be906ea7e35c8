"""Derive `derived_towers.json` from the image-text classes of transformers.

    .ci/towers.py [MODEL_TYPE ...]

A class is built on the meta device with one size of its tower multiplied, with two, and with each
flag flipped. Every side of every tensor outside the language model is fitted as a sum of products
of config keys, as `.ci/architectures.py` does for language models. `area` is that of a patch,
`grid` the number of patches along a side of the tower's square, `joined` that of the patches which
become one token, and `out` the width of the language model. Linear modules are listed by the place
where adapters find them.
"""

import itertools
import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from fitting import fit

TABLE = Path(__file__).parents[1] / "compiler/knowledge/multimodal/derived_towers.json"
#: How a class says how many patches become one token: a key, or a key whose inverse it is.
MERGES = {"internvl": "1/downsample_ratio", "lfm2_vl": "downsample_factor"}
#: Keys of a tower's config that are read, beside those of the class's default that are numbers.
OUTER = re.compile(r"projector_.*|downsample_.*")
#: Keys that choose between two kinds of tensors, with what they may say.
CHOICES = {"norm_type": ("layer_norm", "rms_norm")}
SKIPPED = {"num_hidden_layers", "image_token_id", "image_seq_length", "use_mask_token"}
VIRTUAL = ("area", "grid", "joined", "out")
LAYERS = 3
OUT = 96
LAYER = re.compile(r"(?P<stack>.+?)\.(?P<layer>\d+)\.(?P<name>.+)")


class Built(NamedTuple):
    """The tensors of a tower and its projector, and the values from which they were built."""

    given: dict[str, Any]
    tensors: dict[str, tuple[int, ...]]
    linears: set[str]


def main() -> None:
    """Write the table again, with the entries that are derived."""
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
    for model_type in sys.argv[1:] or MERGES:
        table[model_type] = derive(model_type)
    whole = ",\n".join(f" {json.dumps(name)}: {spell(table[name])}" for name in sorted(table))
    TABLE.write_text("{\n" + whole + "\n}\n", encoding="utf-8")


def spell(entry: Mapping[str, Any]) -> str:
    """Return an entry as JSON, with one line for each key and each tensor."""
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in entry.items() if k != "tensors"]
    for part, rows in entry["tensors"].items():
        inner = ",\n".join(f"   {json.dumps(row)}" for row in rows)
        lines.append(f"  {json.dumps(part)}: [\n{inner}\n  ]")
    return "{\n" + ",\n".join(lines) + "\n }"


def derive(model_type: str) -> dict[str, Any]:
    """Return the entry of a class; exits with the name of a tensor that no formula describes."""
    vision, outer = defaults_of(model_type)
    base = small(vision) | {"out": OUT} | outer
    builds = list(variations(model_type, base))
    when = conditions(model_type, base, builds)
    rows: dict[str, list[list[str]]] = {"layer": [], "vision_tower": [], "projector": []}
    keys = [k for k, v in builds[0].given.items() if type(v) is int and k not in SKIPPED]
    for name in dict.fromkeys(n for each in builds for n in each.tensors):
        seen = [(each.given, each.tensors[name]) for each in builds if name in each.tensors]
        sides = []
        for place in range(len(seen[0][1])):
            text = fit([(g, s[place]) for g, s in seen], keys, constant=True)
            if text is None:
                raise SystemExit(f"{model_type}: no fit for side {place} of {name}")
            sides.append(text)
        rows[part_of(name)].append([name, " x ".join(sides), " ".join(sorted(when[name]))])
    return {
        "named": [model_type],
        "defaults": vision,
        "outer": outer,
        "merge": MERGES[model_type],
        "modules": modules_of(set().union(*(each.linears for each in builds))),
        "tensors": rows,
    }


def defaults_of(model_type: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numbers and flags of the default tower, and those of the projector."""
    whole = transformers.CONFIG_MAPPING[model_type]()
    vision = {k: single(v) for k, v in whole.vision_config.to_dict().items() if k not in SKIPPED}
    layers = whole.vision_config.num_hidden_layers
    outer = {k: v for k, v in whole.to_dict().items() if OUTER.fullmatch(k)}
    return (
        {"num_hidden_layers": layers, **{k: v for k, v in vision.items() if is_size(k, v)}},
        {k: v for k, v in outer.items() if type(v) in (int, bool, float)},
    )


def is_size(key: str, value: object) -> bool:
    """Return whether a key of a tower may be one of its sizes, or a flag of its tensors."""
    unrelated = ("output_", "return_", "is_", "chunk_", "use_cache", "use_absolute")
    chosen = value in CHOICES.get(key, ())
    return chosen or (type(value) in (int, bool) and not key.startswith(unrelated))


def single(value: object) -> object:
    """Return the first of two equal sides."""
    return value[0] if isinstance(value, list | tuple) and value else value


def small(vision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tower of a few narrow layers; its other sizes are those of the default."""
    return {**vision, "hidden_size": 64, "intermediate_size": 112, "num_attention_heads": 4}


def variations(model_type: str, base: Mapping[str, Any]) -> Iterator[Built]:
    """Build the base configuration, and variants with one or two of its sizes multiplied."""
    first = build(model_type, base)
    if first is None:
        raise SystemExit(f"{model_type}: the base does not build")
    yield first
    keys = [k for k, v in base.items() if type(v) is int and k != "num_hidden_layers"]
    changed = [{key: base[key] * times} for key in keys for times in (2, 3)]
    changed += [{key: value / 2} for key, value in base.items() if type(value) is float]
    changed += [{a: base[a] * 2, b: base[b] * 2} for a, b in itertools.combinations(keys, 2)]
    for change in changed:
        if (built := build(model_type, {**base, **change})) is not None:
            yield built


def conditions(
    model_type: str, base: Mapping[str, Any], builds: list[Built]
) -> dict[str, list[str]]:
    """Flip each flag: which tensors come and go. The builds that show new ones are added."""
    here = builds[0].tensors
    when: dict[str, list[str]] = {name: [] for name in here}
    flips = [(k, not v, k if v else f"!{k}", f"!{k}" if v else k) for k, v in base.items()
             if type(v) is bool]  # fmt: skip
    for key, (usual, other) in CHOICES.items():
        flips += (
            [(key, other, f"{key}={usual}", f"{key}={other}")] if base.get(key) == usual else []
        )
    for key, value, yes, no in flips:
        built = build(model_type, {**base, key: value})
        if built is None:
            continue
        for name in here.keys() - built.tensors.keys():
            when[name].append(yes)
        for name in built.tensors.keys() - here.keys():
            when.setdefault(name, []).append(no)
        if built.tensors.keys() - here.keys():
            sizes = [k for k, v in base.items() if type(v) is int and k not in SKIPPED]
            more = ({**built.given, k: base[k] * n} for k in sizes for n in (2, 3))
            builds += [built, *(b for given in more if (b := build(model_type, given)))]
    return when


def build(model_type: str, given: Mapping[str, Any]) -> Built | None:
    """Return what a class has outside its language model; None where it refuses the sizes."""
    cls = transformers.CONFIG_MAPPING[model_type]
    outer = {k: v for k, v in given.items() if OUTER.fullmatch(k)}
    inner = {k: v for k, v in given.items() if k not in outer and k not in VIRTUAL}
    text = cls().get_text_config().to_dict()
    text |= {"num_hidden_layers": 1, "hidden_size": given["out"], "vocab_size": 64}
    text = {k: v for k, v in text.items() if k not in ("layer_types", "pad_token_id")}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 64}
    try:
        config = cls(
            vision_config={**inner, "num_hidden_layers": LAYERS}, text_config=text, **outer
        )
        with torch.device("meta"):
            model = transformers.AutoModelForImageTextToText.from_config(config)
    except (ValueError, TypeError, RuntimeError, AssertionError):
        return None
    inside = (f"{prefix}." for prefix in ("model.language_model", "lm_head"))
    names = tuple(inside)
    tensors: dict[str, tuple[int, ...]] = {}
    for name, tensor in model.named_parameters():
        if not name.startswith(names):
            tensors.setdefault(generic(name), tuple(tensor.shape))
    linears = {
        generic(name)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and not name.startswith(("model.language", "lm_"))
    }
    merge = merge_of(MERGES[model_type], outer)
    virtual = {"joined": merge**2, "area": inner["patch_size"] ** 2}
    if "image_size" in inner and part_sizes(tensors):
        virtual["grid"] = inner["image_size"] // inner["patch_size"]
    return Built({**given, **virtual}, tensors, linears)


def part_sizes(tensors: Mapping[str, Sequence[int]]) -> bool:
    """Return whether a tower's positions are of a square of patches."""
    return any("position" in name for name in tensors)


def merge_of(said: str, outer: Mapping[str, Any]) -> int:
    """Return how many patches along a side become one token."""
    inverse, _, key = said.rpartition("/")
    return int(1 / outer[key]) if inverse else int(outer[key])


def generic(name: str) -> str:
    """Return the name of a tensor or module with `*` for the number of its layer."""
    match = LAYER.fullmatch(name)
    return name if match is None else f"{match['stack']}.*.{match['name']}"


def part_of(name: str) -> str:
    """Return the part that a tensor belongs to: one layer, the tower around them, the projector."""
    if "*" in name:
        return "layer"
    return "vision_tower" if "vision" in name else "projector"


def modules_of(linears: set[str]) -> dict[str, dict[str, list[str]]]:
    """Return the linear modules of each part that is adapted, by their place."""
    found: dict[str, dict[str, list[str]]] = {"vision_tower": {}, "projector": {}}
    for name in sorted(linears):
        if "*" in name:
            place, _, rest = name.partition(".*.")
            found["vision_tower"].setdefault(f"{place}.*", []).append(rest)
        elif part_of(name) == "projector":
            place, _, rest = name.rpartition(".")
            found["projector"].setdefault(place, []).append(rest)
    return found


if __name__ == "__main__":
    main()
