"""Reads models: a Hub id, a folder, or an informal name of a known model ("llama 3.1 8b")."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import (
    BASE,
    CLOSED,
    FAMILIES,
    PART,
    TUNED,
    choose_nearest,
    find_fitting,
    names_a_family,
    words_of,
)
from ftc.compiler.knowledge.well_known.models import Model, all_models, find_model
from ftc.spec.schema import choices, fields, find_field
from ftc.tui.understanding.machines.chips import is_chip
from ftc.tui.understanding.models.forms import UNTUNED_AFTER, read_form
from ftc.tui.understanding.models.own_names import find_own_names
from ftc.tui.understanding.reading import UNSURE, Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import CORRECTING, WORDS, any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, fold
from ftc.tui.understanding.text.ordinary import is_ordinary

_ID: Final = re.compile(r"(?<![\w./\\-])[a-z0-9][\w.-]*/[\w][\w.-]*[\w](?![\w/\\-])")
_FOLDER: Final = re.compile(
    r"(?:(?<=model )|(?<=model in )|(?<=model at )|(?<=model a )|(?<=modelo )|(?<=modelo en )"
    r"|(?<=model de ))(?:\.{0,2}/|~/|[a-z]:\\)\S+[^\s.,;:!?]"
    r"|(?<![\w/])(?:\.{1,2}/|~/)[^\s,;]+[^\s.,;:!?]"
)
_DATA_BEFORE: Final = re.compile(
    r"(?:data ?set|data|dades|conjunt|datos|dataset de)\s*(?:=|:|is|from|on|de|del|en)?\s*$"
)
_DATA_AROUND: Final = re.compile(
    r"\b(?:data ?sets?|data|corpus|rows|dades|datos|conjunt|conjunto|filas|files"
    r"|(?:public|open|hub|free|ready-made) sets?|splits?|subsets?|particio|particion|subconj\w+"
    r"|config(?:uration|uracio|uracion)?)\b"
)
#: "owner/name on tickets.csv": the file, which has already been read, is the data.
_ON_DATA: Final = re.compile(r"\s*(?:on|with|using|amb|con|en|sobre)\s+\x00")
#: "push it to", "súbelo a", "que es publiqui com a": the repository of the result follows.
_PUBLISHED: Final = re.compile(
    rf"\b(?:{any_of(WORDS['publish'])}|private(?:ly)?|privat|privado)\b(?:[^.;,!?\n]{{0,48}}"
    r"(?:, (?:under|as|at|com a?|como|a|en|sota|bajo) )?"
    r"|[^.;!?\n]{0,90}[\s,](?:to|under|as|at|com a?|como|al?|en|sota|bajo)"
    r" (?:(?:the|my|our|el|la|mi|nuestro) )?(?:repo\w* )?"
    # "we publish it. On the hub, as"
    r"|[^;!?\n]{0,60}[.:] [^.;!?\n]{0,12}\b(?:hub|hugging ?face|hf)\b,?"
    r" (?:under|as|at|com a?|como|al?|en|sota|bajo) )$"
)
_REPOSITORY: Final = "/publish/repo"
_MODEL_BEFORE: Final = re.compile(
    r"\b(?:models?|modelos?|base|checkpoint|tune|tuning|afina\w*|entrena\w*|ajusta\w*)"
    r"\s*(?:=|:|is|to|a|es|on|de|the|el)?\s*$"
)
#: "deepseek r1 destilado de qwen 7b" is one name.
_WORD_OF_DISTILLED: Final = re.compile(r"^d[ei]st?il\w*$")
_DISTILLED_FROM: Final = frozenset({"into", "to", "from", "on", "a", "al", "sobre"})
_DISTILLED_INTO: Final = re.compile(
    r"\s+(?:(?:in)?to|from|on|of|del?|d'|en|al?|sobre|amb|con)\s*(?:the |el |un )?"
)
#: Words that may be between the words of a name: "qwen2.5, but the coder of 1.5B".
_LINKING: Final = frozenset(
    {"de", "of", "del", "but", "pero", "the", "el", "la", "l", "in", "its", "en", "su", "version",
     "versio", "d", "model", "modelo"}
)  # fmt: skip
#: Words before a size alone: "whatever qwen 2.5 has at 3b".
_SIZING: Final = frozenset({"has", "have", "at", "with", "tenga", "tiene", "tingui", "amb", "con"})
_SPLIT: Final = re.compile(rf"[\s\-_]*|/|,?\s+(?:(?:{'|'.join(sorted(_LINKING))})[\s']+)+")
_SPLIT_SIZE: Final = re.compile(
    rf"\s+(?:(?:{'|'.join(sorted(_LINKING | _SIZING))})[\s']+)+(?=\d+(?:\.\d+)?[bm]\b)"
)
#: A size beside the name ("the small one, 2b") distinguishes models with the same name.
_SIZE: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?[bm]\b")
#: "the 3b llama": the size before the name.
_SIZED_BEFORE: Final = re.compile(
    r"(?<![\w.])(?P<size>\d+(?:\.\d+)?[bm])\s+(?:version of )?(?:the )?$"
)
#: "qwen 7b, no sorry, the 14b".
_RESIZED: Final = re.compile(
    CORRECTING
    + r"(?:the |el |la |l'|de |del )*(?P<size>\d+(?:\.\d+)?[bm])(?: one)?(?=\s*(?:$|[.,;!)]))"
)
#: "the 14", "el de 14": a size, if the draft's family has it.
_BARE_SIZE: Final = re.compile(
    r"\b(?:the|el|l') ?(?:de |del )?(?P<size>\d{1,3}(?:\.\d+)?)"
    r"(?=\s*(?:$|[.,;!?]|\b(?:not|no|i|y|and)\b))"
)
#: At most three words of the clause precede it.
_BEFORE_SIZE: Final = re.compile(r"(?:^|[,.;:!?\n\x00])\s*(?:[^\s,.;:!?]+\s+){0,3}$")
#: Spanish says "se llama" for "is called".
_IS_CALLED: Final = re.compile(r"\b(?:se|me|te|lo|la) $")
_PROGRAM: Final = re.compile(r"llama\.?cpp\b")
#: The teacher model: "distil from ...", "teacher: ...".
_TEACHES: Final = r"(?:teacher|professor|profe(?:sor)?|mestre|maestr[oa])"
_TEACHER_BEFORE: Final = re.compile(
    r"(?:\b(?:d[ei]st?il\S*|gkd|kd)(?: \w+){0,2}? (?:from|of|del?|d'un|des de|desde)"
    rf"|\b{_TEACHES}(?: model|,? que| sera| es| is| sigui| sea| should be| will be)*\s*[:=]?"
    # "the teacher isn't the 14B, it's ..."
    rf"|\b{_TEACHES} (?:isn'?t|is not|no (?:es|sera|sigui|sea)) [^,;.:]{{1,30}},?"
    r" (?:it'?s|it is|but|sino|es)(?: que)?)"
    r"(?: (?:the|a|an|el|la|un|una))?(?: big| gran| grande)?\s*$"
)
_STUDENT_BEFORE: Final = re.compile(
    r"\b(?:student|pupil|learner|alumn[aeo]|estudiante?|deixeble|aprendiz)"
    r"(?: model| sera| es| is| sigui| sea| should be| will be)*\s*[:=]?"
    r"(?: (?:the|an?|el|la|una?))?\s*$"
)
_TEACHER_AFTER: Final = re.compile(
    r"[\s,]*(?:\([^()\n]{1,30}\)\s*)?"
    r"(?:(?:to|should|will|must|shall|can|ha de|que|tiene que|debe) )?"
    r"(?:as|is|be|act as|com a|como|es|de|sera|sigui|sea|ser"
    r"|(?:fa|faci|fent|fer|hace|haga|haciendo|hacer) (?:de|com a|como))(?: (?:the|a|el|un))? "
    rf"{_TEACHES}\b|\s*[(\[,]\s*(?:the |el )?{_TEACHES}\b"
)
#: Another size of the teacher's family: "the tiny half-billion one", "el de 0.5B".
_SIZE_OF_STUDENT: Final = re.compile(
    r"(?<![\w.])(?:(?P<size>\d+(?:\.\d+)?[bm])\b|half[- ](?:an? )?billion|mig miliard)"
)
_SMALLEST: Final = re.compile(rf"\b{any_of(WORDS['smallest'])}\b")
_LARGEST: Final = re.compile(rf"\b{any_of(WORDS['largest'])}\b")
#: "distil qwen3 32b down into qwen3 1.7b".
_DISTILS: Final = re.compile(r"\bd[ei]st?il\S*(?:\s+(?:the|el|la))?\s*$")
#: "destilar qwen3 32b en qwen3 1.7b": the two names are not one name.
_DISTILLED: Final = re.compile(r"\b(?:d[ei]st?il\S*|kd(?![\w-]))")
_INTO: Final = re.compile(
    r"\s*(?:(?:down |cap )?(?:into|in|to|a|al|en|dins(?: de)?|hacia)\s+|(?:->|=>|\u2192)\s*)"
    r"(?:(?:the|an?|el|la|un|una)\s+)?\w"
)
_TEACHER: Final = "/objective/teacher/id"
_TEACHER_WIDTH: Final = "/objective/teacher/quantization"
#: "(teacher, in nf4) -> student".
_JOINED: Final = re.compile(
    rf"[\s)]*(?:\(\s*(?:the |el )?{_TEACHES}\s*,?)?"
    r"\s*(?:[(\[,]?\s*(?:in |en |a |at )?(?P<rounded>nf4|4[ -]?bits?)\s*[)\],]?)?[\s)]*"
    r"(?:->|=>|\u2192|>|(?:down )?(?:into|to)|cap a|hacia|a|al|en)\s*(?:the |el |la )?[(\[]?"
)
_BASE_BEFORE: Final = re.compile(r"\bbase (?:(?:model|version) )?(?:of |de |del )?(?:the )?$")
_BASE_AFTER: Final = re.compile(r"\s*[(,]?\s*(?:the )?base\b")
_MOST_CHOICES: Final = 6
_POINTER: Final = "/model/id"
#: "2/hour", "24/7" and modules such as "gcc/13.2" are not ids.
_AMOUNT: Final = re.compile(
    r"\$?\d[\d.,]*(?:/.*)|.*/v?\d+(?:\.\d+)*|\w+/(?:h|hora?|hour|day|dia|month|mes)", re.IGNORECASE
)
#: "4 gpus/node", "prefix query/passage": a rate or two names, and not an id.
_PER: Final = re.compile(
    r"(?:train|val(?:id)?|validation|test|dev|eval)(?:/(?:train|val(?:id)?|validation|test|dev|eval))+"
    r"|[a-z]+/(?:nodes?|gpus?|devices?|prompts?|rows?|steps?|epochs?|quer(?:y|ies)|passages?|docs?"
    r"|documents?|answers?|responses?|labels?|scores?|hours?|nodos?|filas?|files?|passos|pasos)"
)
_TOKENIZER: Final = re.compile(r"\b(?:tokeni[sz]er|tokeni[tz]ador)\b[^.;,!?\n]{0,20}$")
_NUMBER_OF: Final = re.compile(
    r"\d{1,3}\s?[x\u00d7]?\s?(?:(?:nvidia|geforce|tesla|rtx|gtx|quadro)[ -]?)?(?P<card>\w+)"
)
#: The number before the word is a count of cards.
_COUNT: Final = re.compile(r"\s?[x\u00d7]\s?(?:[a-z]+[ -]?)?\d")

#: Options that only data has, right after a Hub id: "acme/web cfg=es", "acme/web:train_sft".
_DATA_BEHIND: Final = re.compile(
    r"\s?:(?:train|test|val|dev|eval)|[\s,(]+(?:(?:en|in|amb|con|with) )?"
    r"(?:split|sub-?set|cfg|config|streaming|max_rows)\b"
)


def read_models(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the models of a message; in a distillation of two models, the first is the teacher."""
    distils = _DISTILLED.search(message.plain) is not None
    written = message.plain
    found = list(_read_models(message, draft))
    told = [each for each in found if each.pointer == _POINTER and isinstance(each, Change)]
    told.sort(key=lambda each: written.find(fold(each.words)))
    between = None
    if distils and len(told) == 2:  # noqa: PLR2004
        start = written.find(fold(told[0].words)) + len(told[0].words)
        between = _JOINED.fullmatch(written, start, written.find(fold(told[1].words)))
    for each in found:
        yield replace(each, pointer=_TEACHER) if between and each is told[0] else each
    teacher = next((each for each in found if each.pointer == _TEACHER), None)
    if isinstance(teacher, Change) and not told:
        yield from _read_student(message, teacher.value)
    if between and between["rounded"]:
        yield Change(pointer=_TEACHER_WIDTH, value="nf4", words=between["rounded"])
        message.cross_out(*between.span("rounded"))


def _read_models(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the model that the message names, or the models that its words match.

    The instruction-tuned variant of a model is meant unless the message says "base". A size alone
    ("the 14B, not the 7B") means the draft's model in that size. For a closed model, ftc asks.
    """
    yield from _read_ids(message, draft)
    for match in message.take(_FOLDER):
        words = message.words(*match.span())
        yield Change(pointer=_POINTER, value=words, words=words)
    for match in message.take(CLOSED):
        if not message.denied(match.start()):
            words = message.words(*match.span())
            yield Choice(pointer=_POINTER, values=(), words=words, why="closed_model")
    own = list(_read_own_names(message))
    yield from own
    named = bool(own)
    while (found := _find_name(message)) is not None:
        named = True
        start, end, models, exact = found
        if (sized := _RESIZED.match(message.folded, end)) is not None:
            said = [
                part for part in PART.findall(message.folded[start:end]) if part[-1] not in "bm"
            ]
            if other := find_fitting([*said, sized["size"]]):
                models, exact, end = (
                    choose_nearest(other, [*said, sized["size"]]),
                    True,
                    sized.end(),
                )
        words = message.words(start, end)
        denied = message.denied(start, end)
        pointer = _taught_by(message, start, end)
        message.cross_out(start, end)
        if denied:
            continue
        models = _of_extreme_size(message, _of_other_size(message, models, draft))
        if len(models) == 1 and exact:
            yield Change(pointer=pointer, value=models[0].id, words=words)
        else:
            values = tuple(model.id for model in models[:_MOST_CHOICES])
            yield Choice(pointer=pointer, values=values, words=words)
    if not named:
        yield from _read_size(message, draft)
        yield from read_form(message, draft)


def _of_extreme_size(message: Message, models: tuple[Model, ...]) -> tuple[Model, ...]:
    """Return the smallest or the largest of several models if the message asks for it."""
    if len(models) > 1 and _SMALLEST.search(message.folded):
        return (min(models, key=lambda model: model.shape.parameters),)
    if len(models) > 1 and _LARGEST.search(message.folded):
        return (max(models, key=lambda model: model.shape.parameters),)
    return models


def _of_other_size(
    message: Message, models: tuple[Model, ...], draft: Mapping[str, Any]
) -> tuple[Model, ...]:
    """Return the models in the one size that the message mentions separately from the name.

    "The 7B is too big, rather the 1.5B of the same Qwen 2.5": the draft's own size is not meant.
    """
    if len(models) < 2:  # noqa: PLR2004
        return models
    now = words_of(str(value_at(draft, _POINTER) or ""))
    sizes = {
        match[0]
        for match in _SIZE.finditer(message.plain)
        if match[0] not in now and not message.denied(*match.span())
    }
    fits = tuple(model for model in models if sizes & words_of(model.id))
    return fits if len(sizes) == 1 and fits else models


def _read_student(message: Message, teacher: str) -> Iterator[Change]:
    """Yield the model of the teacher's family in another size that the message names."""
    own = words_of(teacher)
    for match in message.take(_SIZE_OF_STUDENT):
        size = match["size"] or "0.5b"
        if size in own:
            continue
        wanted = {word for word in own if not _SIZE.fullmatch(word)} | {size}
        same = [model for model in all_models() if words_of(model.id) == wanted]
        if len(same) == 1 and not message.denied(match.start()):
            yield Change(pointer=_POINTER, value=same[0].id, words=message.words(*match.span()))
            return


def _taught_by(message: Message, start: int, end: int) -> str:
    """Return the field of a model, which is the teacher's if the words beside it say so."""
    before = _TEACHER_BEFORE.search(message.plain[:start])
    if _STUDENT_BEFORE.search(message.folded[:start]):
        return _POINTER
    after = _TEACHER_AFTER.match(message.plain, end)
    into = _DISTILS.search(message.folded[:start]) and _INTO.match(message.folded, end)
    return _TEACHER if before or after or into else _POINTER


def _read_size(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the draft's model in another size, if the message names only a size."""
    section = draft.get("model")
    now = find_model(str(section.get("id"))) if isinstance(section, Mapping) else None
    if now is None:
        return
    own = words_of(now.id)
    for match in (*message.take(_SIZE), *message.take(_BARE_SIZE)):
        if match.re is _BARE_SIZE and not _BEFORE_SIZE.search(message.folded[: match.start()]):
            continue  # "I planted it on the 14"
        size = match[0] if match.re is _SIZE else f"{match['size']}b"
        if message.denied(match.start(), match.end()) or size in own:
            continue
        wanted = {word for word in own if not _SIZE.fullmatch(word)} | {size}
        models = [model for model in all_models() if words_of(model.id) == wanted]
        models = models or [
            model
            for model in all_models()
            if wanted - TUNED - BASE <= words_of(model.id) and model.kind == now.kind
        ]
        if not models and match.re is _BARE_SIZE:
            continue
        words = message.words(*match.span())
        if len(models) == 1:
            yield Change(pointer=_POINTER, value=models[0].id, words=words)
        else:
            values = tuple(model.id for model in models[:_MOST_CHOICES])
            yield Choice(pointer=_POINTER, values=values, words=words)
        return


def _read_ids(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the Hub ids; an unknown id is a data set if the words say so.

    Without such words, and without the name of a model family in it, ftc asks.
    """
    for match in list(_ID.finditer(message.folded)):
        words = message.words(*match.span())
        if _AMOUNT.fullmatch(words) or _PER.fullmatch(match[0]):
            continue
        if _are_values(match[0]) or _TOKENIZER.search(message.folded[: match.start()]):
            continue  # "dpo/apo_zero", "its tokenizer from acme/tok"
        clause = message.folded[slice(*find_around(SENTENCE_END, message.folded, match.span()))]
        before = message.folded[: match.start()]
        denied = message.denied(match.start())
        on_data = _ON_DATA.match(message.folded, match.end()) is not None
        model_said = on_data or _MODEL_BEFORE.search(before) is not None
        taught = _taught_by(message, *match.span())
        message.cross_out(*match.span())
        known = find_model(words)
        if denied:
            continue
        if known is not None:
            yield Change(pointer=taught, value=known.id, words=words)
        elif (verb := _PUBLISHED.search(before)) is not None:
            said = message.words(verb.start(), match.end())
            message.cross_out(verb.start(), match.start())
            yield Change(pointer=_REPOSITORY, value=words, words=said)
        elif (
            _DATA_BEHIND.match(message.folded, match.end())
            or _DATA_BEFORE.search(before)
            or (_DATA_AROUND.search(f"{before.rpartition('. ')[2]} {clause}") and not model_said)
        ):
            yield Change(pointer="/data/source", value=words, words=words)
        elif model_said or FAMILIES & set(re.findall("[a-z]+", match[0])):
            yield Change(pointer=_POINTER, value=words, words=words)
        else:
            has_model = draft.get("model") is not None or names_a_family(message.plain)
            other = names_a_family(message.plain.replace(match[0], " "))
            if other and draft.get("data") is None:
                yield Change(pointer="/data/source", value=words, words=words)
                continue
            pointer = "/data/source" if has_model and draft.get("data") is None else _POINTER
            yield Choice(pointer=pointer, values=(words,), words=words, why=UNSURE)


def _are_values(words: str) -> bool:
    """Return whether words joined by a slash name an objective or roles, or are ordinary.

    "dpo/apo_zero", "chosen/rejected" and "before/after" are not ids.
    """
    parts = words.split("/")
    named = any(part in _objectives() for part in parts) or set(parts) <= _roles()
    return named or all(map(is_ordinary, parts))


@cache
def _roles() -> frozenset[str]:
    """Return the names of the columns' roles."""
    section = "/data/columns/"
    names = (each.pointer for each in fields() if each.pointer.startswith(section))
    return frozenset(name.removeprefix(section) for name in names)


@cache
def _objectives() -> frozenset[str]:
    return frozenset(map(str, choices(find_field("/objective/type").schema)))


def _read_own_names(message: Message) -> Iterator[Change]:
    """Yield the models that are named without an owner."""
    for start, end, model in find_own_names(message):
        if message.denied(start, end):
            continue
        words = message.words(start, end)
        pointer = _taught_by(message, start, end)
        message.cross_out(start, end)
        yield Change(pointer=pointer, value=model, words=words)


def _counts_cards(folded: str, place: int) -> bool:
    """Return whether the number at a place is a count of the card named after it."""
    match = _NUMBER_OF.match(folded, place)
    return match is not None and is_chip(match["card"])


def _find_name(message: Message) -> tuple[int, int, tuple[Model, ...], bool] | None:
    """Return the longest sequence of words that begins with a family and matches a model's id.

    The last part is False if a number follows that no such model has, so another version or size is
    meant.
    """
    found = PART.finditer(message.folded)
    parts = [(m.start(), m.end(), _WORD_OF_DISTILLED.sub("distill", m[0])) for m in found]
    skipped = _LINKING | _SIZING | (_DISTILLED_FROM if _DISTILLED.search(message.folded) else set())
    parts = [each for each in parts if each[2] not in skipped]
    for index, (start, _, word) in enumerate(parts):
        if word not in FAMILIES or (start and message.folded[start - 1].isalpha()):
            continue
        if word == "llama" and _PROGRAM.match(message.folded, start):
            continue
        if word == "llama" and _IS_CALLED.search(message.folded[:start]):
            continue
        said, end, exact = [word], parts[index][1], True
        for place, stop, part in parts[index + 1 :]:
            between = message.folded[end:place]
            joined = _SPLIT.fullmatch(between) or _SPLIT_SIZE.match(message.folded, end, stop)
            distilled = said[-1] == "distill" and part not in said
            if not joined and distilled:
                joined = _DISTILLED_INTO.fullmatch(between)
            if not joined or (between.split() and part in FAMILIES and not distilled):
                break
            if _COUNT.match(message.folded, stop) or _counts_cards(message.folded, place):
                break  # "gemma 2 9b 8xH100", "qwen2.5 7b en 2 a6000"
            if not find_fitting([*said, part]):
                exact = part[0].isalpha()
                end = end if exact else stop
                break
            said, end = [*said, part], stop
        begin = start
        sized = _SIZED_BEFORE.search(message.folded[:start])
        unsized = sized is not None and len(choose_nearest(find_fitting(said), said)) > 1
        if sized is not None and unsized and find_fitting([*said, sized["size"]]):
            said, begin = [*said, sized["size"]], sized.start("size")
        if _BASE_BEFORE.search(message.folded[:start]) or _BASE_AFTER.match(message.folded, end):
            said.append("base")
        for size in _SIZE.findall(message.folded[end:]):
            if len(choose_nearest(find_fitting(said), said)) > 1 and find_fitting([*said, size]):
                said.append(size)
        untuned = UNTUNED_AFTER.match(message.folded, end)
        if untuned is not None and not set(said) & TUNED and find_fitting([*said, "base"]):
            said, end = [*said, "base"], untuned.end()
        if models := find_fitting(said):
            written = message.words(begin, end)
            own = tuple(each for each in models if each.id.partition("/")[2] == written)
            return begin, end, own or choose_nearest(models, said), exact
    return None
