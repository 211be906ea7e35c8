"""The deterministic reader: the readers of a message, in their order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.belonging import move_to_owners, settle_owners
from ftc.tui.understanding.certainty import Said, is_endorsed, settle
from ftc.tui.understanding.columns.column_pairs import read_column_pairs
from ftc.tui.understanding.columns.columns import (
    read_columns,
    read_known_columns,
    settle_roles,
    settle_text,
)
from ftc.tui.understanding.columns.mentioned import Doubt, Mention, hide_mentioned, read_mentioned
from ftc.tui.understanding.data.files import (
    read_files,
    read_texts,
    take_known_files,
    with_described_file,
    without_chats,
)
from ftc.tui.understanding.data.hub_data import take_hub_data
from ftc.tui.understanding.data.source_limits import limit_sources
from ftc.tui.understanding.data.weights import read_label_weights
from ftc.tui.understanding.described import read_described, with_described
from ftc.tui.understanding.doubts.aside import set_aside
from ftc.tui.understanding.doubts.hearsay import doubt_hearsay, prefer_own, strike_names
from ftc.tui.understanding.doubts.needless import find_needless
from ftc.tui.understanding.doubts.reported import doubt_reported_hardware
from ftc.tui.understanding.doubts.retracted import drop_retracted, revise
from ftc.tui.understanding.doubts.rivals import doubt_added, doubt_asked, doubt_rivals
from ftc.tui.understanding.doubts.settled import settle_later
from ftc.tui.understanding.doubts.stray import doubt_stray
from ftc.tui.understanding.doubts.units import doubt_units
from ftc.tui.understanding.doubts.unlikely_columns import doubt_columns, is_other
from ftc.tui.understanding.doubts.wavering import doubt_wavering
from ftc.tui.understanding.elsewhere import adopt
from ftc.tui.understanding.experts.abbreviated import read_abbreviated
from ftc.tui.understanding.experts.jargon import read_jargon
from ftc.tui.understanding.experts.parts import read_parts
from ftc.tui.understanding.exports.exports import read_exports
from ftc.tui.understanding.exports.publishing import read_publishing, settle_privacy
from ftc.tui.understanding.exports.run_names import read_run_names
from ftc.tui.understanding.exports.served_exports import read_served
from ftc.tui.understanding.fields.carried import read_carried
from ftc.tui.understanding.fields.compound import complete_compounds
from ftc.tui.understanding.fields.covering import read_covered
from ftc.tui.understanding.fields.enumerated import read_enumerated
from ftc.tui.understanding.fields.hinted import find_hinted
from ftc.tui.understanding.fields.marked import read_marked
from ftc.tui.understanding.fields.named import read_named
from ftc.tui.understanding.fields.prose import read_prose
from ftc.tui.understanding.fields.relative import read_relative, scale_fractions
from ftc.tui.understanding.fields.removed import read_removed
from ftc.tui.understanding.fields.shorthand import read_shorthand, settle_batches
from ftc.tui.understanding.fields.spoken import read_spoken
from ftc.tui.understanding.fields.stated import read_stated
from ftc.tui.understanding.fields.words import read_words
from ftc.tui.understanding.implied import (
    KIND,
    drop_denied_methods,
    find_displaced,
    imply,
    imply_best,
    imply_by_name,
    imply_kinds,
    settle_method,
)
from ftc.tui.understanding.learned.linked import add_linked, read_linked
from ftc.tui.understanding.learned.supplement import add_roles, add_worded
from ftc.tui.understanding.learned.unlikely_roles import doubt_role
from ftc.tui.understanding.machines.counts import settle_count
from ftc.tui.understanding.machines.hardware import read_hardware
from ftc.tui.understanding.machines.instances import read_instances
from ftc.tui.understanding.machines.limits import read_limit, read_wall_time
from ftc.tui.understanding.machines.prices import share_price
from ftc.tui.understanding.models.forms import prefer_base
from ftc.tui.understanding.models.hub_ids import settle_ids
from ftc.tui.understanding.models.model_wishes import read_model_wishes
from ftc.tui.understanding.models.models import read_models
from ftc.tui.understanding.models.revisions import read_revisions
from ftc.tui.understanding.questions import take_question
from ftc.tui.understanding.reading import (
    UNSURE,
    Change,
    Choice,
    Limit,
    Names,
    Paste,
    Reading,
    Request,
    value_at,
)
from ftc.tui.understanding.requests import read_request
from ftc.tui.understanding.rewards import read_rewards
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message, find_places, find_words, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.sentences import (
    is_about_later,
    is_question,
    only_asks,
    outside_openings,
    proposes,
    split_sentences,
)
from ftc.tui.understanding.tools.flags import read_config
from ftc.tui.understanding.tools.tool_keys import read_tool_keys
from ftc.tui.understanding.values.doubt import is_doubtful
from ftc.tui.understanding.values.judged import read_judged
from ftc.tui.understanding.values.layers import read_layers, read_recomputed
from ftc.tui.understanding.values.quantities import read_quantities
from ftc.tui.understanding.values.rates import read_rates
from ftc.tui.understanding.values.regression import read_regression
from ftc.tui.understanding.values.row_limits import read_row_limits
from ftc.tui.understanding.values.shares import divide_by_whole
from ftc.tui.understanding.wanted.released import is_withheld, release
from ftc.tui.understanding.wanted.unlicensed import ask_unlicensed, withhold

_CORRECTION: Final = re.compile(rf"^\s*{any_of(WORDS['correct'])}\b[,:]?\s+(?=\S)")
#: The longest text that is read; a quoted system message may be longer.
_LONGEST, _LONGEST_QUOTED = 1000, 8000
#: A text with more lines is not a message, but rows, a log or a script.
_MOST_LINES: Final = 20
#: A line of a training's log: "step 30 loss 2.8 lr 0.002".
_LOGGED: Final = re.compile(
    r"^[^\n]*\b(?:step|epoch|iter(?:ation)?)\b[^\n]*\bloss\b\s*[:=]?\s*\d[^\n]*$", re.MULTILINE
)
#: A number that another one replaces: "1e-4 not 2e-4".
_NOT_NUMBER: Final = re.compile(
    rf"(?<=\d)(?: [a-z]+)?(?P<denied>,? (?:and |y |i )?(?:not|no(?: pas)?) (?:{NUMBER}))"
    r"(?=\s*(?:$|[.,;!]))"
)
#: Fields that a question may propose.
_PROPOSED: Final = frozenset(
    {"/model/id", "/objective/type", "/method/type", "/hardware/gpu", "/hardware/count"}
)
#: "Rank 16? I said 12."
_SAID_INSTEAD: Final = re.compile(
    r"\W*(?:no,? )?(?:i (?:said|asked for|meant|wanted)|(?:yo |te )?(?:dije|pedi|he dicho|queria)"
    r"|(?:jo )?(?:vaig dir|he dit|vaig demanar|volia))"
    rf" (?P<number>{NUMBER})\W*"
)
_ORDER: Final = rf"\b(?:{any_of(WORDS['put'])}|{any_of(WORDS['acts'])})\b"
_NOTHING: Final[Mapping[str, Any]] = {}
_NO_NAMES: Final = Names()


def read(
    text: str,
    draft: Mapping[str, Any],
    planned: Mapping[str, Any] = _NOTHING,
    names: Names = _NO_NAMES,
) -> Reading:
    """Return the reading of a message; `draft` is the spec's long form so far.

    `planned` holds the plan's values by pointer: "half the learning rate" refers to them. `names`
    are the files and columns that exist. A question becomes a request, not a change. Changes are in
    the order of the readers, not of the message. If a field has two changes, the last one of that
    order is kept.
    """

    def again(words: str) -> Reading:
        return read(words, draft, planned, names)

    written, text = text, set_aside(text)
    if written.strip() and not text.strip():  # nothing is left to read
        return Reading(request=Request(kind="leave"))
    if (pasted := read_config(text, draft, again)) is not None:
        return pasted
    if (lines := len(text.splitlines())) > _MOST_LINES:
        return Reading(paste=Paste(lines=lines))
    message = Message(text[:_LONGEST_QUOTED])
    if (request := _find_request(message)) is not None:
        return Reading(request=request)
    if is_about_later(message.folded) and draft.get("data"):
        return Reading(request=Request(kind="later", about=text.strip()))
    return _read_message(message, text, draft, planned, names)


def _read_message(
    message: Message,
    text: str,
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
    names: Names,
) -> Reading:
    """Return the reading of a message that is neither a pasted text nor only a request."""
    _strike_correction(message)
    strike_names(message)
    texts = list(read_texts(message))
    message.cut(_LONGEST)
    text = text if texts else text[:_LONGEST]
    _strike_numbers(message)
    about = take_question(message)
    asked = message.folded
    found = [*texts, *_read_fields(message, draft, planned, names)]
    said = _completed(move_to_owners(found, message, draft), text, draft, planned)
    linked: list[Said] = list(read_linked(message, asked, said, draft))
    told, about = _answer(text, said, about, draft, planned)
    revised = prefer_own(text, revise(text, told))
    left = drop_retracted(text, revised)
    gone = {each.pointer for each in revised} - {each.pointer for each in left}
    linked = settle(text, [each for each in linked if each.pointer not in gone])
    told = with_described_file(settle(text, left))
    doubted = [each for each in told if isinstance(each, Choice) and is_withheld(each)]
    linked = _outside_questions(text, linked, draft)[0] if told or about is None else []
    if not (said or linked) and about is None:
        told += filter(None, [find_hinted(message, text)])
    found = ask_unlicensed(text, without_chats(told, draft, message), said)
    told = add_linked(release(message, text, found, draft), _unread(text, linked, found))
    if told or about is None:
        named = add_roles(text, told, said, draft, names.columns)
        told = add_worded(message, text, named, said, draft, doubted=doubted)
    told = doubt_columns(text, doubt_hearsay(text, told), names.columns)
    told = doubt_stray(text, told)
    told = doubt_rivals(text, doubt_wavering(text, told, draft))
    for settled in (adopt, settle_later):
        told = settled(text, told, lambda words: read(words, draft, planned, names).changes)
    needless = find_needless(text, told, draft)
    told = withhold(text, [each for each in told if each not in needless], found)
    told = doubt_reported_hardware(text, doubt_units(text, told))
    told = settle_count(imply_kinds(doubt_added(text, told), draft))
    return replace(_conclude(told, about, message, draft), needless=tuple(needless))


def _answer(
    text: str,
    said: Sequence[Said],
    about: str | None,
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
) -> tuple[list[Said], str | None]:
    """Return the values outside questions, and the question that the message is about."""
    told = list(said)
    if about is not None:
        own = list(outside_openings(text))
        told = [each for each in said if _is_within(text, each, own)]
    if about is None:
        told, about = _outside_questions(text, said, draft)
        if about is None and not told and only_asks(text):
            about = text.strip()
    if about is not None and not told and (told := _taken_up(text, about, draft, planned)):
        about = None
    return list(told), about


def _conclude(
    told: Sequence[Said], about: str | None, message: Message, draft: Mapping[str, Any]
) -> Reading:
    """Return the reading for the values and for the question that the message is about."""
    doubtful = [each for each in told if isinstance(each, Change) and is_doubtful(each)]
    changes = {
        each.pointer: each for each in told if isinstance(each, Change) and each not in doubtful
    }
    if changes.keys() >= KIND.keys():  # a spec has one of the two
        doubtful.append(changes.pop("/training/max_steps"))
    kept = [each for each in changes.values() if admits(each.pointer, each.value)]
    asks = (Choice(pointer=each.pointer, values=(), words=each.words) for each in doubtful)
    return Reading(
        request=_request(about, read_limit(message)),
        changes=(*kept, *find_displaced(kept, draft)),
        refused=tuple(each for each in changes.values() if not admits(each.pointer, each.value)),
        choices=tuple(
            each
            for each in (*(item for item in told if isinstance(item, Choice)), *asks)
            if each.pointer not in changes and not _is_set(each, draft)
        ),
        rest=message.rest(),
    )


def _find_request(message: Message) -> Request | None:
    """Return the request of a message; "what about Adafactor? Go ahead, use it" is a change."""
    request = read_request(message)
    last = fold(message.written[message.written.rfind("?") + 1 :])
    answered = request is not None and request.kind == "what_if" and is_endorsed(last, 0)
    return None if answered else request


def _completed(
    found: Sequence[Change | Choice],
    text: str,
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
) -> list[Change | Choice]:
    """Return the values of the readers, converted to their fields' units, and implied values."""
    found = settle_roles(prefer_base(settle_ids(found, text, draft), draft))
    found = settle_owners(settle_privacy(found, text), text, draft)
    found = limit_sources(complete_compounds(found, text), text)
    said = share_price(settle_batches(settle_text(found), draft), text, draft)
    said = divide_by_whole(scale_fractions(said, draft, planned), draft, planned)
    said = settle_method(drop_denied_methods(said))
    implied = imply(said, draft)
    if any(each.value == "qlora" for each in implied):  # "int8 base + LoRA"
        said = [each for each in said if each.pointer != "/method/type"]
    said = [*said, *implied]
    return [*said, *imply_by_name(said, draft), *imply_best(said, text, draft)]


def _unread(text: str, linked: Sequence[Said], told: Sequence[Said]) -> list[Said]:
    """Return the linked numbers that are not part of the values."""
    read = [span for each in told for span in find_places(text, each.words)]
    return [
        each
        for each in linked
        if not any(
            start <= first and last <= end
            for first, last in find_places(text, each.words)[:1]
            for start, end in read
        )
    ]


def _request(about: str | None, limit: tuple[Limit, str] | None) -> Request | None:
    """Return the request in a message with changes: its limit, or else its question."""
    if limit is not None:
        return Request(kind="limit", about=limit[1])
    if about is None:
        return None
    limited = read_limit(Message(about)) is not None
    return Request(kind="limit" if limited else "judge", about=about)


def _read_fields(
    message: Message, draft: Mapping[str, Any], planned: Mapping[str, Any], names: Names
) -> Iterator[Change | Choice]:
    """Yield the values of the readers; each reads the words that the previous ones have left."""
    mentioned: list[Mention] = []
    known = with_described(message, draft)
    found = list(_read_first(message, known, planned, names, mentioned))
    found += read_parts(message, draft, found)
    found += read_described(message, draft, found, [(each.start, each.end) for each in mentioned])
    found += read_mentioned(message, mentioned, found, _doubt_of(message, names))
    found += read_covered(message, draft, found)
    found += read_named(message, draft)
    yield from found
    yield from read_carried(message, found, draft)


def _read_first(
    message: Message,
    draft: Mapping[str, Any],
    planned: Mapping[str, Any],
    names: Names,
    mentioned: list[Mention],
) -> Iterator[Change | Choice]:
    """Yield the values with words of their fields.

    The columns that the message mentions beside them are added to `mentioned`.
    """
    yield from read_removed(message, draft)
    yield from read_run_names(message, draft)
    yield from read_regression(message, draft)
    hub = take_hub_data(message)
    yield from read_revisions(message)
    yield from read_rewards(message, draft)
    yield from read_rates(message)
    yield from read_enumerated(message)
    yield from read_recomputed(message)
    yield from read_prose(message, draft)
    yield from read_stated(message, draft)
    yield from read_column_pairs(message, names.columns, _doubt_of(message, names))
    yield from read_known_columns(message, names.columns)
    yield from read_marked(message, draft)
    files = take_known_files(message, names.files)
    yield from read_instances(message)
    yield from read_shorthand(message)
    yield from read_jargon(message, draft)
    yield from read_tool_keys(message)
    yield from read_wall_time(message, draft)
    yield from read_row_limits(message, draft)
    yield from read_label_weights(message)
    yield from read_judged(message)
    yield from read_spoken(message, draft)
    columns = list(read_columns(message, names.columns))
    yield from columns
    mentioned += hide_mentioned(message, known=bool(columns), is_other=is_other)
    yield from read_files(message, draft, files, hub)
    yield from read_relative(message, draft, planned)
    yield from read_layers(message, draft)
    yield from read_publishing(message, draft)
    yield from read_model_wishes(message, draft)
    yield from read_models(message, draft)
    yield from read_served(message, _types(draft, "vllm"))
    yield from read_exports(message, _types(draft, "types"))
    yield from read_quantities(message)
    yield from read_hardware(message, draft)
    yield from read_abbreviated(message, draft)
    yield from read_words(message, draft)


def _doubt_of(message: Message, names: Names) -> Doubt:
    return partial(doubt_role, text=message.written, columns=names.columns)


def _is_set(choice: Choice, draft: Mapping[str, Any]) -> bool:
    """Return whether the draft already has the only value that the words may mean."""
    return choice.why == UNSURE and choice.values == (value_at(draft, choice.pointer),)


def _is_within(text: str, said: Change | Choice, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether the words of a value lie in one of the ranges."""
    place = find_words(text, said.words)
    return place < 0 or any(start <= place < end for start, end in spans)


def _outside_questions(
    text: str, said: Sequence[Change | Choice], draft: Mapping[str, Any]
) -> tuple[list[Change | Choice], str | None]:
    """Return the values outside questions, and the first question with a value.

    Beside statements, a question may propose a value that the draft lacks: "Could Gemma 2B learn
    that?".
    """
    sentences = list(split_sentences(text))
    asking = [sentence for sentence in sentences if sentence.asks]
    outside = len(asking) < len(sentences)
    told: list[Change | Choice] = []
    about = None
    for each in said:
        place = find_words(text, each.words)
        inside = [one for one in asking if one.start <= place < one.end]
        if (
            not inside
            or _is_taken_up(each, text[inside[0].end :])
            or is_endorsed(fold(text[inside[0].end :]), 0)
            or (
                outside
                and each.pointer in _PROPOSED
                and value_at(draft, each.pointer) is None
                and proposes(text[inside[0].start : inside[0].end])
            )
        ):
            told.append(each)
        elif about is None:
            about = text[inside[0].start : inside[0].end].strip()
    return doubt_asked(text, told, about), about


def _taken_up(
    text: str, about: str, draft: Mapping[str, Any], planned: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values of a question if a request after it has the same values."""
    asked, mark, after = text.rpartition("?")
    topic = about.strip(" ?\u00bf")
    if not (mark and after.strip()) or "?" in topic or topic not in asked:
        return []
    found = read(topic, draft, planned).changes
    if (said := _SAID_INSTEAD.fullmatch(fold(after))) is not None:
        number = as_written(read_number(said["number"]) or 0.0)
        numbers = [each for each in found if type(each.value) is type(number)]
        return [replace(each, value=number, words=said["number"]) for each in numbers]
    return [each for each in found if _is_taken_up(each, after)]


def _is_taken_up(said: Change | Choice, after: str) -> bool:
    """Return whether a request after a question has its value: "is 32 better? Just go with 32"."""
    if not isinstance(said, Change) or isinstance(said.value, bool | list) or said.value is None:
        return False
    folded = Message(after).folded
    value = re.escape(str(said.value).casefold())
    return re.search(
        rf"{_ORDER}[^.;!?\n]{{0,40}}?(?<![\w.]){value}(?![\w])", folded
    ) is not None and not (is_question(after))


def strip_correction(text: str) -> str:
    """Return a message without a leading "no," that corrects an earlier message."""
    message = Message(text)
    _strike_correction(message)
    return message.words(len(message.folded) - len(message.folded.lstrip("\0")), len(text))


def _strike_numbers(message: Message) -> None:
    """Cross out the lines of a log, and numbers that are replaced: "1e-4, not 2e-4"."""
    list(message.take(_LOGGED) if "\n" in message.written else ())
    for denied in list(_NOT_NUMBER.finditer(message.folded)):
        message.cross_out(*denied.span("denied"))


def _strike_correction(message: Message) -> None:
    """Cross out a "no," that corrects an earlier message, so that it negates nothing."""
    if match := _CORRECTION.match(message.folded):
        message.cross_out(*match.span())


def _types(draft: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return a list of the draft's export, whose short form is its GGUF types."""
    export = draft.get("export")
    short = export or () if name == "types" else ()
    types = export.get(name, ()) if isinstance(export, Mapping) else short
    return [kind for kind in types if isinstance(kind, str)]
