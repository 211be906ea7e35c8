"""Derive `derived_architectures.json` from the classes of transformers.

    .ci/architectures.py [CLASS ...]

Each class is built on the meta device from a small configuration (`architecture_bases.json`, the
rest by default), then with one key or two multiplied, with each flag flipped, and without each key.
From these builds every side of every tensor is fitted as a sum of products of keys, and every
tensor gets the condition on which it exists. The forms in which kinds of layers alternate come from
the file of bases. A class is written only if configurations that took no part in the fit give the
same tensors; what cannot be fitted is printed and left out.
"""

import itertools
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import transformers
from absences import find_absences
from builds import (
    SKIPPED,
    Build,
    Combo,
    Family,
    Sides,
    family_of,
    kind_flags,
    layer_key,
    placed,
    reads_flag,
    supports_sdpa,
)
from entries import record
from fitting import fit
from gradients import find_unlearned
from older_names import find_older_names
from repeats import find_passes
from unequal import equal_sizes, find_unequal

from ftc.compiler.knowledge.architectures.derived import read_entry

ROOT = Path(__file__).parents[1]
BASES = Path(__file__).with_name("architecture_bases.json")
TABLE = ROOT / "compiler/knowledge/architectures/derived_architectures.json"
CASES = ROOT / "tests/compiler/knowledge/derived_cases.json"
LAYERS = 6
CASES_EACH = 5
#: The largest constant side: larger ones must follow from a key, or be listed with the bases.
MOST = 64
#: What turns an encoder of transformers into a model that reads forward.
_DECODER = "is_decoder"
_POSITIONS = "max_position_embeddings"
#: Fields of every configuration, about its use.
UNRELATED = {
    *("id2label", "label2id", "rope_parameters", "output_hidden_states", "return_dict"),
    *("chunk_size_feed_forward", "is_encoder_decoder", "use_cache", "output_router_logits"),
}


def _skips(family: Family, key: str) -> bool:
    """Return whether a key is left as the base has it."""
    fixed = {*family.fixed, *kind_flags(family.said)}
    skipped = SKIPPED.fullmatch(key) is not None and key not in family.varied
    return key in fixed or skipped


def study(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a class; SystemExit names what stands in the way."""
    cls = transformers.CONFIG_MAPPING[said["type"]]
    family = family_of(name, said)
    first = _base(family, cls)
    keys = _keys(family, first)
    conditions: dict[tuple[str, Combo | None], list[str]] = {}
    requires: dict[str, Any] = {}
    for given in _bases(family, first):
        family.base = given
        base = family.build(family.base)
        if base is None:
            raise SystemExit(f"{name}: the base does not build")
        family.builds += [base, *_variations(family, keys)]
        found, needed = _conditions(family, base)
        conditions, requires = found | conditions, needed | requires
    family.base = first
    sizes = [*keys, *said.get("scaled", ())]
    entry = _fitted(family, family.builds[0], sizes, conditions)
    fixed = {key: [family.base[key]] for key in family.fixed}
    entry["requires"] = requires | said.get("requires", {}) | fixed
    entry["kinds"] = _seen(family)
    if family.positive:
        entry["positive"] = sorted(family.positive)
    kept = ("loads", "packs", "repeats_keys", "each", "copies", "scaled")
    entry |= {key: said[key] for key in kept if key in said}
    if family.builds[0].transposed:
        entry["transposed"] = True
    if not supports_sdpa(family):
        entry["sdpa"] = False
    entry |= find_absences(family, keys)
    if older := find_older_names(family):
        entry["older"] = older
    if passes := find_passes(family, keys):
        entry["passes"] = passes
    if unlearned := find_unlearned(family):
        entry["unlearned"] = unlearned
    entry["linears"] = [m for m in entry["linears"] if not _is_shared(said, entry, m)]
    if "rounded" in said:
        width = said["rounded"]["of"]
        for row in entry["layer"]:
            row[1] = re.sub(rf"\b{width}\b", "rounded_width", row[1])
        entry["rounded"] = said["rounded"]
        entry["requires"].pop(said["rounded"]["where"], None)
    return entry


def _is_shared(said: Mapping[str, Any], entry: Mapping[str, Any], module: str) -> bool:
    """Return whether layers share a module's weight, so that none of them gets an adapter.

    PEFT gives each layer's module one of its own, and a merge would add all of them to the weight.
    """
    rows = [when for name, _, when in entry["layer"] if name == f"{module}.weight"]
    for rule in (form["earliest"] for form in said.get("mixer", ()) if "earliest" in form):
        other = f"mixer={rule['of']}"
        first = {when for when in rows if when.split()[:1] == [f"{other}{rule['word']}"]}
        later = {when for when in rows if when.split()[:1] == [other]}
        if first and {when.partition(" ")[2] for when in first} != {
            when.partition(" ")[2] for when in later
        }:
            return True
    return False


def _seen(family: Family) -> dict[str, list[str]]:
    """Return the kinds of mixers and MLPs that the builds had, where tensors depend on them."""
    combos = {combo for built in family.builds for combo in family.kinds(built.given)}
    return {"mixer": sorted({m for m, _ in combos}), "mlp": sorted({m for _, m in combos})}


def _bases(family: Family, first: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the base with each value of the flags that choose kinds of layers."""
    flags = sorted(kind_flags(family.said))
    for values in itertools.product((False, True), repeat=len(flags)):
        yield {**first, **dict(zip(flags, values, strict=True))}


def _keys(family: Family, base: Mapping[str, Any]) -> list[str]:
    """Return the numbers that sizes may follow from; of layers only where no list has one each."""
    keys = [k for k, v in base.items() if type(v) is int and not _skips(family, k)]
    listed = any(isinstance(value, list) for value in base.values())
    return keys if listed else [*keys, layer_key(family.aliases)]


def _base(family: Family, cls: Any) -> dict[str, Any]:
    """Return all keys of a small configuration: the defaults with what the bases say."""
    default = cls()
    names = {f.name for f in fields(cls)} - UNRELATED
    said = default.to_dict()  # which leaves out a key that has an alias in its place
    values = {n: said[n] if n in said else getattr(default, n, None) for n in sorted(names)}
    given = {k: v for k, v in values.items() if type(v) in (int, bool)}
    key = layer_key(family.aliases)
    given[key] = LAYERS
    given = {k: v for k, v in given.items() if not k.endswith(("_token_id",))}
    given |= dict(family.said.get("base", {}))
    if "num_key_value_heads" in names and given.get("num_key_value_heads") is None:
        given["num_key_value_heads"] = max(1, given["num_attention_heads"] // 2)
    if "head_dim" in names and given.get("head_dim") is None:
        given["head_dim"] = 96
    own = {"hidden_size", *names} & {*family.said.get("base", {}), "head_dim"}
    if (
        not own
        and not any("mamba" in name for name in names)
        and (heads := given.get("num_attention_heads"))
    ):
        given["hidden_size"] = 192 * heads  # divisible by a multiple of the heads
    if "head_dim" not in names and "head_dim" not in family.aliases:
        given |= _probe_heads(family, given)
    if _DECODER in given and "auto" not in family.said and reads_flag(family, _DECODER):
        given[_DECODER] = True
        family.fixed.add(_DECODER)
    _probe_positions(family, given)
    return given


def _probe_positions(family: Family, given: Mapping[str, Any]) -> None:
    """Vary the number of positions where the class has a table of them."""
    plain = family.build(given)
    if plain is None or type(given.get(_POSITIONS)) is not int:
        return
    more = family.build({**given, _POSITIONS: 2 * given[_POSITIONS]})
    if more is not None and more.tensors() != plain.tensors():
        family.varied.add(_POSITIONS)


def _probe_heads(family: Family, given: Mapping[str, Any]) -> dict[str, int]:
    """Return a width of the heads where the class reads one that its configuration does not have.

    Its code then says `getattr(config, "head_dim", ...)`, and published models may set it.
    """
    plain, wide = family.build(given), family.build({**given, "head_dim": 96})
    differ = plain is not None and wide is not None and plain.tensors() != wide.tensors()
    return {"head_dim": 96} if differ else {}


def _variations(family: Family, keys: Sequence[str]) -> Iterator[Build]:
    """Build with one key or a pair multiplied by two or three, or one up and one down.

    Keys that a class accepts only together have further values in the file of bases.
    """
    base = family.base
    for key, times in itertools.product(keys, (2, 3)):
        if (built := family.build(base | {key: base[key] * times})) is not None:
            yield built
    for one, other in itertools.combinations(keys, 2):
        given = base | {one: base[one] * 2, other: base[other] * 2}
        if (built := family.build(given)) is not None:
            yield built
    for one, other in itertools.permutations(keys, 2):
        if base[other] % 2 == 0 and "mamba" in one + other:
            given = base | {one: base[one] * 2, other: base[other] // 2}
            if (built := family.build(given)) is not None:
                yield built
    for others in family.said.get("others", ()):
        if (built := family.build(base | others)) is None:
            raise SystemExit(f"{family.name} does not build with {others}")
        yield built
        yield from _singles(family, built.given)


def _singles(family: Family, given: Mapping[str, Any]) -> Iterator[Build]:
    """Build with each of the keys multiplied."""
    for key, value in given.items():
        if type(value) is int and value and not _skips(family, key):
            for times in (2, 3):
                if (built := family.build({**given, key: value * times})) is not None:
                    yield built


def _conditions(
    family: Family, base: Build
) -> tuple[dict[tuple[str, Combo | None], list[str]], dict[str, Any]]:
    """Flip each flag, and empty each number: which tensors come and go, and what must stay.

    The file of bases names numbers without which a model is another variant (`kept`).
    """
    conditions: dict[tuple[str, Combo | None], list[str]] = {k: [] for k in base.tensors()}
    requires: dict[str, Any] = {}
    here = base.tensors()
    layers = layer_key(family.aliases)
    for key, value in family.base.items():
        if key in (layers, *family.said.get("kept", ())) or _skips(family, key):
            continue
        if type(value) not in (bool, int):
            continue
        others = [not value] if type(value) is bool else [None, 0]
        if value == 0 and type(value) is int:
            others = [2]
        for other in others:
            built = family.build(family.base | {key: other})
            if value == 0 and type(value) is int and built is not None:
                if built.tensors() != here:
                    requires[key] = [None, 0]
                continue
            if built is None or (type(value) is int and not _is_switch(built.tensors(), here)):
                if type(value) is bool and built is None:
                    requires[key] = [value]
                elif built is not None and other is None:
                    _replace(family, key, built.tensors(), conditions)
                continue
            there = built.tensors()
            if any(there[name] != sides for name, sides in here.items() if name in there):
                if type(value) is bool:
                    requires[key] = [value]
                continue
            yes, no = (key, f"!{key}") if value else (f"!{key}", key)
            for name in here:
                if name not in there and yes not in conditions[name]:
                    conditions[name].append(yes)
            for name in there:
                if name not in here:
                    conditions.setdefault(name, [])
                    if no not in conditions[name]:
                        conditions[name].append(no)
            family.builds.append(built)
            if set(there) - set(here):
                family.builds += _singles(family, built.given)
            if type(value) is int:
                _note_zero(family, key, built, family.build(family.base | {key: 0}))
                break
    for name, condition in find_unequal(family, base):
        conditions.setdefault(name, []).append(condition)
    for key in _unset(family):
        for value in (64, 2):
            built = family.build(family.base | {key: value})
            if built is not None and built.tensors() != here:
                requires[key] = [None]
    return conditions, requires


def _note_zero(family: Family, key: str, without: Build, empty: Build | None) -> None:
    """Note a key for which null removes tensors, and 0 makes tensors without elements."""
    if empty is None or empty.tensors() != without.tensors():
        family.positive.add(key)


def _replace(
    family: Family,
    key: str,
    there: Mapping[tuple[str, Combo | None], Sides],
    conditions: dict[tuple[str, Combo | None], list[str]],
) -> None:
    """Find the width of the model in the place of a null, where tensors go as well."""
    written = family.build(family.base | {key: family.base.get("hidden_size")})
    here = {} if written is None else written.tensors()
    if set(there) < set(here) and all(here[name] == sides for name, sides in there.items()):
        family.replaced[key] = "hidden_size"
        for name in set(here) - set(there):
            conditions[name].append(f"?{key}")


def _unset(family: Family) -> Iterator[str]:
    """Yield the keys that are null by default, and that the base leaves so."""
    cls = transformers.CONFIG_MAPPING[family.said["type"]]
    counted = {form["if_many"] for form in family.said.get("mixer", ()) if "if_many" in form}
    for each in fields(cls):
        is_null = each.default is None and family.base.get(each.name) is None
        if (
            each.name not in counted
            and is_null
            and each.name not in UNRELATED
            and not SKIPPED.fullmatch(each.name)
        ):
            yield each.name


def _is_switch(there: Mapping[Any, Sides], here: Mapping[Any, Sides]) -> bool:
    """Return whether emptying a number takes tensors away or brings others, and changes none."""
    same = all(there[name] == sides for name, sides in here.items() if name in there)
    return same and set(there) != set(here)


def _fitted(
    family: Family,
    base: Build,
    keys: Sequence[str],
    conditions: Mapping[tuple[str, Combo | None], Sequence[str]],
) -> dict[str, Any]:
    """Fit each side of each tensor, and join the kinds of layers that agree."""
    fits: dict[tuple[str, Combo | None], tuple[str, str]] = {}
    rows: dict[tuple[str, Combo | None], list[tuple[dict[str, Any], Sides]]] = {}
    for built in family.builds:
        for name, sides in built.tensors().items():
            rows.setdefault(name, []).append((built.given, sides))
    by_name = {name: when for (name, _), when in conditions.items()}
    conditions = {name: by_name.get(name[0], ()) for name in rows} | conditions
    for name, seen in sorted(rows.items(), key=lambda row: row[0][0].endswith(".bias")):
        owner = (name[0].removesuffix("bias") + "weight", name[1])
        if name[0].endswith(".bias") and owner in fits and len(seen[0][1]) == 1:
            by_given = {id(given): sides for given, sides in rows[owner]}
            if all(by_given.get(id(given), sides)[0] == sides[0] for given, sides in seen):
                first = fits[owner][0].split(" x ")[0]
                fits[name] = (first, " ".join(sorted(conditions[name])))
                continue
        expressions = []
        for place in range(len(seen[0][1])):
            samples = [(given, sides[place]) for given, sides in seen]
            text = fit(samples, keys) or fit(samples, keys, constant=True)
            allowed = family.said.get("constants", ())
            if text is None or (text.isdecimal() and int(text) > MOST and int(text) not in allowed):
                raise SystemExit(f"{family.name}: no fit for side {place} of {name}: {seen[0][1]}")
            expressions.append(text)
        fits[name] = (" x ".join(expressions), " ".join(sorted(conditions[name])))
    combos = sorted({c for _, c in fits if c is not None})
    linears = dict.fromkeys(itertools.chain(*(b.linears for b in family.builds)))
    layer: list[list[str]] = []
    for name in dict.fromkeys(n for n, c in fits if c is not None):
        layer += _joined(name, {c: fits[name, c] for c in combos if (name, c) in fits}, combos)
    return {
        "model_type": family.said["type"],
        "aliases": _useful(family.aliases)
        | dict(family.said.get("aliases", {}))
        | {place: key for key, place in family.said.get("nested", {}).items()},
        "mixer": family.said.get("mixer", [{"form": "all", "kind": "full_attention"}]),
        "mlp": family.said.get("mlp", [{"form": "all", "kind": "dense"}]),
        "stack": base.stack,
        "embedding": base.embedding,
        "head": base.head,
        "norm": base.norm,
        "linears": list(linears),
        "layer": layer,
        "model": [[n, *fits[n, c]] for n, c in fits if c is None],
    }


def _useful(aliases: Mapping[str, str]) -> dict[str, str]:
    return {
        k: v
        for k, v in aliases.items()
        if not k.endswith(("token_id", "token_index")) and "layer_types" not in (k, v)
    }


def _joined(
    name: str, kinds: Mapping[Combo, tuple[str, str]], combos: Sequence[Combo]
) -> Iterator[list[str]]:
    """Yield [name, sides, conditions] with as few kinds as say where the tensor is."""
    if len(kinds) == len(combos) and len(set(kinds.values())) == 1:
        yield [name, *next(iter(kinds.values()))]
        return
    for place, word in ((0, "mixer"), (1, "mlp")):
        by: dict[str, set[tuple[str, str] | None]] = {}
        for combo in combos:
            by.setdefault(combo[place], set()).add(kinds.get(combo))
        if all(len(values) == 1 for values in by.values()):
            for kind, values in by.items():
                if (value := next(iter(values))) is not None:
                    yield [name, value[0], f"{word}={kind} {value[1]}".strip()]
            return
    for (mixer, mlp), value in kinds.items():
        yield [name, value[0], f"mixer={mixer} mlp={mlp} {value[1]}".strip()]


def check(
    family_name: str, said: Mapping[str, Any], entry: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Compare counts of five configurations that took no part in the fit, and return them."""
    chance = random.Random(family_name)  # noqa: S311 - nothing secret
    cls = transformers.CONFIG_MAPPING[said["type"]]
    family = family_of(family_name, said)
    base = _base(family, cls)
    keys = _keys(family, base)
    flags = [k for k, v in base.items() if type(v) is bool and k not in entry["requires"]]
    done: list[dict[str, Any]] = []
    wrong: list[str] = []
    for _ in range(400):
        if len(done) == CASES_EACH:
            break
        chosen = chance.sample(keys, min(len(keys), chance.choice((3, 4, 5))))
        given = base | {k: base[k] * chance.choice((2, 3, 4)) for k in chosen}
        given |= {k: not given[k] for k in chance.sample(flags, min(len(flags), 2))}
        for key in chance.sample(sorted(entry["defaults"]), min(2, len(entry["defaults"]))):
            if key in keys and key not in ("hidden_size", layer_key(family.aliases)):
                given.pop(key, None)
        built = family.build(given)
        if built is None:
            continue
        want = built.parameters
        config = placed(said, given)
        named = {"architectures": [family_name], "model_type": said["type"], **config}
        done.append({"config": named, "parameters": want})
        shape = read_entry(family_name, entry, config)
        if shape is None or shape.parameters != want:
            wrong.append(f"{shape and shape.parameters} for {want}: {given}")
    given = _listed(family, base) | equal_sizes(entry, base)
    if given != base:
        want, config = family.count(given), placed(said, given)
        shape = read_entry(family_name, entry, config)
        if want is None or shape is None or shape.parameters != want:
            wrong.append(f"{shape and shape.parameters} for {want}: {given}")
        done[-1] = {
            "config": {"architectures": [family_name], "model_type": said["type"], **config},
            "parameters": want,
        }
    return done, wrong


def _listed(family: Family, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base config with per-layer lists for the keys that may have them."""
    layers = base[layer_key(family.aliases)]
    sizes = {name: base[key] for key, name in family.said.get("each", {}).items()}
    lists = {name: [size * (1 + n % 2) for n in range(layers)] for name, size in sizes.items()}
    return {**base, **lists}


def main(names: Sequence[str]) -> None:
    """Study the classes, all without names, and write the table."""
    transformers.logging.set_verbosity_error()
    bases = json.loads(BASES.read_text(encoding="utf-8"))
    for name in names or bases:
        try:
            entry = study(name, bases[name])
        except SystemExit as problem:
            print(problem, flush=True)
            continue
        done, wrong = check(name, bases[name], entry)
        print(f"{name}: {len(done)} counts, {len(wrong)} wrong", *wrong[:2], sep="\n  ", flush=True)
        if len(done) == CASES_EACH and not wrong:
            record(name, entry, done, (TABLE, CASES))


if __name__ == "__main__":
    main(sys.argv[1:])
