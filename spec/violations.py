"""From violations of the schema to findings, each about one value and what its field accepts."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.findings.explanations import (
    MALFORMED_LIST,
    MALFORMED_TEXT,
    OUT_OF_RANGE,
    UNKNOWN_VALUE,
    UNSUPPORTED_VALUE,
    WRONG_TYPE,
)
from ftc.spec.findings.finding import Finding, Safety
from ftc.spec.findings.quote import quote, shown
from ftc.spec.keys.keys import is_completed, missing_keys, unknown_keys
from ftc.spec.keys.unfolding import unfold
from ftc.spec.message import Message
from ftc.spec.normal import lengthen
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import (
    Schema,
    advise_against,
    branches,
    fields_by_pointer,
    find_siblings,
    object_form,
    read_schema,
    read_unsupported,
)
from ftc.spec.switched import report_named_field, report_switch
from ftc.spec.values.expectation import accepts_type, draws_rows, expectation, words_of
from ftc.spec.values.hub_page import find_repository
from ftc.spec.values.nearest import find_alike, is_certain, is_likely, is_slip, nearest
from ftc.spec.values.phrases import find_others, find_word_in, split_words
from ftc.spec.values.repair import Repair, find_repair, is_switch
from ftc.spec.values.repaired import help_of, pairs_of
from ftc.spec.values.rule_codes import find_code
from ftc.spec.values.several import report_several
from ftc.spec.values.share import find_counted, find_parts
from ftc.spec.values.synonyms import find_candidates, find_sibling, find_stated
from ftc.spec.values.verdict import Violation, find_verdict, is_valid

_MOST_WORDS: Final = 12
_COUNT: Final = re.compile(r"\s*[-+]?\s*[\d.]+\s*(?:[xX\u00d7]|\s)")


def find_violations(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding without a position for each value that the schema does not allow."""
    for violation in find_verdict(data):
        yield from _explain(violation, data)


def _explain(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with a value, the special cases first."""
    if violation.keyword not in {"additionalProperties", "required"}:
        meant = _find_repair(violation, data) or find_parts(violation.value, violation.field)
        whole = read_schema()["properties"].get(violation.pointer[1:])
        stated = whole or _named(violation, data)  # with its default
        switch = report_switch(violation, data, stated, meant)
        pattern = _long_pattern(violation, data)
        found = switch or (report_named_field(violation, pattern) if meant is None else None)
        if found is not None:
            yield found
            return
    yield from _TRANSLATIONS[violation.keyword](violation, data)


def _wrong_type(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    value, field = violation.value, violation.field
    meant = _find_repair(violation, data) or find_parts(value, field)
    counted = find_counted(value, field, data)
    meant = meant or (counted.repair if counted else None) or _coded(violation)
    help_ = help_of(meant) if meant else counted.whole if counted else ""
    pattern = _long_pattern(violation, data)
    if (several := report_several(violation, data, pattern)) is not None:
        yield several
        return
    if is_completed(pattern, data):
        return
    is_list = any("items" in branch for branch in branches(field))
    if isinstance(value, str) and is_list and meant is None:  # a word in the place of several
        items = f"{pattern}/*"
        single = find_alike(value, read_unsupported()["values"].get(items, ()))
        other = _of_sibling(violation, data) if single is None else None
        if single is not None or other is not None:
            yield other or _unsupported_word(violation, items, str(single), data)
            return
    some = find_candidates(value, _named(violation, data)) or _listed(value, field)
    if some and meant is None:
        help_ = "several" if isinstance(value, list) else "some"
    unfolded = unfold(violation.pointer, value, field, data) if object_form(field) is None else ()
    help_ = "unfold" if unfolded else help_
    if not help_ and draws_rows(value, field):
        help_ = "held_out"
    example = _example(value, violation)
    if not help_ and example and not words_of(field):
        help_ = "example"
    finding = WRONG_TYPE.finding(
        help=help_,
        pointer=violation.pointer,
        fix=unfolded or _write(violation, data, meant),
        section=dotted(parent(violation.pointer)),
        name=violation.name,
        value=quote(value),
        meant=some if help_ in ("some", "several") else meant.shown if meant else "",
        expected=_expectation(violation, data),
        example=f"`{json.dumps(example)}`" if isinstance(example, dict) else quote(example),
        count=counted.count if counted else 0,
        pairs=pairs_of(_long_pattern(violation, data), meant),
    )
    yield replace(finding, fix_safety=meant.safety) if meant else finding


def _listed(value: Any, field: Schema) -> tuple[str, ...]:
    """Return the distinct values of a list in a field that takes a single value; else nothing."""
    several = value if isinstance(value, list) else ()
    fits = all(is_valid(each, field) and not isinstance(each, Mapping) for each in several)
    words = tuple(dict.fromkeys(shown(str(each)) for each in several)) if fits else ()
    return words if len(words) > 1 else ()


def _example(value: Any, violation: Violation) -> Any:
    """Return the first example that is a string, or the first object if there is none, or None.

    Objects are left out where the value is an object too: its error is inside it.
    """
    named = fields_by_pointer().get(violation.pointer)
    examples = violation.field.get("examples", ()) or (named.schema["examples"] if named else ())
    kinds = (str,) if isinstance(value, dict) or not object_form(violation.field) else (str, dict)
    return next((it for kind in kinds for it in examples if isinstance(it, kind)), None)


def _unknown_word(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Report a value that is not one of the field's words, nor of another accepted type."""
    value, field = violation.value, violation.field
    known = words_of(field)
    if is_completed(_long_pattern(violation, data), data):
        return
    if isinstance(value, str) and known:
        yield _explain_word(violation, value, known, data)
    elif violation.keyword == "anyOf" or any(accepts_type(leaf, value) for leaf in branches(field)):
        yield from _wrong_type(violation, data)


def _explain_word(
    violation: Violation, value: str, known: tuple[str, ...], data: Mapping[str, Any]
) -> Finding:
    """Report a word: one that ftc does not support, of another field, or a misspelt one."""
    pattern = _long_pattern(violation, data)
    unsupported = read_unsupported()["values"].get(pattern, {})
    exact = find_alike(value, unsupported) or find_word_in(value, unsupported)
    if exact is not None:
        return _unsupported_word(violation, pattern, exact, data)
    is_alike = find_alike(value, known) is not None
    if find_stated(value, _named(violation, data)) in known or (is_switch(value) and not is_alike):
        return _misspelt_word(violation, None, known, data)
    if not is_alike and (other := _of_sibling(violation, data)) is not None:
        return other
    meant = nearest(value, (*known, *unsupported), _customary(violation, pattern))
    if meant is not None and meant in unsupported and not is_slip(value, meant):
        meant = nearest(value, known, _customary(violation, pattern))
    if meant is not None and meant in unsupported:
        return _unsupported_word(violation, pattern, meant, data)
    return _misspelt_word(violation, meant, (*known, *unsupported), data)


def _customary(violation: Violation, pattern: str) -> tuple[str, ...]:
    """Return the words that the field's default and examples use, the default first."""
    field = fields_by_pointer().get(pattern.removesuffix("/*"))
    said: list[str] = []
    for schema in (violation.field, *([field.schema] if field else ())):
        for value in (schema.get("default"), *schema.get("examples", ())):
            items = value if isinstance(value, list) else [value]
            said += [item for item in items if isinstance(item, str)]
    return tuple(said)


def _unsupported_word(
    violation: Violation, pattern: str, meant: str, data: Mapping[str, Any]
) -> Finding:
    """Report a word that is no value of the field: what does the same, or why ftc has none.

    The fix leaves out what ftc does by itself.
    """
    exact = find_alike(violation.value, (meant,)) is not None
    table = read_unsupported()
    advice = table["values"][pattern][meant]
    beside = any(find_alike(each, words_of(violation.field)) for each in _beside(violation, data))
    needless = table["needless" if not beside else "needless_beside"].get(pattern, ())
    remove = {"op": "remove", "path": violation.pointer}
    return UNSUPPORTED_VALUE.finding(
        pointer=violation.pointer,
        fix=(remove,) if exact and advice in needless else (),
        message="" if exact else "meant",
        help="" if exact else "meant",
        name=violation.name,
        value=quote(violation.value),
        meant=meant,
        advice=Message(advise_against(pattern, meant)),
    )


def _beside(violation: Violation, data: Mapping[str, Any]) -> list[str]:
    """Return the texts of the list that a value is in."""
    *above, last = violation.parts
    held: Any = data
    for part in above:
        held = held[part]
    return [each for each in held if isinstance(each, str)] if isinstance(last, int) else []


def _misspelt_word(
    violation: Violation, meant: str | None, known: tuple[str, ...], data: Mapping[str, Any]
) -> Finding:
    value = violation.value
    found = None
    if meant is not None and is_certain(value, meant, known):
        beside = find_others(value, _named(violation, data), _others(violation, data)) or {}
        safety: Safety = "unsafe" if beside else "safe"
        found = Repair(value=meant, help="near", safety=safety, beside=beside)
    else:
        found = _find_repair(violation, data)
        is_guess = meant is not None and is_likely(value, meant, known)
        if is_guess and (found is None or found.safety == "unsafe"):
            found = Repair(value=meant, help="near", safety="unsafe")
    some = find_candidates(value, _named(violation, data)) or _listed_words(violation)
    if some and (found is None or found.safety == "unsafe" or len(some) > 1):
        found, meant = None, None
    help_ = help_of(found) if found else "near" if meant else "some" if some else ""
    finding = UNKNOWN_VALUE.finding(
        help=help_,
        pointer=violation.pointer,
        fix=_replace_word(violation, data, found),
        name=violation.name,
        value=quote(value),
        meant=some if help_ == "some" else found.shown if found else meant or "",
        expected=_expectation(violation, data),
        pairs=pairs_of(_long_pattern(violation, data), found),
    )
    return replace(finding, fix_safety=found.safety) if found else finding


def _listed_words(violation: Violation) -> tuple[str, ...]:
    """Return the field's words in a text, if there are several."""
    words = words_of(violation.field)
    said = (find_alike(part, words) for part in split_words(violation.value))
    found = tuple(dict.fromkeys(word for word in said if word is not None))
    return found if len(found) > 1 else ()


def _of_sibling(violation: Violation, data: Mapping[str, Any]) -> Finding | None:
    """Report a word of another field of the section: `alpaca` is a form of rows, not a format."""
    name, *inside = split(_long_pattern(violation, data))
    form = object_form(read_schema()["properties"].get(name, {}))
    section = lengthen(name, data.get(name))
    if form is None or not isinstance(section, Mapping) or inside[1:] not in ([], ["*"]):
        return None
    if inside[0] not in form["properties"]:
        return None
    if (found := find_sibling(violation.value, inside[0], section, form)) is None:
        return None
    field, word = found
    place = join([name, inside[0], *(part for part in violation.parts if isinstance(part, int))])
    steps: list[dict[str, Any]] = []
    if not isinstance(data[name], Mapping):
        steps.append({"op": "replace", "path": join([name]), "value": dict(section)})
    readers = form["properties"][field].get("x-when", {}).get(place, ())
    if len(readers) == 1:  # only this value of the field reads the other one
        steps.append({"op": "replace", "path": place, "value": readers[0]})
    else:
        steps.append({"op": "remove", "path": place})
    steps.append({"op": "add", "path": join([name, field]), "value": word})
    return UNKNOWN_VALUE.finding(
        help="field",
        pointer=violation.pointer,
        fix=tuple(steps),
        name=violation.name,
        value=quote(violation.value),
        field=f"{name}.{field}",
        meant=Repair(value=word, help="").shown,
    )


def _expectation(violation: Violation, data: Mapping[str, Any]) -> Message:
    """Return what the field takes; if it takes many words, say which command lists them."""
    count = len(words_of(violation.field))
    if count <= _MOST_WORDS:
        return expectation(violation.field)
    name = _long_pattern(violation, data)[1:].removesuffix("/*").replace("/", ".")
    return Message("phrase.one_of_words", {"count": count, "field": name})


def _long_pattern(violation: Violation, data: Mapping[str, Any]) -> str:
    """Return the value's pointer in the long form, `*` for an index of a list."""
    section, *rest = violation.parts
    short = read_schema()["properties"][section].get("x-short")
    if short and not isinstance(data[str(section)], Mapping):
        rest = [short, *rest]
    return join([section, *("*" if isinstance(part, int) else part for part in rest)])


def _named(violation: Violation, data: Mapping[str, Any]) -> Schema:
    """Return the schema of the field itself, where the value is the short form of a section."""
    field = fields_by_pointer().get(_long_pattern(violation, data).removesuffix("/*"))
    return field.schema if field else violation.field


def _out_of_range(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Report a number that is too small or too large; -1 stands for no limit in other tools."""
    field = violation.field
    is_none = violation.value == -1 and field.get("default", 0) is None and is_valid(None, field)
    counted = find_counted(violation.value, field, data)
    meant = counted.repair if counted else None
    fix = _replace(violation.pointer, meant.value if meant else None)
    finding = OUT_OF_RANGE.finding(
        help="none" if is_none else meant.help if meant else counted.whole if counted else "",
        pointer=violation.pointer,
        fix=({"op": "remove", "path": violation.pointer},) if is_none else fix,
        name=violation.name,
        value=quote(violation.value),
        expected=expectation(violation.field),
        count=counted.count if counted else 0,
        meant=meant.shown if meant else "",
    )
    yield replace(finding, fix_safety=meant.safety) if meant else finding


def _malformed_text(violation: Violation, _: Mapping[str, Any]) -> Iterator[Finding]:
    pointer, schema = violation.pointer, violation.schema
    example = _find_example(violation)
    advice = "" if example else "other"
    better = None
    repository = find_repository(violation.value)
    if repository is not None and is_valid(repository, violation.field):
        advice, better = "address", repository
    elif (code := _coded(violation)) is not None:
        advice, better = "code", code.value
    elif violation.parts[0] == "hardware" and _COUNT.match(violation.value):
        advice = "count"
    elif violation.keyword == "maxLength":
        advice = "long"
    elif pointer == "/name":
        advice = "name"
        better = re.sub(r"[^a-z0-9]+", "-", violation.value.lower())[:63].strip("-")
    yield MALFORMED_TEXT.finding(
        help=advice,
        pointer=pointer,
        fix=_replace(pointer, better or None),
        name=violation.name,
        value=quote(violation.value),
        example=quote(example),
        meant=better or "",
        most=schema.get("maxLength", 0),
    )


def _coded(violation: Violation) -> Repair | None:
    """Return the code of a rule that the text or the number in a list of codes means."""
    code = find_code(violation.value) if violation.parts[:1] == ("allow",) else None
    return Repair(value=code, help="near") if code is not None else None


def _find_example(violation: Violation) -> Any:
    """Return an example of the field; of an item, the first one in an example of its list."""
    examples = violation.field.get("examples", ())
    *above, last = violation.parts
    if not examples and isinstance(last, int):
        field = fields_by_pointer().get(join(above))
        examples = field.schema.get("examples", ((),))[0] if field is not None else ()
    return next(iter(examples), None)


def _malformed_list(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    fix: list[dict[str, Any]] = []
    if violation.keyword == "uniqueItems":
        what, advice = "twice", "twice"
        items = [json.dumps(item, sort_keys=True) for item in violation.value]
        again = (place for place, item in enumerate(items) if item in items[:place])
        fix = [{"op": "remove", "path": join((*violation.parts, place))} for place in again][::-1]
    elif violation.keyword == "minProperties":
        what, advice = "empty", ""
    elif violation.keyword == "minItems":
        what, advice = "empty_list", ""
    else:
        what, advice = "", "long"
    yield MALFORMED_LIST.finding(
        message=what,
        help=advice,
        pointer=violation.pointer,
        fix=tuple(fix),
        name=violation.name,
        count=len(violation.value),
        most=violation.schema.get("maxItems", 0),
        expected=_expectation(violation, data),
    )


def _closed(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    return unknown_keys(data, violation.pointer, violation.value, violation.schema)


def _required(violation: Violation, _: Mapping[str, Any]) -> Iterator[Finding]:
    return missing_keys(violation.pointer, violation.value, violation.schema)


def _find_repair(violation: Violation, data: Mapping[str, Any]) -> Repair | None:
    """Return the repair of a value, with what its text says of the other fields of its section."""
    named = _named(violation, data)
    return find_repair(violation.value, violation.field, named, others=_others(violation, data))


def _others(violation: Violation, data: Mapping[str, Any]) -> Mapping[str, Schema]:
    """Return the fields beside the one of a value, without those that the spec sets."""
    held: Any = data
    for part in violation.parts[:-1]:
        held = held[part]
    beside = find_siblings(_long_pattern(violation, data))
    return {name: schema for name, schema in beside.items() if name not in held}


def _write(
    violation: Violation, data: Mapping[str, Any], repair: Repair | None
) -> tuple[dict[str, Any], ...]:
    """Return the fix that writes a repair, and beside it what its text says of other fields."""
    if repair is None:
        return ()
    *above, name = split(_long_pattern(violation, data))
    if repair.beside and violation.parts == tuple(above):  # the short form of a section
        section = {name: repair.value, **repair.beside}
        return ({"op": "replace", "path": violation.pointer, "value": section},)
    held: Any = data
    for part in violation.parts[:-1]:
        held = held[part]
    return (
        {"op": "replace", "path": violation.pointer, "value": repair.value},
        *(
            {"op": "add", "path": f"{parent(violation.pointer)}/{other}", "value": value}
            for other, value in repair.beside.items()
            if other not in held
        ),
    )


def _replace_word(
    violation: Violation, data: Mapping[str, Any], repair: Repair | None
) -> tuple[dict[str, Any], ...]:
    """Return the fix that writes a word; an item of a list that holds the word is removed."""
    *above, last = violation.parts
    held: Any = data
    for part in above:
        held = held[part]
    if isinstance(last, int) and repair is not None and repair.value in held:
        return ({"op": "remove", "path": violation.pointer},)
    return _write(violation, data, repair)


def _replace(pointer: str, value: Any) -> tuple[dict[str, Any], ...]:
    return () if value is None else ({"op": "replace", "path": pointer, "value": value},)


_Translation = Callable[[Violation, Mapping[str, Any]], Iterator[Finding]]
_TRANSLATIONS: Final[Mapping[str, _Translation]] = {
    "type": _wrong_type,
    "additionalProperties": _closed,
    "required": _required,
    "anyOf": _unknown_word,
    "enum": _unknown_word,
    "const": _unknown_word,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "exclusiveMinimum": _out_of_range,
    "exclusiveMaximum": _out_of_range,
    "minLength": _malformed_text,
    "maxLength": _malformed_text,
    "pattern": _malformed_text,
    "minItems": _malformed_list,
    "minProperties": _malformed_list,
    "maxItems": _malformed_list,
    "uniqueItems": _malformed_list,
}
