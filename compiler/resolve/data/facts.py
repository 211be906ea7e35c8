"""Data facts: what the rows hold, which column is what, what is left and how long it is."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.default_systems import default_system
from ftc.compiler.knowledge.models import find_model
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts, gives_relevance
from ftc.compiler.knowledge.tokenizers import chars_per_token
from ftc.compiler.resolve.content.answer_kinds import MOST_CLASSES, MOST_LABELS
from ftc.compiler.resolve.content.languages import find_languages
from ftc.compiler.resolve.content.lost_text import try_round_trip
from ftc.compiler.resolve.content.markers import (
    KnownMarkers,
    find_absent_tokens,
    list_markers,
    look_up_markers,
)
from ftc.compiler.resolve.content.near_duplicates import PromptCount, find_twins
from ftc.compiler.resolve.content.rewards import measure_rewards
from ftc.compiler.resolve.content.scan import Scan, look_into, scan_rows
from ftc.compiler.resolve.content_facts import Contents
from ftc.compiler.resolve.data import findings as data_faults
from ftc.compiler.resolve.data.files import DataFiles, find_data_files
from ftc.compiler.resolve.data.lengths import (
    Count,
    count_answers,
    count_lengths,
    count_longest,
    count_scored,
    estimate_lengths,
    estimate_longest,
    estimate_scored,
    find_refusal,
    summarise,
)
from ftc.compiler.resolve.data.mixture import find_mixed_forms, mix_facts
from ftc.compiler.resolve.data.stream import count_rows
from ftc.compiler.resolve.facts import (
    DataFacts,
    Feedback,
    Label,
    Lengths,
    Preferences,
    TokenizerFacts,
    Twins,
    Unknown,
)
from ftc.compiler.resolve.rows.reader import Row, UnreadableError, find_other_kind, read_table
from ftc.compiler.resolve.rows.roles import Roles, Unassigned, assign_roles
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.compiler.resolve.tokenizer.facts import reload_tokenizer
from ftc.runtime.round_trip import RoundTrip
from ftc.spec.finding import Finding
from ftc.spec.salvage import known_or_none
from ftc.spec.sections import Spec
from ftc.spec.sources import WholeSource, is_mixture, limit_rows, list_sources

#: Above this size the lengths of a sample stand for all.
LARGE_BYTES: Final = 64 * 1024 * 1024
#: Share of letters beyond ASCII from which text is not taken for English.
_FOREIGN_SHARE: Final = 0.01


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


#: Lengths, those of answers that are compared, what the texts lose as tokens, and what they hold.
_Measured = tuple[Lengths, Preferences | None, RoundTrip | None, Contents]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What two looks at one source gave: at its rows, and at the lengths of its examples."""

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
    twins: Twins


def resolve_data(
    spec: Spec, *, folder: Path, tokenizer: TokenizerFacts | Unknown
) -> DataFacts | Unknown:
    """Return the data's facts; lengths are estimates where the tokenizer is not at hand.

    `max_rows` limits the usable rows alone, as `prepare.py` draws them after cleaning. A row that
    an earlier source had is a copy.
    """
    reports: list[_Report] = []
    prompts = PromptCount()
    for source in list_sources(spec.data):
        report = _look(spec, source, folder=folder, tokenizer=tokenizer, prompts=prompts)
        if isinstance(report, Unknown):
            return report
        reports.append(report)
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
    prompts: PromptCount,
) -> _Report | Unknown:
    """Find a source's files and read them; what the world refuses is a finding."""
    found = find_data_files(spec, source, folder=folder)
    if isinstance(found, Finding):
        return Unknown(finding=found)
    count = partial(_measure, spec, folder=folder, tokenizer=tokenizer)
    try:
        return _read(spec, source, found, prompts=prompts, measure=count)
    except UnreadableError as error:
        return Unknown(finding=data_faults.broken(source, found.format, error.reason))
    except OSError as error:
        return Unknown(finding=data_faults.unreadable(source, error))
    except ImportError:
        return Unknown(finding=data_faults.no_reader(source))


def _read(
    spec: Spec,
    source: WholeSource,
    found: DataFiles,
    *,
    prompts: PromptCount,
    measure: Callable[[Scan], _Measured | None],
) -> _Report | Unknown:
    """Go from files to rows, roles, counts and lengths."""
    if found.format != "parquet":
        for path in found.paths:
            if kind := find_other_kind(path):
                return Unknown(finding=data_faults.other_kind(source, kind))
    files = [inspect_file(path, found.format) for path in found.paths]
    whole = [file for file in files if isinstance(file, TableFile)]
    if len(whole) < len(files):
        return Unknown(finding=data_faults.binary(source))
    columns, rows = _open(whole)
    forms = OBJECTIVES[spec.objective.type].forms
    roles = assign_roles(columns, named=source.columns, form=source.form, forms=forms)
    if isinstance(roles, Unassigned):
        if not columns:
            return Unknown(finding=data_faults.empty(source, found.format, sum(1 for _ in rows)))
        return Unknown(finding=data_faults.unassigned(source, roles, columns, spec.objective.type))
    if twice := [column for column in roles.columns() if columns.count(column) > 1]:
        return Unknown(finding=data_faults.ambiguous(source, twice[0]))
    large = sum(file.size_bytes for file in whole) > LARGE_BYTES
    scan = scan_rows(
        rows,
        roles,
        spec.data.cleaning,
        sample=large,
        prompts=prompts,
        strip_reasoning=spec.data.reasoning == "strip",
    )
    with ThreadPoolExecutor(max_workers=1) as pool:  # works while the tokenizer does
        twins = pool.submit(find_twins, scan.examples, scan.numbers)
        lengths = measure(scan) if scan.kept else None
    if not scan.examples and scan.duplicates:  # of an earlier source's rows
        lengths = _NO_LENGTHS, None, None, Contents()
    if lengths is None:
        return Unknown(finding=data_faults.unusable(source, scan))
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
        contents=lengths[3],
        twins=twins.result(),
    )


def _open(files: Sequence[TableFile]) -> tuple[tuple[str, ...], Iterator[Row | None]]:
    """Chain the rows of all files; the first one names the columns."""
    first = read_table(files[0])
    others = (row for file in files[1:] for row in read_table(file).rows)
    return first.columns, chain(first.rows, others)


def _find_absent(spec: Spec, scan: Scan) -> tuple[str, ...]:
    """Return the new tokens that no row holds; none where the spec's model is left out."""
    return known_or_none(lambda: find_absent_tokens(spec, scan.examples)) or ()


def _classifies(spec: Spec) -> bool:
    """Tell whether a head is trained to tell labels apart."""
    return spec.objective.type == "classification"


def _measure(
    spec: Spec, scan: Scan, *, folder: Path, tokenizer: TokenizerFacts | Unknown
) -> _Measured | None:
    """Count tokens with the model's own tokenizer, which is tried on texts, or estimate them.

    An example that the chat template refuses is moved to the malformed ones.
    """
    known = tokenizer if isinstance(tokenizer, TokenizerFacts) else None
    loaded = reload_tokenizer(spec, known, folder=folder) if known is not None else None
    system, joined = spec.data.system, gives_relevance(spec.objective.type)
    if loaded is not None and known is not None:
        system = None if known.accepts_system is False else system
        count: Count = partial(count_lengths, tokenizer=loaded, system=system)
        if _classifies(spec):
            count = partial(count_scored, tokenizer=loaded)
        elif compares_texts(spec.objective.type):
            count = partial(count_longest, tokenizer=loaded, joined=joined)
    else:
        ratio = _ratio(scan, known)
        system = system or known_or_none(lambda: _template_system(spec))
        count = partial(estimate_lengths, chars_per_token=ratio, system=system)
        if _classifies(spec):
            count = partial(estimate_scored, chars_per_token=ratio)
        elif compares_texts(spec.objective.type):
            count = partial(estimate_longest, chars_per_token=ratio, joined=joined)
    if loaded is None:
        looked_up = known_or_none(lambda: look_up_markers(spec.model.id, spec.model.new_tokens))
        markers = looked_up or KnownMarkers()
    else:
        markers = list_markers(loaded, spec.model.new_tokens)
    sampled = OBJECTIVES[spec.objective.type].rewards
    contents = look_into(scan, _labels(spec, scan), markers, sampled=sampled)
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
        name, labelled = known.loaded_class, _classifies(spec)
        tried = try_round_trip(scan.examples, loaded, name, labelled=labelled)
    return summarise(counted, estimate=loaded is None), preferences, tried, contents


def _template_system(spec: Spec) -> str | None:
    """Return what the chat template of a known tuned model writes where a row has no system."""
    entry = find_model(spec.model.id)
    own = spec.model.chat_template is not None
    return None if own or entry is None or entry.kind == "base" else default_system(entry.id)


def _ratio(scan: Scan, tokenizer: TokenizerFacts | None) -> float:
    """Return characters per token, lower for text with many letters beyond ASCII."""
    texts = [text for example in scan.examples[:1000] for _, text in example.turns]
    total = sum(map(len, texts))
    ascii_only = sum(len(text.encode("ascii", "ignore")) for text in texts)
    english = total - ascii_only <= _FOREIGN_SHARE * total
    family = tokenizer.family if tokenizer is not None else ""
    ratio = chars_per_token(family, english=english)
    return min(ratio, tokenizer.chars_per_token) if tokenizer is not None else ratio


def _facts(spec: Spec, report: _Report, *, folder: Path) -> DataFacts:
    source, found, scan, roles = report.source, report.found, report.scan, report.roles
    files, place, name = report.files, found.relative, source.source
    absolute = place is not None and Path(name).expanduser().is_absolute()
    whole = scan.rows if found.first is None else count_rows(found.first, scan.rows)
    kept = round(whole * scan.kept / max(1, scan.rows)) if found.first else scan.kept
    streamed = found.first is not None
    return DataFacts(
        source=place if absolute and place is not None else name,
        origin=found.origin,
        path=place,
        revision=found.revision,
        sha256=_digest(files),
        size_bytes=sum(file.size_bytes for file in files),
        format=found.format,
        encoding=files[0].encoding,
        delimiter=files[0].delimiter,
        files=found.names,
        columns=report.columns,
        form=roles.form,
        messages=roles.messages,
        prompt=roles.prompt,
        completion=roles.completion,
        instruction=roles.instruction,
        input=roles.input,
        output=roles.output,
        text=roles.text,
        tools=roles.tools,
        chosen=roles.chosen,
        rejected=roles.rejected,
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
        has_system=scan.has_system,
        calls=scan.calls,
        lengths=report.lengths,
        preferences=report.preferences,
        rewards=measure_rewards(spec, scan.examples, folder=folder),
        label=roles.label,
        score=roles.score,
        feedback=_feedback(scan) if roles.label is not None else None,
        languages=find_languages(scan.examples),
        round_trip=report.round_trip,
        twins=report.twins,
        streamed_rows=whole if streamed else None,
        absent_tokens=() if streamed or scan.sampled else _find_absent(spec, scan),
        contents=report.contents,
        labels=_labels(spec, scan),
        open_answers=scan.labels.why_open(MOST_CLASSES) if _classifies(spec) else None,
    )


def _labels(spec: Spec, scan: Scan) -> tuple[Label, ...]:
    return scan.labels.labels(MOST_CLASSES if _classifies(spec) else MOST_LABELS)


def _feedback(scan: Scan) -> Feedback:
    return Feedback(desirable_rows=scan.verdicts["true"], undesirable_rows=scan.verdicts["false"])


def _digest(files: Sequence[TableFile]) -> str:
    """Return the file's hash, or a hash over the hashes of several."""
    if len(files) == 1:
        return files[0].sha256
    return hashlib.sha256("\n".join(file.sha256 for file in files).encode()).hexdigest()
