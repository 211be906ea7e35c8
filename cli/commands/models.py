"""`ftc models`: the table of well-known models, by what they need and what they are for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ftc.commands import COMMANDS
from ftc.commands.options import format_option
from ftc.compiler.resolve.data import resolve_data
from ftc.compiler.resolve.facts import DataFacts, HardwareFacts, Unknown
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.shortlist import Candidate, Wish, list_models, nominal_data, shortlist
from ftc.report.machine import VERSION, dump
from ftc.spec.document import Document
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.sections import Spec
from ftc.spec.validate import validate

_GIBI = 1024**3
_BILLION = 1e9
_HOUR = 3600
_MAIN_LANGUAGE = 0.1
_REASONS = {
    "largest": "the largest that trains within a day",
    "another_maker": "the largest of another maker",
    "quickest": "the quickest of a billion parameters or more",
    "free_licence": "the largest under a free licence of a maker not above",
}
_NO_TOKENIZER = Unknown(
    finding=Finding(code="", name="", severity="info", message="no model is meant", help="")
)


@click.command(name="models", short_help=COMMANDS["models"])
@click.option("--hardware", help='What will train it, such as "2x A100-80GB".')
@click.option("--data", help="What it is trained on: a file or a Hub data set.")
@click.option("--language", "languages", multiple=True, help="ISO 639-1, such as ca; repeatable.")
@click.option("--license", "licence", help="A licence, such as apache-2.0.")
@click.option("--gguf", is_flag=True, help="Only what llama.cpp converts.")
@click.option("--short", is_flag=True, help="At most four, each for a reason of its own.")
@click.option("--all", "everything", is_flag=True, help="Those that lack something as well.")
@format_option("the table")
def command(
    *,
    hardware: str | None,
    data: str | None,
    languages: tuple[str, ...],
    licence: str | None,
    gguf: bool,
    short: bool,
    everything: bool,
    report: str,
) -> None:
    """List well-known models by what they need and are for.

    They are listed with what each needs on this hardware, for this data, and its licence.

    Without --data rows of 512 tokens stand in. The languages of the data count where it is given.
    """
    wish = _wish(hardware, data, languages, licence, gguf=gguf)
    reasons: Mapping[str, str] = {}
    if short:
        picks = shortlist(wish)
        found = tuple(pick.candidate for pick in picks)
        reasons = {pick.candidate.model.id: pick.reason for pick in picks}
    else:
        found = tuple(each for each in list_models(wish) if everything or not each.lacks)
    if report == "json":
        click.echo(dump({"version": VERSION, "models": [_data(each, reasons) for each in found]}))
    else:
        click.echo("\n".join(_table(found, reasons)))


def _wish(
    hardware: str | None,
    data: str | None,
    languages: tuple[str, ...],
    licence: str | None,
    *,
    gguf: bool,
) -> Wish:
    spec = _spec(hardware, data)
    folder = Path()
    facts = nominal_data() if data is None else _read(spec, folder)
    spoken = tuple(code for code, share in facts.languages.items() if share >= _MAIN_LANGUAGE)
    return Wish(
        spec=spec,
        data=facts,
        hardware=None if hardware is None else _machine(spec),
        languages=languages or spoken,
        context_tokens=facts.lengths.p99,
        licence=licence,
        gguf=gguf,
    )


def _spec(hardware: str | None, data: str | None) -> Spec:
    """Return a spec that says what was said, and stands in for the rest."""
    said: dict[str, Any] = {"name": "models", "model": "any/model", "data": data or "any"}
    if hardware is not None:
        said["hardware"] = hardware
    document = Document(name="", folder=Path(), text="", data=said, positions={})
    spec = validate(document)
    if isinstance(spec, tuple):
        raise EnvironmentFailure(message=spec[0].message, help=spec[0].help)
    return spec


def _read(spec: Spec, folder: Path) -> DataFacts:
    """Return what the data say, their lengths estimated: no model's tokenizer is meant."""
    facts = resolve_data(spec, folder=folder, tokenizer=_NO_TOKENIZER)
    if isinstance(facts, Unknown):
        raise EnvironmentFailure(message=facts.finding.message, help=facts.finding.help)
    return facts


def _machine(spec: Spec) -> HardwareFacts:
    facts = resolve_hardware(spec)
    if isinstance(facts, Unknown):
        raise EnvironmentFailure(message=facts.finding.message, help=facts.finding.help)
    return facts


def _data(candidate: Candidate, reasons: Mapping[str, str]) -> Mapping[str, Any]:
    model, plan = candidate.model, candidate.plan
    return {
        "id": model.id,
        "parameters": model.shape.parameters,
        "kind": model.kind,
        "licence": model.licence,
        "gated": model.gated,
        "context_tokens": model.context_tokens,
        "languages": list(model.languages),
        "gguf": model.convertible,
        "method": candidate.method,
        "device_bytes": None if plan is None else plan.memory.device_bytes,
        "time_seconds": None if plan is None else plan.time_seconds,
        "lacks": list(candidate.lacks),
        "reason": reasons.get(model.id),
    }


def _table(found: tuple[Candidate, ...], reasons: Mapping[str, str]) -> Iterator[str]:
    if not found:
        yield "no model of the table has all of that; --all shows what each lacks"
        return
    width = max(len(each.model.id) for each in found)
    yield (
        f"{'model':{width}}  {'size':>6}  {'context':>7}  {'method':6}"
        f"  {'memory':>9}  {'time':>7}  licence"
    )
    for each in found:
        reason = reasons.get(each.model.id)
        yield _row(each, width) + (f"  ({_REASONS[reason]})" if reason else "")


def _row(candidate: Candidate, width: int) -> str:
    model, plan = candidate.model, candidate.plan
    memory = f"{plan.memory.device_bytes / _GIBI:.1f} GiB" if plan else ""
    hours = f"{plan.time_seconds / _HOUR:.1f} h" if plan and plan.time_seconds else ""
    licence = f"{model.licence}, gated" if model.gated else model.licence
    lacks = f"  (lacks: {', '.join(candidate.lacks)})" if candidate.lacks else ""
    size = f"{model.shape.parameters / _BILLION:.1f}B"
    return (
        f"{model.id:{width}}  {size:>6}  {model.context_tokens:>7,}  {candidate.method or '':6}"
        f"  {memory:>9}  {hours:>7}  {licence}{lacks}"
    )
