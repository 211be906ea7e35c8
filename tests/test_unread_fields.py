"""A field is refused as unread exactly where plan, findings and files do not depend on it."""

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.compilation import Compilation
from ftc.compiler.knowledge.objectives import OBJECTIVES, has_teacher
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.load import load_document
from ftc.spec.normal import normalise
from ftc.spec.pointer import dotted, split
from ftc.spec.schema import Field, fields, find_field, find_unmet
from ftc.spec.text.document import Document
from ftc.spec.validate import to_spec, validate
from ftc.spec.values.expectation import words_of
from ftc.spec.values.verdict import is_valid
from tests.test_properties import BASE, FLIPS, READ_AT_RUN, TOLD, put, write_folder

FORMS: Final = {
    "cpt": "stories.csv",
    "dpo": "pairs.csv",
    "orpo": "pairs.csv",
    "cpo": "pairs.csv",
    "simpo": "pairs.csv",
    "reward": "pairs.csv",
    "kto": "verdicts.csv",
}
SAMPLED: Final = frozenset(name for name, each in OBJECTIVES.items() if each.rewards)
#: Where the value of `FLIPS` is the one that is planned.
OTHER_FLIPS: Final = {
    ("training.evaluation.metric", objective): "rouge_l"
    for objective in ("dpo", "kto", "orpo", "cpo", "simpo")
}
#: Fields that share a name with a decision about something else: how long test answers may be.
NAMESAKES: Final = {"objective.answer_tokens"}


#: The teacher is read as a whole, its own fields have no condition, and "auto" names a model.
_TEACHER: Final = "objective.teacher"
_FLIPS: Final[Mapping[str, Any]] = {**FLIPS, _TEACHER: ("./experts", {})}


#: How many words of each kind, read and refused, `make prove` tries of a field and its condition.
_TRIED: Final = 2


def _choices() -> Iterator[tuple[Field, str, str, bool]]:
    """Yield each conditional field with each word of each field that it depends on.

    The last value tells the words that `make prove` tries: of those that read the field and of
    those that refuse it, two that move on from field to field, so that every word has its turn.
    """
    for number, field in enumerate(fields()):
        for pointer, read in field.schema.get("x-when", {}).items():
            words = [word for word in words_of(find_field(pointer).schema) if word != "auto"]
            for kind in (True, False):
                chosen = [word for word in words if (word in read) == kind]
                for place, word in enumerate(chosen):
                    yield field, pointer, word, (place - number) % len(chosen) < _TRIED


CHOICES: Final = [
    pytest.param(
        field,
        pointer,
        word,
        id=f"{field.name} {dotted(pointer)}={word}",
        marks=[pytest.mark.prove if tried else pytest.mark.prove_all],
    )
    for field, pointer, word, tried in _choices()
    if field.name not in READ_AT_RUN
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which these tests compile their specs."""
    return write_folder(tmp_path_factory.mktemp("unread"))


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    """Return what looks up the facts of all specs once."""
    return Resolver()


def _spec(field: Field, pointer: str, word: str) -> dict[str, Any]:
    """Return a spec in which the condition has this word, and all else that the field needs."""
    spec = dict(BASE)
    for name, also in _FLIPS[field.name][1].items():
        spec = put(spec, name, also)
    spec = put(spec, dotted(pointer), word)
    if pointer == "/objective/type":
        spec = put(spec, "data.source", FORMS.get(word, "tickets.csv"))
        if has_teacher(word):
            spec = put(spec, "objective.teacher.id", "./model-2")
        if word in SAMPLED:
            spec = put(spec, "objective.rewards", [{"regex": "[a-z]"}])
    return spec


def _meaning(folder: Path, data: Mapping[str, Any], resolver: Resolver) -> Mapping[str, Any]:
    """Return what came of a spec, the judgement of the schema left out."""
    key, path = f"meaning {json.dumps(data)}", folder / "unread.json"
    return resolver.once(key, lambda: _compile(path, data, resolver))  # type: ignore[no-any-return]


def _compile(path: Path, data: Mapping[str, Any], resolver: Resolver) -> Mapping[str, Any]:
    path.write_text(json.dumps(data), encoding="utf-8")
    document = load_document(str(path))
    assert isinstance(document, Document)
    compilation = Compilation(document, to_spec(document.data), resolver=resolver)
    said = [(finding.code, finding.message) for finding in compilation.findings]
    files = {file.name: file.text for file in compilation.files if file.name not in TOLD}
    files["plan.json"] = _without_hash(files["plan.json"])
    assert compilation.plan is not None
    decided = compilation.plan.decisions.items()
    values = {name: decision.value for name, decision in decided.items()}
    reasons = {decision.because.values.get("field") for decision in decided.values()}
    return {"said": said, "files": files, "decided": values, "reasons": reasons}


def _without_hash(text: str) -> str:
    """Return a plan without the hash of the whole spec, which every field changes."""
    plan = json.loads(text)
    del plan["report"]["hashes"]["the spec"]
    return json.dumps(plan)


def _unmet(field: Field, spec: Mapping[str, Any]) -> bool:
    long = normalise(spec)
    return any(find_unmet(field.schema, lambda place: reduce(getitem, split(place), long)))


@pytest.mark.parametrize(("field", "pointer", "word"), CHOICES)
def test_a_field_is_refused_where_nothing_reads_it(
    folder: Path, resolver: Resolver, field: Field, pointer: str, word: str
) -> None:
    """Compiled with the field and without it, past the schema's own judgement.

    Where it is refused, no reason in a plan or a file names the field either.
    """
    spec = _spec(field, pointer, word)
    flipped = put(spec, field.name, OTHER_FLIPS.get((field.name, word), _FLIPS[field.name][0]))
    refused = _unmet(field, flipped)

    before, after = _meaning(folder, spec, resolver), _meaning(folder, flipped, resolver)

    assert (before != after) != refused
    if refused:
        assert field.name not in before["reasons"]


@pytest.mark.parametrize(("field", "pointer", "word"), CHOICES)
def test_the_planned_value_is_never_refused(
    folder: Path, resolver: Resolver, field: Field, pointer: str, word: str
) -> None:
    """A spec may say what the plan decides anyway."""
    spec = _spec(field, pointer, word)
    if not _unmet(field, spec):
        pytest.skip("the field is read")
    last = field.name.rpartition(".")[2]
    decided = _meaning(folder, spec, resolver)["decided"]
    named = () if field.name in NAMESAKES else (last, f"lora_{last}")
    values = [decided[name] for name in named if decided.get(name) is not None]
    for value in [*values, None, *(["auto"] if field.name != _TEACHER else []), False, []]:
        if is_valid(value, field.schema):
            path = folder / "planned.json"
            path.write_text(json.dumps(put(spec, field.name, value)), encoding="utf-8")
            document = load_document(str(path))
            assert isinstance(document, Document)
            found = validate(document)
            judged = found if isinstance(found, tuple) else ()
            assert field.pointer not in {each.pointer for each in judged}, (value, judged)
