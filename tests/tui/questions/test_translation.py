"""Findings, failures and reasons in Catalan and Spanish: each by its key, with its values."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Final

import pytest

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import CATALOGUE
from ftc.compiler.plan.translated_reasons import read_reasons, sentence_in
from ftc.compiler.resolve.facts import known
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.spec.message import Message, Value
from ftc.spec.schema import fields
from ftc.spec.validate import validate
from ftc.tui.languages.translation import tell, tell_failure, tell_with_help
from ftc.tui.languages.voice import Language, Voice, read_catalogue
from ftc.tui.session.session import Session
from tests.compiler.conftest import build_case

TESTS: Final = Path(__file__).resolve().parents[2]
OTHERS: Final[tuple[Language, ...]] = ("ca", "es")
CATALAN: Final = Voice(language="ca")


def found(code: str, message: str = "", help: str = "", **values: Value) -> Finding:  # noqa: A002
    """Return a finding with these variants of its code's sentences."""
    return Finding(
        code=code,
        name="x",
        severity="error",
        problem=Message(f"{code}.message{message}", values),
        remedy=Message(f"{code}.help{help}", values),
    )


def _from_cases() -> Iterator[Finding]:
    for path in sorted((TESTS / "checks").glob("FTC*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["raises"]:
            spec, facts = build_case(case["edits"])
            every = known(facts)
            plan = None if every is None else make_plan(spec, every)
            yield from run_checks(spec, facts, plan)


def _from_bad_specs() -> Iterator[Finding]:
    for path in sorted((TESTS / "bad_specs").iterdir()):
        if not path.name.endswith(".expected.json"):
            document = load_document(str(path))
            judged = document if isinstance(document, tuple) else validate(document)
            if isinstance(judged, tuple):
                yield from judged


@cache
def raised() -> tuple[Finding, ...]:
    """Return what the rule cases and the bad specs raise, each sentence once."""
    findings = (*_from_cases(), *_from_bad_specs())
    return tuple({(each.message, each.help): each for each in findings}.values())


def placeholders(template: str) -> list[str]:
    """Return the names of the values in a template."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_raised_stays_in_english(language: Language) -> None:
    """A translated sentence is another sentence than the English one."""
    assert len({each.code for each in raised()}) > 120
    for each in raised():
        for part in (each.problem, each.remedy):
            assert part.render(language) != str(part), part


def test_reasons_keep_step_with_the_plan() -> None:
    """Every reason has its sentence in Catalan and in Spanish, with the same values."""
    assert set(read_reasons()) == set(CATALOGUE)
    for key, english in CATALOGUE.items():
        for language in OTHERS:
            sentence = read_reasons()[key][language]
            assert set(placeholders(sentence)) == set(placeholders(english)), key
            assert not sentence.endswith(".")


def test_catalogues_have_the_same_keys() -> None:
    """English takes the questions of fields from the schema; all else is in all three."""
    english = set(read_catalogue("en"))
    asked = {f"field.{field.pointer}.{part}" for field in fields() for part in ("ask", "why")}
    for language in OTHERS:
        keys = set(read_catalogue(language))
        assert keys - asked == english
        assert asked - keys == set()


def test_catalogues_agree_on_their_values() -> None:
    """A sentence takes the same values in every language."""
    for key, english in read_catalogue("en").items():
        for language in OTHERS:
            said = read_catalogue(language)[key]
            assert set(placeholders(said)) == set(placeholders(english)), key


def test_values_go_through() -> None:
    """Names stay letter by letter, numbers take the language's signs, words are said."""
    empty = found("FTC004", name="my spec.json")
    assert tell_with_help(empty, CATALAN) == (
        "error[FTC004] `my spec.json` és buit\n`ftc new` escriu una especificació inicial"
    )
    gib = 1024**3
    offers = [
        Message(
            "phrase.offer",
            {"change": Message("offer.lora_instead_of_full"), "needed": round(18.2 * gib)},
        ),
    ]
    big = found(
        "FTC420",
        needed=round(30.5 * gib),
        phase=Message("phase.optimizer_step"),
        hardware="RTX-4090",
        capacity=round(23.5 * gib),
        offers=offers,
    )
    assert tell_with_help(big, CATALAN) == (
        "error[FTC420] calen 30,5 GiB de memòria de GPU al pic (en el pas de l'optimitzador), i "
        "RTX-4090 té 23,5 GiB per procés\n"
        "què hi cabria: LoRA en comptes d'un entrenament complet: 18,2 GiB"
    )
    assert big.message == (
        "30.5 GiB of GPU memory are needed at the peak (optimizer step), "
        "and RTX-4090 has 23.5 GiB per process"
    )


def test_severities_and_failures_are_said() -> None:
    """A finding's line begins with its severity in words; a failure has two lines."""
    assert tell(found("FTC004", name="a"), Voice(language="es")) == "error[FTC004] `a` está vacío"
    failure = EnvironmentFailure(
        message=Message("failure.in_use.message", {"folder": "b"}),
        help=Message("failure.unwritable.help"),
    )
    assert tell_failure(failure, CATALAN) == (
        "un altre `ftc compile` està escrivint a `b`\ndesa-la amb un altre nom"
    )
    unknown = EnvironmentFailure(message="it broke", help="try again")
    assert tell_failure(unknown, CATALAN) == "it broke\ntry again"


def test_what_became_of_the_bundle_is_said() -> None:
    """A refusal of the disk keeps its three parts: where, why and what is left."""
    values: dict[str, Value] = {
        "folder": "b",
        "reason": Message("os.ENOSPC"),
        "kept": Message("failure.kept.untouched"),
    }
    failure = EnvironmentFailure(
        message=Message("failure.disk.message", values),
        help=Message("failure.disk.help.full"),
    )
    assert tell_failure(failure, CATALAN) == (
        "no s'ha pogut escriure a `b`: no queda espai al disc; el paquet és com abans\n"
        "allibera espai de disc, i torna a compilar"
    )


def test_reasons_are_given_with_their_numbers() -> None:
    """The same values as in English, written as the language writes them."""
    because = Because(key="rows.share", values={"share": 0.125, "rows": 12_000})
    assert sentence_in("en", because) == "12.5% of 12,000 used rows"
    assert sentence_in("ca", because) == "12,5 % de 12.000 files usades"


def test_a_conversation_in_catalan_says_its_findings_in_catalan(session: Session) -> None:
    """The trouble that a session asks about, and the reason of a decision."""
    session.voice = CATALAN
    session.reply("llama 3.1 8b on my 4090, tickets.csv, full fine-tuning, Q4_K_M")
    said = "\n".join(line.text for line in session.transcript)
    assert "error[FTC420]" in said
    assert "al pic (" in said
    assert "en comptes d'un entrenament complet" in said
    session.reply("lora")
    lines = session.reply("què és precision")
    assert "que no necessita escalar la pèrdua" in "\n".join(line.text for line in lines)
