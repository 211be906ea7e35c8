"""`ftc models`: the table of well-known models, by requirements and purpose."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from ftc.commands import COMMANDS
from ftc.commands.options import format_option
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import KINDS, Model, all_models
from ftc.compiler.plan.batch.lengths import usual_mean
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.summary.headline import say_seconds
from ftc.compiler.resolve.facts import Lengths, Unknown
from ftc.compiler.resolve.hardware import has_kernels
from ftc.compiler.resolve.model.similar import find_original
from ftc.compiler.resolve.resolver import NOT_SAID, Resolver
from ftc.compiler.shortlist import (
    MOST_FOR_LABELS,
    ROOM,
    Ability,
    Candidate,
    ModelRequirements,
    count_rows_for,
    find_abilities,
    list_models,
    nominal_data,
    shortlist,
)
from ftc.report.json_output import VERSION, dump
from ftc.spec.findings.finding import EnvironmentFailure, UsageFailure
from ftc.spec.message import Language, name_language, show
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.spec.values.nearest import nearest

_GIBI = 1024**3
_BILLION = 1e9
_CODE_LETTERS = 2
_MAIN_LANGUAGE = 0.1
_TOO_SLOW = "none of these models trains within a day there; without --short all are listed"
_COSTS = (
    "memory and time are those of the fastest layout that fits, so a lighter method can show "
    "more memory;\n{least};\nthe time is that of {rows:,} rows{said}"
)
_TOKENS = " of {tokens:,.0f} tokens on average"
_ANY_TOKENIZER = (
    ",\ncounted alike for all models: `ftc models NAME` and `ftc plan` count those of one model"
)
_LEAST = (
    "`ftc models NAME` shows the memory of the smallest layout too",
    "`at least` is the memory of the smallest layout, which is slower",
)
_SHOWS_MORE = "--hardware shows the method, the memory and the time of each"
_REASONS = {
    "largest": f"the largest that trains within a day and leaves {ROOM:.0%} of the memory free",
    "another_maker": "the largest from another maker",
    "quickest": "the fastest with a billion parameters or more",
    "free_licence": "the largest with a free licence from a maker not above",
}
# What is known of a time without hardware: smaller models are quicker.
_UNPLANNED = {
    "largest": "the largest that one GPU of 48 GB can train",
    "quickest": "the smallest with a billion parameters or more",
}


@click.command(name="models", short_help=COMMANDS["models"])
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--objective", help="The objective, such as embed; by default that of NAME, or sft.")
@click.option("--hardware", help='The hardware for training, such as "2x A100-80GB".')
@click.option("--data", help="The training data: a file or a Hub data set.")
@click.option(
    "--language",
    "languages",
    multiple=True,
    help="An ISO 639-1 code or a name, such as ca or Catalan; repeatable.",
)
@click.option("--license", "licence", help="A licence, such as apache-2.0.")
@click.option("--gguf", is_flag=True, help="Only models that llama.cpp can convert.")
@click.option("--short", is_flag=True, help="At most four models, each with its own reason.")
@click.option(
    "--all", "everything", is_flag=True, help="Also models that do not meet a requirement."
)
@format_option("the table")
def command(
    *,
    names: tuple[str, ...],
    objective: str | None,
    hardware: str | None,
    data: str | None,
    languages: tuple[str, ...],
    licence: str | None,
    gguf: bool,
    short: bool,
    everything: bool,
    report: str,
) -> None:
    """List well-known models, with their memory, licence and languages.

    Each model is planned for the given hardware and data. With NAME (part of an id, such as
    Qwen3-8B), --hardware also shows each method, the memory of its smallest layout and the longest
    rows that it trains.

    Without --data, rows of 512 tokens are assumed. With it, the languages of the data count too.
    """
    if names and short:
        raise click.UsageError("--short chooses among all models: leave NAME out.")
    named = _named(names) if names else ()
    spec = _spec(objective or _objective_of(named), hardware, data)
    unsaid = {name for name, said in (("data", data), ("hardware", hardware)) if said is None}
    asked = tuple(map(_language, languages))
    wish = _wish(spec, unsaid, asked, _licence(licence), gguf=gguf)
    if short and wish.data.labels:
        wish = replace(wish, most_parameters=MOST_FOR_LABELS, labels=True)
    wishes = {each.id: count_rows_for(wish, each, Path()) if data else wish for each in named}
    abilities: Mapping[str, tuple[Ability, ...]] = {}
    reasons: Mapping[str, str] = {}
    if short:
        picks = shortlist(wish)
        found = tuple(pick.candidate for pick in picks)
        reasons = {pick.candidate.model.id: pick.reason for pick in picks}
    elif names:
        listed = (each for model in named for each in list_models(wishes[model.id], [model]))
        found = tuple(sorted(listed, key=lambda each: (len(each.lacks), each.model.id.casefold())))
        abilities = {each.id: find_abilities(wishes[each.id], each) for each in named}
    else:
        found = tuple(each for each in list_models(wish) if everything or not each.lacks)
    planned = wish.hardware is not None
    if report == "json":
        models = [_data(each, reasons, abilities.get(each.model.id, ())) for each in found]
        click.echo(dump({"version": VERSION, "models": models}))
    else:
        slow = short and not found and any(not each.lacks for each in list_models(wish))
        table = [_TOO_SLOW] if slow else _table(found, reasons, planned=planned)
        click.echo("\n".join(table))
        if planned and found:
            shown = [(each.model.id, abilities.get(each.model.id, ())) for each in found if names]
            for name, each in shown:
                click.echo("".join(_ability_lines(name, each, wishes[name].data.lengths)), nl=False)
            click.echo(f"\n{_explain_costs(wish, by_name=bool(names), counted=data is not None)}")


def _named(names: tuple[str, ...]) -> tuple[Model, ...]:
    """Return the models of the table whose ids contain one of the names, whatever their case."""
    wanted = tuple(name.casefold() for name in names)
    found = tuple(each for each in all_models() if any(n in each.id.casefold() for n in wanted))
    if not found and (original := next(filter(None, map(find_original, names)), None)):
        raise UsageFailure(
            message=f"the table has no copies such as {names[0]}",
            help=f"`ftc models {original.id}` has what they were made from",
        )
    if not found:
        raise UsageFailure(
            message=f"the table has no model whose id contains {' or '.join(names)}",
            help="`ftc models --all` lists the table; `ftc plan` plans any model of the Hub",
        )
    return found


def _language(word: str) -> str:
    """Return the code of a language, which is written as a code or by its name."""
    codes = {code for model in all_models() for code in model.languages}
    names = {
        show(name_language(code), "", language).casefold(): code
        for language in get_args(Language)
        for code in codes
    }
    written = word.casefold()
    if written in codes or written in names:
        return names.get(written, written)
    near = nearest(word, names) if len(word) > _CODE_LETTERS else None
    raise UsageFailure(
        message=f"no model of the table is said to know the language {word}",
        help=f"did you mean {near} ({names[near]})?" if near else _one_of(codes),
    )


def _licence(word: str | None) -> str | None:
    """Return the licence as the table writes it."""
    known = {model.licence for model in all_models()}
    if word is None or word.casefold() in known:
        return word and word.casefold()
    near = nearest(word, known)
    raise UsageFailure(
        message=f"no model of the table has the licence {word}",
        help=f"did you mean {near}?" if near else _one_of(known),
    )


def _one_of(words: Iterable[str]) -> str:
    return f"write one of {', '.join(sorted(words))}"


def _ability_lines(name: str, abilities: Iterable[Ability], lengths: Lengths) -> Iterator[str]:
    """Yield the table of a model: what each method takes, and the longest rows that fit."""
    yield f"\n{name}, with rows of {usual_mean(lengths):,.0f} tokens on average\n"
    yield f"  {'method':8}{'memory':>10}{'at least':>11}  {'time':>7}  longest rows\n"
    for ability in abilities:
        memory, hours = _cost(ability.plan)
        hours = hours if ability.fits else ""
        longest = f"{ability.longest_tokens:,} tokens" if ability.longest_tokens else "none fit"
        fits = "" if ability.fits else "  (these rows do not fit)"
        least = _gibibytes(ability.least_bytes)
        yield f"  {ability.method:8}{memory:>10}{least:>11}  {hours:>7}  {longest}{fits}\n"


def _explain_costs(wish: ModelRequirements, *, by_name: bool, counted: bool) -> str:
    """Return what memory and time are of; `counted` if the tokens are those of given data."""
    tokens = _TOKENS.format(tokens=usual_mean(wish.data.lengths))
    said = "" if by_name and counted else f"{tokens}{_ANY_TOKENIZER if counted else ''}"
    return _COSTS.format(least=_LEAST[by_name], rows=wish.data.usable_rows, said=said)


def _wish(
    spec: Spec,
    unsaid: set[str],
    languages: tuple[str, ...],
    licence: str | None,
    *,
    gguf: bool,
) -> ModelRequirements:
    """Return the requirements; `unsaid` are sections of the spec that are only stand-ins."""
    facts = Resolver().resolve(spec, folder=Path(), unsaid={"model", "tokenizer", *unsaid})
    for fact, failure in ((facts.data, EnvironmentFailure), (facts.hardware, UsageFailure)):
        if isinstance(fact, Unknown) and fact is not NOT_SAID:
            raise failure(message=fact.finding.problem, help=fact.finding.remedy)
    if not isinstance(facts.hardware, Unknown) and not has_kernels(facts.hardware):
        raise UsageFailure(
            message=f"the locked torch has no kernels for {facts.hardware.name}",
            help="`ftc explain FTC333` says which GPUs it has them for",
        )
    # lengths are estimated: no model's tokenizer is meant
    rows = nominal_data() if isinstance(facts.data, Unknown) else facts.data
    spoken = tuple(code for code, share in rows.languages.items() if share >= _MAIN_LANGUAGE)
    return ModelRequirements(
        spec=spec,
        data=rows,
        hardware=None if isinstance(facts.hardware, Unknown) else facts.hardware,
        languages=languages or spoken,
        context_tokens=rows.lengths.p99,
        licence=licence,
        gguf=gguf,
    )


def _objective_of(named: tuple[Model, ...]) -> str:
    """Return the objective that all named models are made for; sft where they differ."""
    kinds = {model.kind for model in named}
    for objective in ("embed", "rerank"):
        if kinds and kinds <= set(KINDS[OBJECTIVES[objective].head]):
            return objective
    return "sft"


def _spec(objective: str, hardware: str | None, data: str | None) -> Spec:
    """Return a spec with the given values, and stand-ins for the rest."""
    said: dict[str, Any] = {"name": "models", "model": "any/model", "data": data or "any"}
    said["objective"] = objective
    if hardware is not None:
        said["hardware"] = hardware
    document = Document(name="", folder=Path(), text="", data=said, positions={})
    spec = validate(document)
    if isinstance(spec, tuple):
        raise UsageFailure(message=spec[0].problem, help=spec[0].remedy)
    return spec


def _data(
    candidate: Candidate, reasons: Mapping[str, str], abilities: tuple[Ability, ...]
) -> Mapping[str, Any]:
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
        "methods": [
            {
                "method": ability.method,
                "fits": ability.fits,
                "device_bytes": ability.plan.memory.device_bytes,
                "least_bytes": ability.least_bytes,
                "time_seconds": ability.plan.time_seconds,
                "longest_tokens": ability.longest_tokens,
            }
            for ability in abilities
        ],
    }


def _table(
    found: tuple[Candidate, ...], reasons: Mapping[str, str], *, planned: bool
) -> Iterator[str]:
    """Yield a head and a line for each model; without hardware nothing of it is `planned`."""
    if not found:
        yield "no model of the table has all of that; --all shows what each lacks"
        return
    width = max(len(each.model.id) for each in found)
    costs = _columns("method", "memory", "time") if planned else ""
    yield f"{'model':{width}}  {'size':>6}  {'context':>7}{costs}  licence"
    for each in found:
        reason = reasons.get(each.model.id)
        said = {**_REASONS, **({} if planned else _UNPLANNED)}[reason] if reason else ""
        yield _row(each, width, planned=planned) + (f"  ({said})" if said else "")
    if not planned:
        yield _SHOWS_MORE


def _columns(method: str, memory: str, time: str) -> str:
    return f"  {method:6}  {memory:>9}  {time:>7}"


def _cost(plan: Plan | None) -> tuple[str, str]:
    """Return the memory and the time of a plan as text."""
    memory = _gibibytes(plan.memory.device_bytes) if plan else ""
    return memory, say_seconds(plan.time_seconds) if plan and plan.time_seconds else ""


def _gibibytes(count: int) -> str:
    return f"{count / _GIBI:.1f} GiB"


def _size(parameters: int) -> str:
    return (
        f"{parameters / _BILLION:.1f}B"
        if parameters >= _BILLION / 10
        else f"{parameters / 1e6:.0f}M"
    )


def _row(candidate: Candidate, width: int, *, planned: bool) -> str:
    model = candidate.model
    costs = _columns(candidate.method or "", *_cost(candidate.plan)) if planned else ""
    licence = f"{model.licence}, gated" if model.gated else model.licence
    lacks = f"  (lacks: {', '.join(candidate.lacks)})" if candidate.lacks else ""
    size = _size(model.shape.parameters)
    return f"{model.id:{width}}  {size:>6}  {model.context_tokens:>7,}{costs}  {licence}{lacks}"
