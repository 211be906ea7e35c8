"""Unknown keys, missing keys, and the field that an unknown key most likely means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.spec.findings.explanations import UNKNOWN_KEY, UNSUPPORTED_FIELD
from ftc.spec.findings.finding import Finding, Safety
from ftc.spec.findings.quote import shown
from ftc.spec.keys.foreign import EMPTY, Foreign, find_foreign
from ftc.spec.keys.joined import find_joined
from ftc.spec.keys.kinds import report_kind
from ftc.spec.keys.known_keys import (
    find_wrapped,
    report_dotted,
    report_factor,
    report_foreign,
    report_off,
    report_remainder,
    report_turned,
    report_wrapped,
    show_example,
)
from ftc.spec.keys.missing import report_missing
from ftc.spec.keys.moving import Meant, advise, gives_way, is_unread, move, read
from ftc.spec.keys.places import (
    find_by_count,
    find_conditional,
    find_places,
    find_shortened,
    is_compound,
    list_unsupported,
)
from ftc.spec.keys.products import find_product, find_share, is_shared
from ftc.spec.keys.refused import find_advice, leave_out_needless, refuse_value, refuse_word
from ftc.spec.keys.remainder import find_remainder
from ftc.spec.keys.roles import find_role, find_role_above
from ftc.spec.keys.unfolding import unfolds
from ftc.spec.message import Message
from ftc.spec.normal import lengthen
from ftc.spec.patch import apply_patch
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import (
    Field,
    Schema,
    branches,
    fields_by_pointer,
    find_siblings,
    object_form,
    read_schema,
)
from ftc.spec.values.expectation import accepts_type, draws_rows, expectation, words_of
from ftc.spec.values.nearest import is_likely, is_misspelt, is_slip, nearest
from ftc.spec.values.repair import Repair, find_repair
from ftc.spec.values.synonyms import (
    SWITCHES,
    find_candidates,
    find_owners,
    find_section,
    find_word,
    flags,
    switches_on,
)
from ftc.spec.values.verdict import is_valid

_MOST_KEYS: Final = 50
#: The kinds of rewards: each reward has one of these keys.
_KINDS: Final = ("match", "regex", "json_schema", "functions")
_COLUMNS: Final = "/data/columns"
#: Keys that are no misspelling of a longer one.
_EVERYDAY: Final = frozenset({"name", "type", "value"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """The field that an unknown key relates to, and the variant of the help text about it."""

    help: str
    field: str
    near: str
    schema: Schema


def unknown_keys(
    data: Mapping[str, Any], pointer: str, section: Mapping[str, Any], schema: Schema
) -> Iterator[Finding]:
    """Yield a finding for each key of the section that is not in its schema."""
    for key in _unknown(section, schema):
        here, value = pointer + join([key]), section[key]
        finding = _explain(data, pointer, section, schema, key)
        switch = SWITCHES.get(value.casefold()) if isinstance(value, str) else None
        if switch is None or any(each["op"] != "remove" for each in finding.fix):
            yield finding
            continue
        step = {"op": "replace", "path": here, "value": switch}  # as other tools read YAML
        meant = {**section, key: switch}
        finding = _explain(apply_patch(data, [step]), pointer, meant, schema, key)
        moves = any(each.get("from") == here for each in finding.fix)
        yield replace(finding, fix=(step, *finding.fix)) if moves else finding


def _explain(
    data: Mapping[str, Any], pointer: str, section: Mapping[str, Any], schema: Schema, key: str
) -> Finding:
    here = pointer + join([key])
    if (known := _report_whole(here, section, section[key], data)) is not None:
        return known
    named = (
        find_role(key, section, pointer, data)
        or _by_name(key, section, pointer, schema)
        or find_role_above(key, section, pointer, data)
    )
    share = find_share(key, section, named.pointer) if named is not None else None
    if named is not None and share is not None:
        named = replace(named, pointer=share, safety="unsafe")
    meant = named or _by_likeness(key, section, pointer, schema)
    if (product := find_product(key, section, data, meant.pointer if meant else "")) is not None:
        return report_factor(product, here, data, schema, pointer)
    if (remainder := find_remainder(key, section, pointer, schema)) is not None:
        return report_remainder(remainder, here, data)
    unfit = _implied(key, section, pointer, schema)
    is_object = isinstance(section[key], Mapping)
    shared = named is not None and not is_object and is_shared(key, named.pointer)
    is_clear = unfit is not None or share is not None or shared
    other = None if is_clear else _elsewhere(key, section, pointer, data, named)
    if other is None or not other.fields:
        places = (named.pointer,) if named else find_places(key)
        advised = refuse_value(section[key], here, places, data)
        if advised is None and other is None:
            advised = refuse_word(section[key], here, schema, named, data)
        if advised is not None:
            return advised
    if other is not None and not other.pointer:
        return report_foreign(other, here, data)
    place = meant.pointer if meant is not None else here
    if other is None and (advice := find_advice(place)) is not None:
        return _report_unsupported(section[key], here, place, advice)
    if named is not None and shared:
        meant = replace(named, safety="unsafe")
    if meant is not None and not (named and is_compound(key)) and is_unread(data, meant, key):
        meant = replace(meant, safety=None)
    fix = () if unfit is not None else move(data, here, meant)
    if other is not None:
        unfit, fix = _not_fitting(section[key], fields_by_pointer()[other.pointer]), ()
    if unfit is None:
        value = section[key]
        unfit = _misfit(key, value, pointer) if meant is None else _refused(value, meant, fix)
    if unfit is not None:
        return UNKNOWN_KEY.finding(
            message="" if pointer else "spec",
            help=unfit.help,
            pointer=here,
            fix=fix,
            section=dotted(pointer),
            key=shown(key),
            field=unfit.field,
            near=unfit.near,
            expected=expectation(unfit.schema),
            example=show_example(unfit.schema["examples"][0]),
        )
    return _lead(data, here, section, schema, meant, fix=fix)


def _report_whole(
    here: str, section: Mapping[str, Any], value: Any, data: Mapping[str, Any]
) -> Finding | None:
    """Return the finding for a section in another form, for any key in it."""
    found = report_turned(here, section) or report_dotted(here, value, data)
    found = found or report_kind(here, value, data)
    joined = find_joined(here, value, data) if found is None else None
    found = report_foreign(joined, here, data) if joined is not None else found
    return found or report_off(here, value, data) or report_wrapped(here, value, data)


def _report_unsupported(value: Any, here: str, place: str, advice: Message) -> Finding:
    """Return the finding about a key, written `here`, of a field at `place` that ftc lacks."""
    help_ = "" if place == here else "meant"
    return UNSUPPORTED_FIELD.finding(
        pointer=here,
        fix=leave_out_needless(value, here, place),
        message=help_,
        help=help_,
        name=shown(dotted(here)),
        meant=dotted(place),
        advice=advice,
    )


def _lead(
    data: Mapping[str, Any],
    here: str,
    section: Mapping[str, Any],
    schema: Schema,
    meant: Meant | None,
    *,
    fix: tuple[Mapping[str, Any], ...],
) -> Finding:
    """Report a key with the field that it means, or with the keys of its section."""
    if meant is None and read(data, here) is None:
        return report_foreign(EMPTY, here, data)
    pointer = parent(here)
    near = "" if meant is None else dotted(meant.pointer)
    beside = meant is not None and parent(meant.pointer) == pointer
    is_reward = schema.get("x-type") == "Reward"
    has_kind = any(kind in section or near.endswith(f".{kind}") for kind in _KINDS)
    finding = UNKNOWN_KEY.finding(
        message="reward" if is_reward else "" if pointer else "spec",
        help="reward" if is_reward and not has_kind else advise(data, meant, merges=len(fix) > 1),
        pointer=here,
        fix=fix,
        section=dotted(pointer),
        key=shown(split(here)[-1]),
        near=near.rpartition(".")[2] if beside else near,
        meant=meant.repair.shown if meant is not None and meant.repair is not None else "",
        keys=tuple(schema["properties"]),
        kinds=_KINDS,
    )
    is_guess = meant is not None and meant.safety == "unsafe"
    return replace(finding, fix_safety="unsafe") if is_guess else finding


def _elsewhere(
    key: str, section: Mapping[str, Any], pointer: str, data: Mapping[str, Any], named: Meant | None
) -> Foreign | None:
    """Return what the key means in another tool, unless it is a name of a field and its value fits.

    A name whose value the tools write differently, such as `train_on_inputs`, is translated.
    """
    if named is not None and find_advice(named.pointer) is not None:
        return None
    certain = named is not None and (named.safety is not None or _is_settled(named.pointer))
    other = find_foreign(key, section, pointer, data)
    if other is None or not (certain and named is not None):
        return other
    value = named.repair.value if named.repair is not None else section[key]
    same = other.fields == {named.pointer: value}
    return other if other.is_translated and other.fields and not same else None


def _is_settled(pointer: str) -> bool:
    """Return whether a field is not supported, or its name means another quantity elsewhere."""
    field = fields_by_pointer().get(pointer)
    return field is None or bool(field.schema.get("x-aliases-differ"))


def _refused(value: Any, meant: Meant, fix: Sequence[Mapping[str, Any]]) -> Unfit | None:
    """Return the meant field if it does not accept the value; a section's own keys are checked."""
    field = fields_by_pointer().get(meant.pointer)
    if field is None or "examples" not in field.schema or is_valid(value, field.schema):
        return None
    if meant.repair is not None or (fix and _is_section(value, field.schema)):
        return None
    return _not_fitting(value, field)


def _not_fitting(value: Any, field: Field) -> Unfit:
    help_ = "held_out" if draws_rows(value, field.schema) else "misfit"
    return Unfit(help=help_, field="", near=field.name, schema=field.schema)


def _implied(key: str, section: Mapping[str, Any], pointer: str, schema: Schema) -> Unfit | None:
    """Find the field of the section whose value implies what the key says (`x-implies`).

    `unless` lists the values that imply nothing. With one of them, a key that is an alias of the
    other field means that field.
    """
    for name, field in schema["properties"].items():
        implies = field.get("x-implies", {"keys": ()})
        if key.casefold() not in implies["keys"]:
            continue
        other = schema["properties"][implies["beside"]]
        is_other = section.get(name, field["default"]) in implies["unless"]
        if is_other and key.casefold() in other["x-aliases"]:
            return None
        field_name = dotted(f"{pointer}/{name}")
        return Unfit(help="follows", field=field_name, near=implies["beside"], schema=field)
    return None


def _misfit(key: str, value: Any, pointer: str) -> Unfit | None:
    """Find the only field inside the section with this name; it does not accept the value."""
    names = find_places(key)
    inside = [name for name in names if pointer and name.startswith(f"{pointer}/")]
    field = fields_by_pointer().get(inside[0]) if len(inside) == 1 else None
    if field is None or field.pointer.startswith(_COLUMNS) or "examples" not in field.schema:
        return None
    return _not_fitting(value, field)


def missing_keys(pointer: str, section: Mapping[str, Any], schema: Schema) -> Iterator[Finding]:
    """Yield a finding for each missing required key, unless a misspelt one is present."""
    unknown = _unknown(section, schema)
    meant = (_meant(key, section, pointer, schema) for key in unknown)
    misspelt = {each.pointer for each in meant if each is not None}
    misspelt |= {join([name]) for key in unknown for name in find_wrapped(section[key], pointer)}
    for key in schema["required"]:
        here = f"{pointer}/{key}"
        is_misspelt = any(f"{each}/".startswith(f"{here}/") for each in misspelt)
        if key in section or is_misspelt:
            continue
        yield report_missing(here, section, schema["properties"][key])


def _unknown(section: Mapping[str, Any], schema: Schema) -> list[str]:
    return [key for key in section if key not in schema["properties"]][:_MOST_KEYS]


def _by_name(key: str, section: Mapping[str, Any], pointer: str, schema: Schema) -> Meant | None:
    """Find the field by alias, or by its name in other sections.

    An alias is certain if the field takes the value, unless other programs mean another quantity by
    it (`x-aliases-differ`). A field of another section counts only if it may take the value.
    """
    value = section[key]
    here = pointer + join([key])
    if find_advice(here) is not None:
        return Meant(pointer=here, safety=None)
    for name, field in schema["properties"].items():
        if key.casefold() in (*field.get("x-aliases", ()), *find_conditional(field, section)):
            if switches_on(value, field) and (word := find_word(key, field)):
                return _switched(f"{pointer}/{name}", word)
            differs = bool(field.get("x-aliases-differ"))
            renamed = _renamed(f"{pointer}/{name}", value, field, None if differs else "safe")
            if renamed.safety is None and not is_valid(value, field):
                fitting = _by_value(key, value, pointer)
                return fitting or _by_word(key, section, pointer, schema, safety="safe") or renamed
            return renamed
    elsewhere = [found for found in find_places(key) if _may_hold(found, value, pointer)]
    if pointer and pointer in elsewhere and "x-short" in fields_by_pointer()[pointer].schema:
        short = f"{pointer}/{fields_by_pointer()[pointer].schema['x-short']}"
        return _renamed(short, value, fields_by_pointer()[short].schema, "safe")
    is_named = any(found.endswith(f"/{key}") for found in elsewhere)
    if value is True and not is_named and (flag := flags().get(key.casefold())):
        return _switched(*flag)
    if len(elsewhere) == 1 and not _is_plain_match(key, schema):
        other = fields_by_pointer().get(elsewhere[0])
        if elsewhere[0].endswith(f"/{key}"):
            repair = None if other is None else find_repair(value, other.schema)
            fits = other is None or repair is None or is_valid(value, other.schema)
            return Meant(pointer=elsewhere[0], safety="safe", repair=None if fits else repair)
        if other is None:
            return Meant(pointer=elsewhere[0], safety=None)
        if switches_on(value, other.schema) and (word := find_word(key, other.schema)):
            return _switched(other.pointer, word)
        if pointer and isinstance(value, str) and "_" not in key and not words_of(other.schema):
            return find_by_count(key, section, pointer)  # an everyday word, and any text fits
        differs = bool(other.schema.get("x-aliases-differ"))
        is_word = value in words_of(other.schema) if isinstance(value, str) else False
        sure: Safety = "safe" if is_compound(key) or is_word else "unsafe"
        return _renamed(other.pointer, value, other.schema, None if differs else sure)
    return find_by_count(key, section, pointer)


def _by_value(key: str, value: Any, pointer: str) -> Meant | None:
    """Find the only other field with this name, or its singular, that accepts the value."""
    found = []
    for place in {*find_places(key), *find_places(key.removesuffix("s"))}:
        field = fields_by_pointer().get(place)
        if field is None or "x-short" in field.schema or not _may_hold(place, value, pointer):
            continue
        if isinstance(value, str) and not words_of(field.schema):
            continue  # it accepts any text
        meant = _renamed(place, value, field.schema, "safe")
        if is_valid(value, field.schema) or (meant.repair and meant.safety == "safe"):
            found.append(meant)
    return found[0] if len(found) == 1 else None


def _by_likeness(
    key: str, section: Mapping[str, Any], pointer: str, schema: Schema
) -> Meant | None:
    """Find the field of the section with a similar name, or one that has the key as a word."""
    value = section[key]
    if isinstance(value, Mapping) and (group := find_section(key, pointer)) is not None:
        return Meant(pointer=group, safety="safe")
    known = [*schema["properties"], *list_unsupported(pointer)]
    found = nearest(key, known) if key.casefold() not in _EVERYDAY else None
    if found is None:
        said = _by_word(key, section, pointer, schema)
        return said or _shortened(key, value, pointer)
    field = schema["properties"].get(found)
    if is_misspelt(key, found, known):
        if field is None or (isinstance(value, Mapping) and object_form(field) is not None):
            return Meant(pointer=f"{pointer}/{found}", safety="safe")
        renamed = _renamed(f"{pointer}/{found}", value, field, "safe")
        return renamed if renamed.safety else replace(renamed, safety="safe")  # the value is wrong
    fits = field is not None and (is_valid(value, field) or _is_section(value, field))
    if field is not None and not fits and not is_slip(key, found):
        return _by_word(key, section, pointer, schema)  # neither the name nor the value fits
    guess = fits and is_likely(key, found, known)
    return Meant(pointer=f"{pointer}/{found}", safety="unsafe" if guess else None)


def _shortened(key: str, value: Any, pointer: str) -> Meant | None:
    """Find the only field that a name of shortened words may mean, if it takes the value."""
    place = find_shortened(key) or ""
    field = fields_by_pointer().get(place)
    if field is None or not _may_hold(place, value, pointer) or _is_settled(place):
        return None
    meant = _renamed(place, value, field.schema, "unsafe")
    return meant if meant.safety is not None else None


def _meant(key: str, section: Mapping[str, Any], pointer: str, schema: Schema) -> Meant | None:
    """Find the field by its name or, failing that, by likeness."""
    named = _by_name(key, section, pointer, schema)
    return named or _by_likeness(key, section, pointer, schema)


def _switched(pointer: str, word: str) -> Meant:
    """Return the field that has the key as a word, for a value that only turns it on."""
    return Meant(pointer=pointer, safety="safe", repair=Repair(value=word, help="near"))


def _renamed(pointer: str, value: Any, field: Schema, safety: Safety | None) -> Meant:
    """Return the field of an alias, with the value for it; without a value, nothing is moved."""
    if is_valid(value, field) or (safety and (_is_section(value, field) or unfolds(value, field))):
        return Meant(pointer=pointer, safety=safety)
    short = fields_by_pointer().get(f"{pointer}/{field.get('x-short')}")
    named = short.schema if short is not None else None
    repair = find_repair(value, field, named, others=find_siblings(pointer))
    if repair is None or (safety is None and not repair.exact):
        return Meant(pointer=pointer, safety=None)
    is_guess = "unsafe" in {safety, repair.safety} and not repair.exact
    return Meant(pointer=pointer, safety="unsafe" if is_guess else "safe", repair=repair)


def _is_section(value: Any, field: Schema) -> bool:
    """Return whether a value is a section in its long form; its own keys are checked later."""
    return isinstance(value, Mapping) and object_form(field) is not None


def _may_hold(found: str, value: Any, pointer: str) -> bool:
    """Return whether a field of another section may be meant by a key of this section.

    At the top of a spec the value does not matter, because a flat spec has all fields there. In a
    section the value must be of a type that the field takes. The roles of columns are everyday
    words, so they count only in the section of the data.
    """
    if found.startswith(_COLUMNS) and not pointer.startswith(parent(_COLUMNS)):
        return False
    field = fields_by_pointer().get(found)
    if field is None or not pointer or is_valid(value, field.schema):
        return True
    if find_repair(value, field.schema) is not None:
        return True
    if not isinstance(value, str):
        return any(accepts_type(branch, value) for branch in branches(field.schema))
    is_alike = nearest(value, words_of(field.schema)) is not None
    return is_alike or bool(find_candidates(value, field.schema))


def _by_word(
    key: str,
    section: Mapping[str, Any],
    pointer: str,
    schema: Schema,
    *,
    safety: Safety = "unsafe",
) -> Meant | None:
    """Find the only field of the section that has the value, or else the key, as a word."""
    value = section[key]
    said: tuple[tuple[Any, Safety | None], ...] = ((value, safety), (key.casefold(), None))
    for word, how in said:
        owners = find_owners(word, section, schema)
        if len(owners) != 1:
            continue
        ((name, meant),) = owners.items()
        if value is True:
            return _switched(f"{pointer}/{name}", meant)
        repair = Repair(value=meant, help="near") if how is not None and meant != value else None
        return Meant(pointer=f"{pointer}/{name}", safety=how, repair=repair)
    return None


def is_completed(pointer: str, data: Mapping[str, Any]) -> bool:
    """Return whether an unknown key completes the wrong value of a field.

    An example is `stage` in `{"strategy": "deepspeed", "stage": 3}`. `pointer` is the field's
    pointer in the long form of the spec.
    """
    schema = read_schema()
    above = parent(pointer)
    inner = lengthen(above[1:], data.get(above[1:])) if above.count("/") == 1 else None
    holders = [("", data, schema)]
    if isinstance(inner, Mapping) and (form := object_form(schema["properties"][above[1:]])):
        holders.append((above, inner, form))
    for place, section, form in holders:
        for key in _unknown(section, form):
            meant = _meant(key, section, place, form)
            if meant is None or meant.pointer != pointer:
                continue
            if gives_way(read(data, pointer), meant):
                return True
    return False


def _is_plain_match(key: str, schema: Schema) -> bool:
    plain = key.casefold().replace("-", "_")
    return plain in schema["properties"]
