"""Data facts: the content of rows, the roles of columns, the usable rows and their lengths."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.resolve.columns import findings as column_faults
from ftc.compiler.resolve.content.answer_kinds import (
    MOST_CLASSES,
    MOST_LABELS,
    count_documents,
)
from ftc.compiler.resolve.content.languages import find_languages
from ftc.compiler.resolve.content.lost_text import try_round_trip
from ftc.compiler.resolve.content.markers import (
    KnownMarkers,
    find_absent_tokens,
    list_markers,
    look_up_markers,
)
from ftc.compiler.resolve.content.near_duplicates import PromptCount, find_near_duplicates
from ftc.compiler.resolve.content.ollama_rows import compare_rows
from ftc.compiler.resolve.content.rewards import list_rewards, measure_rewards
from ftc.compiler.resolve.content.scan import MARKED_ROWS, Scan, look_into, scan_rows
from ftc.compiler.resolve.content.turns.tool_functions import find_tools
from ftc.compiler.resolve.content_facts import Contents, NearDuplicates
from ftc.compiler.resolve.data import findings as data_faults
from ftc.compiler.resolve.data.files import (
    DataFiles,
    find_data_files,
    inspect_files,
    open_tables,
    read_again,
)
from ftc.compiler.resolve.data.images import (
    Seeing,
    describe_pictures,
    find_seeing,
    leave_out_images,
    list_limits,
    measure_limits,
    store_rows,
)
from ftc.compiler.resolve.data.kept_facts import find_key, keep, recall
from ftc.compiler.resolve.data.lengths import (
    Count,
    Pair,
    count_answers,
    find_refusal,
    find_unlike,
    list_longer,
    summarise,
)
from ftc.compiler.resolve.data.mixture import find_mixed_forms, mix_facts, withhold_objective
from ftc.compiler.resolve.data.score_scale import find_other_scale, find_ratings
from ftc.compiler.resolve.data.stream import count_rows
from ftc.compiler.resolve.data.token_counts import choose_count
from ftc.compiler.resolve.data.watches import Watches
from ftc.compiler.resolve.detail_facts import Pictures
from ftc.compiler.resolve.facts import (
    DataFacts,
    Feedback,
    Label,
    Lengths,
    ModelFacts,
    Preferences,
    TokenizerFacts,
    Unknown,
)
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.regression import look_at_files
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.rows.guess import are_prompts
from ftc.compiler.resolve.rows.reader import (
    UnreadableError,
    list_left_out,
)
from ftc.compiler.resolve.rows.roles import (
    Roles,
    Unassigned,
    assign_roles,
    find_answers,
    leave_labels,
    make_reader,
)
from ftc.compiler.resolve.rows.table import (
    TableFile,
    begins_with_title,
    join_digests,
)
from ftc.compiler.resolve.tokenizer.facts import reload_tokenizer
from ftc.runtime.tokenizer.round_trip import RoundTrip
from ftc.spec.findings.finding import Finding
from ftc.spec.salvage import known_or_none
from ftc.spec.sections import Objective, Spec
from ftc.spec.sources import WholeSource, is_mixture, limit_rows, list_sources

#: Above this size, only the lengths of a sample are measured.
LARGE_BYTES: Final = 64 * 1024 * 1024
#: The lengths of a source whose rows are all copies of another source's.
_NO_LENGTHS: Final = Lengths(
    estimate=False,
    mean=0.0,
    **dict.fromkeys(("p50", "p90", "p95", "p99", "max"), 0),
    **dict.fromkeys(("prompt_p50", "prompt_p95", "prompt_max"), 0),
    **dict.fromkeys(("answer_p50", "answer_p95", "answer_max"), 0),
    histogram=(),
    prompt_histogram=(),
)


#: Lengths, those of answers that are compared, what the texts lose as tokens, what they hold, and
#: their images with the lengths under each limit of their size.
_Measured = tuple[
    Lengths,
    Preferences | None,
    RoundTrip | None,
    Contents,
    tuple[Pictures | None, tuple[Lengths, ...]],
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """The results of reading one source: its rows, and the lengths of its examples.

    `seeks`: the facts say which of the files are there that texts may name.
    """

    source: WholeSource
    found: DataFiles
    files: Sequence[TableFile]
    columns: tuple[str, ...]
    roles: Roles
    scan: Scan
    lengths: Lengths
    preferences: Preferences | None
    round_trip: RoundTrip | None
    contents: Contents
    twins: NearDuplicates
    pictures: Pictures | None
    limited_lengths: tuple[Lengths, ...]
    repeated_keys: Mapping[str, int]
    seeks: bool


def resolve_data(
    spec: Spec,
    *,
    folder: Path,
    tokenizer: TokenizerFacts | Unknown,
    model: ModelFacts | Unknown | None = None,
) -> DataFacts | Unknown:
    """Return the facts of the data, and of the files of regression checks."""
    found = _resolve_sources(spec, folder=folder, tokenizer=tokenizer, model=model)
    if isinstance(found, Unknown):
        return found
    compared = known_or_none(lambda: look_at_files(spec, found, folder=folder))
    return replace(found, regression=compared) if compared else found


def _resolve_sources(
    spec: Spec,
    *,
    folder: Path,
    tokenizer: TokenizerFacts | Unknown,
    model: ModelFacts | Unknown | None,
) -> DataFacts | Unknown:
    """Return the data's facts; lengths are estimates if the tokenizer is not available.

    `max_rows` limits the usable rows alone, as `prepare.py` draws them after cleaning. A row that
    an earlier source had is a copy. Images are looked at for a model that can read them.
    """
    key = known_or_none(lambda: find_key(spec, folder=folder, tokenizer=tokenizer, model=model))
    if key is not None and (kept := recall(key)) is not None:
        return kept
    reports: list[_Report] = []
    faults: list[Finding] = []
    prompts = PromptCount()
    for source in list_sources(spec.data):
        report = _look(
            spec, source, folder=folder, tokenizer=tokenizer, model=model, prompts=prompts
        )
        if isinstance(report, Unknown):
            faults.append(report.finding)
        else:
            reports.append(report)
    if faults:
        first, *others = withhold_objective(faults, others_read=bool(reports))
        return Unknown(finding=first, others=tuple(others))
    facts = _join(spec, reports, folder=folder)
    if key is not None and isinstance(facts, DataFacts) and not any(r.seeks for r in reports):
        keep(key, facts)
    return facts


def _join(spec: Spec, reports: Sequence[_Report], *, folder: Path) -> DataFacts | Unknown:
    """Return the facts of the only source, or of all of them together."""
    if not is_mixture(spec.data):
        return _facts(spec, reports[0], folder=folder)
    if fault := find_mixed_forms([(report.source, report.roles.form) for report in reports]):
        return Unknown(finding=fault)
    parts = [_facts(spec, report, folder=folder) for report in reports]
    return mix_facts(spec, parts, [report.scan for report in reports], folder=folder)


def _look(
    spec: Spec,
    source: WholeSource,
    *,
    folder: Path,
    tokenizer: TokenizerFacts | Unknown,
    model: ModelFacts | Unknown | None,
    prompts: PromptCount,
) -> _Report | Unknown:
    """Find a source's files and read them; a failure becomes a finding."""
    found = find_data_files(spec, source, folder=folder)
    if isinstance(found, Finding):
        return Unknown(finding=found)
    seeing = find_seeing(spec, model, folder=found.paths[0].parent)
    count = partial(_measure, spec, folder=folder, tokenizer=tokenizer, seeing=seeing)
    try:
        return _read(spec, source, found, prompts=prompts, measure=count, seeing=seeing)
    except UnreadableError as error:
        path = found.paths[0]
        return Unknown(finding=data_faults.broken(source, found.format, error.reason, path))
    except OSError as error:
        return Unknown(finding=data_faults.unreadable(source, error))
    except ImportError as error:
        return Unknown(finding=data_faults.no_reader(source, error))


def _read(
    spec: Spec,
    source: WholeSource,
    found: DataFiles,
    *,
    prompts: PromptCount,
    measure: Callable[[Scan], _Measured | None],
    seeing: Seeing | None,
) -> _Report | Unknown:
    """Go from files to rows, roles, counts and lengths."""
    whole = inspect_files(source, found)
    if isinstance(whole, Unknown):
        return whole
    columns, parts = open_tables(whole, repeated := Counter[str]())
    rows = chain.from_iterable(parts)
    if not columns:
        number = sum(1 for _ in rows)
        return Unknown(finding=data_faults.empty(source, found.format, number, found.paths[0]))
    roles = _find_roles(spec, source, columns, whole)
    if isinstance(roles, Unknown):
        return roles
    roles = _without_unused_images(spec, source, roles, seeing)
    watches = Watches(columns, roles, source.columns, folder=found.paths[0].parent)
    if seeing is not None and found.format == "parquet":
        rows = chain.from_iterable(store_rows(part, roles) for part in parts)
    scan = scan_rows(
        watches.watch(rows),
        roles,
        spec.data.cleaning,
        sample=sum(file.size_bytes for file in whole) > LARGE_BYTES,
        prompts=prompts,
        strip_reasoning=spec.data.reasoning == "strip",
        read=None if seeing is None else seeing.reader(roles),
    )
    with ThreadPoolExecutor(max_workers=1) as pool:  # works while the tokenizer does
        twins = pool.submit(find_near_duplicates, *leave_out_images(scan.examples, scan.numbers))
        lengths = measure(scan) if scan.kept else None
    if not scan.examples and scan.duplicates:  # of an earlier source's rows
        lengths = _NO_LENGTHS, None, None, Contents(review=scan.review()), (None, ())
    if lengths is None:
        return Unknown(
            finding=data_faults.unusable(source, found.format, scan, spec.objective.type, roles)
        )
    return _Report(
        source=source,
        found=found,
        files=whole,
        columns=columns,
        roles=roles,
        scan=scan,
        lengths=lengths[0],
        preferences=lengths[1],
        round_trip=lengths[2],
        contents=watches.add_to(lengths[3]),
        twins=twins.result(),
        pictures=lengths[4][0],
        limited_lengths=lengths[4][1],
        repeated_keys=dict(repeated),
        seeks=watches.images.seeks,
    )


def _without_unused_images(
    spec: Spec, source: WholeSource, roles: Roles, seeing: Seeing | None
) -> Roles:
    """Return the roles without an unused column of images."""
    used = seeing and OBJECTIVES[spec.objective.type].sees
    return roles if source.columns.images is not None or used else replace(roles, images=None)


def _find_roles(
    spec: Spec, source: WholeSource, columns: tuple[str, ...], files: Sequence[TableFile]
) -> Roles | Unknown:
    """Return the column of each role, or the problem with the columns; rows support the guess."""
    objective = spec.objective.type
    forms = OBJECTIVES[objective].forms
    roles = assign_roles(columns, named=source.columns, form=source.form, forms=forms)
    if isinstance(roles, Unassigned) and begins_with_title(files[0]):
        return Unknown(finding=column_faults.titled(source, columns))
    if isinstance(roles, Unassigned):
        again = partial(read_again, files)
        fault = column_faults.unassigned(source, roles, columns, objective, again)
        return Unknown(finding=fault)
    if twice := [column for column in roles.columns() if columns.count(column) > 1]:
        return Unknown(finding=data_faults.ambiguous(source, twice[0]))
    if roles.score is not None and (scale := find_other_scale(read_again(files), roles.score)):
        return Unknown(finding=data_faults.other_scale(source, scale, objective))
    if roles.label is not None and (scale := find_ratings(read_again(files), roles.label)):
        return Unknown(finding=data_faults.other_scale(source, scale, objective))
    unnamed = source.form == "auto" and source.columns.completion is None
    if unnamed and not _compares(spec.objective):
        roles = leave_labels(roles)
    if roles.form == "chat" and source.form == "auto" and "prompt" in forms:
        wait = are_prompts(read_again(files), make_reader(roles))
        return find_answers(roles, columns) if wait else roles
    return roles


def _compares(objective: Objective) -> bool:
    """Return whether the answers in the rows are learned, or compared with sampled ones.

    A reward function may take them: that is seen only once the rows are read.
    """
    entry = OBJECTIVES[objective.type]
    if not entry.samples or not entry.rewards:
        return not entry.samples
    rewards = list_rewards(objective)
    return not rewards or any(each.match or each.functions for each in rewards)


def _find_absent(spec: Spec, scan: Scan) -> tuple[str, ...]:
    """Return the new tokens that no row contains; none if the spec's model is left out."""
    return known_or_none(lambda: find_absent_tokens(spec, scan.examples)) or ()


def _classifies(objective: Objective) -> bool:
    """Return whether a classification head is trained."""
    return objective.type == "classification"


def _measure(
    spec: Spec,
    scan: Scan,
    *,
    folder: Path,
    tokenizer: TokenizerFacts | Unknown,
    seeing: Seeing | None,
) -> _Measured | None:
    """Count tokens with the model's own tokenizer, which is tried on texts, or estimate them.

    An example that the chat template refuses is moved to the malformed ones.
    """
    known = tokenizer if isinstance(tokenizer, TokenizerFacts) else None
    loaded = reload_tokenizer(spec, known, folder=folder) if known is not None else None
    pictures = describe_pictures(scan.examples)
    rule = seeing.rule if seeing is not None and pictures is not None else None
    tools = find_tools(spec.objective, folder=folder)
    schemas = tools.schemas if tools is not None else ()
    if loaded is not None:
        offered = tuple(map(json.loads, schemas))
        loaded = replace(loaded, reads_parts=rule is not None, offered=offered)
    count = choose_count(spec, scan, known=known, loaded=loaded, rule=rule, schemas=schemas)
    sampled, markers = OBJECTIVES[spec.objective.type].rewards, _find_markers(spec, loaded)
    contents = look_into(scan, _labels(spec, scan), markers, sampled=sampled)
    pairs: list[Pair | None] = []
    count = partial(_record, count, pairs)
    if compares_texts(spec.objective.type):
        counted, preferences = [pair for pair in count(scan.examples) if pair is not None], None
    else:
        counted, preferences = count_answers(scan.examples, count)
    if not scan.sampled:
        scan.faults["refused"] += len(scan.examples) - len(counted)
        scan.kept = len(counted)
    if not counted:
        scan.refusal = find_refusal(scan.examples, loaded) if loaded is not None else ""
        return None
    tried = None
    if loaded is not None and known is not None and not compares_texts(spec.objective.type):
        name, labelled = known.loaded_class, _classifies(spec.objective)
        tried = try_round_trip(scan.examples, loaded, name, labelled=labelled)
    add_up = partial(summarise, estimate=loaded is None)
    lengths = add_up(counted)
    unlike = find_unlike(scan.numbers, pairs, p99=lengths.p99, most=MARKED_ROWS)
    contents = replace(contents, review={**contents.review, **unlike})
    if loaded is not None and known is not None and not OBJECTIVES[spec.objective.type].plain:
        ollama = None if pictures is not None else known.ollama
        found = compare_rows(scan.examples, scan.numbers, loaded, ollama, system=spec.data.system)
        contents = replace(contents, ollama=found)
    seen: tuple[Pictures | None, tuple[Lengths, ...]] = (pictures, ())
    if pictures is not None and rule is not None:
        limits = list_limits(rule, spec.data.images.max_pixels)
        each = list_longer(pairs, len(scan.examples))
        sizes, limited = measure_limits(scan.examples, each, limits, loaded, add_up)
        seen = replace(pictures, sizes=sizes), limited
    return lengths, preferences, tried, contents, seen


def _find_markers(spec: Spec, loaded: LoadedTokenizer | None) -> KnownMarkers:
    """Return the markers of the tokenizer, or what is known of them without its files."""
    if loaded is not None:
        return list_markers(loaded, spec.model.new_tokens)
    found = known_or_none(lambda: look_up_markers(spec.model.id, spec.model.new_tokens))
    return found or KnownMarkers()


def _record(
    count: Count, pairs: list[Pair | None], examples: Sequence[Example]
) -> Iterator[Pair | None]:
    """Yield what `count` does, and keep it with those that the chat template refuses."""
    for pair in count(examples):
        pairs.append(pair)
        yield pair


def _facts(spec: Spec, report: _Report, *, folder: Path) -> DataFacts:
    source, found, scan, roles = report.source, report.found, report.scan, report.roles
    whole = count_rows(found.first, scan.rows) if found.first else scan.rows
    streamed, tools = found.first is not None, find_tools(spec.objective, folder=folder)
    kept = round(whole * scan.kept / max(1, scan.rows)) if streamed else scan.kept
    return DataFacts(
        source=_name_source(source.source, found.relative),
        origin=found.origin,
        path=found.relative,
        revision=found.revision,
        sha256=join_digests(report.files),
        size_bytes=sum(file.size_bytes for file in report.files),
        format=found.format,
        encoding=report.files[0].encoding,
        delimiter=report.files[0].delimiter,
        files=found.names,
        columns=report.columns,
        **asdict(roles),
        rows=scan.rows,
        sampled_rows=len(scan.examples) if scan.sampled else scan.rows,
        usable_rows=min(kept, limit_rows(spec.data, source, streamed=streamed) or kept),
        blank_rows=scan.blank,
        duplicate_rows=scan.duplicates,
        misencoded_rows=scan.damage["misencoded"],
        malformed_rows=scan.malformed,
        faults=dict(sorted((fault, rows) for fault, rows in scan.faults.items() if rows)),
        lost_rows=scan.damage["lost"],
        control_rows=scan.damage["control"],
        prompts=scan.distinct_prompts,
        largest_prompt_rows=scan.prompts.largest(),
        conflicting_rows=scan.conflicting,
        multi_turn=scan.multi_turn,
        has_message_cells=streamed or scan.has_message_cells,
        has_reasoning=streamed or scan.has_reasoning,
        has_system=scan.has_system,
        calls=scan.calls,
        lengths=report.lengths,
        preferences=report.preferences,
        rewards=measure_rewards(spec.objective, scan.examples, folder=folder, tools=tools),
        documents=count_documents(scan.examples) if compares_texts(spec.objective.type) else 0,
        feedback=_feedback(scan) if roles.label is not None else None,
        languages=find_languages(scan.examples),
        round_trip=report.round_trip,
        twins=report.twins,
        streamed_rows=whole if streamed else None,
        absent_tokens=() if streamed or scan.sampled else _find_absent(spec, scan),
        contents=report.contents,
        pictures=report.pictures,
        limited_lengths=report.limited_lengths,
        labels=_labels(spec, scan),
        left_lists=list_left_out(report.files),
        repeated_keys=report.repeated_keys,
        open_answers=scan.labels.why_open(MOST_CLASSES) if _classifies(spec.objective) else None,
    )


def _name_source(name: str, place: str | None) -> str:
    """Return the source as the spec names it, or its place beside the spec for a full path."""
    return name if place is None or not Path(name).expanduser().is_absolute() else place


def _labels(spec: Spec, scan: Scan) -> tuple[Label, ...]:
    return scan.labels.labels(MOST_CLASSES if _classifies(spec.objective) else MOST_LABELS)


def _feedback(scan: Scan) -> Feedback:
    return Feedback(desirable_rows=scan.verdicts["true"], undesirable_rows=scan.verdicts["false"])
