"""Findings and reasons in Catalan and Spanish: every text that a rule raises has its sentence."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from ftc.catalogue import PAGES
from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.known import known
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import CATALOGUE
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.schema import fields, read_planned
from ftc.tui.session import Session
from ftc.tui.translation import (
    Part,
    Template,
    give_reason,
    match,
    placeholders,
    read_findings,
    read_phrases,
    read_reasons,
    respell,
    tell,
    tell_failure,
    translate,
)
from ftc.tui.voice import LANGUAGES, Language, Voice, read_catalogue
from tests.compiler.conftest import build_case

TESTS: Final = Path(__file__).resolve().parents[1]
OTHERS: Final[tuple[Language, ...]] = ("ca", "es")
CATALAN: Final = Voice(language="ca")


def found(code: str, message: str, help: str) -> Finding:  # noqa: A002 - the finding's field
    """Return a finding with these texts."""
    return Finding(code=code, name="x", severity="error", message=message, help=help)


def _from_cases() -> Iterator[tuple[str, Part, str]]:
    for path in sorted((TESTS / "checks").glob("FTC*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["raises"]:
            spec, facts = build_case(case["edits"])
            every = known(facts)
            plan = None if every is None else make_plan(spec, every)
            for finding in run_checks(spec, facts, plan):
                yield finding.code, "message", finding.message
                yield finding.code, "help", finding.help


def _from_bad_specs() -> Iterator[tuple[str, Part, str]]:
    for path in sorted((TESTS / "bad_specs").glob("*.expected.json")):
        for finding in json.loads(path.read_text(encoding="utf-8")):
            yield finding["code"], "message", finding["message"]
            yield finding["code"], "help", finding["help"]


@cache
def raised() -> tuple[tuple[str, Part, str], ...]:
    """Return (code, part, text) of all that the rule cases and the bad specs raise."""
    return tuple(sorted({*_from_cases(), *_from_bad_specs()}))


def templates() -> Iterator[tuple[str, Template]]:
    """Yield every template with the name of its place."""
    for code, parts in read_findings().items():
        for part, listed in parts.items():
            yield from ((f"{code}.{part}", template) for template in listed)
    yield from (("phrase", template) for template in read_phrases())


def test_every_code_has_templates() -> None:
    """No code is left out, and there is none that does not exist."""
    codes = {page.code for page in PAGES}
    assert set(read_findings()) == codes | {"failure"}
    for parts in read_findings().values():
        assert parts["message"]
        assert parts["help"]


def test_whatever_is_raised_has_a_template() -> None:
    """The rules' own cases and the expectations of bad specs, message and help apart."""
    texts = raised()
    assert len({code for code, _, _ in texts}) > 120
    assert [text for text in texts if not match(*text)] == []


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_raised_stays_in_english(language: Language) -> None:
    """A translated sentence is another sentence than the English one."""
    voice = Voice(language=language)
    same = []
    for code, part, text in raised():
        told = translate(found(code, text, text), voice)
        if getattr(told, part) == text:
            same.append((code, part, text))
    assert same == []


def test_templates_agree_on_their_values() -> None:
    """Every language has the sentence, with the values of the English one and no others."""
    for place, template in templates():
        assert set(template) == set(LANGUAGES), place
        expected = sorted(set(placeholders(template["en"])))
        for language in OTHERS:
            assert sorted(set(placeholders(template[language]))) == expected, template


def test_templates_are_told_apart() -> None:
    """No template is hidden behind an earlier one of its code: its own text comes back as its."""
    for code, parts in read_findings().items():
        for part, listed in parts.items():
            for template in listed:
                values = dict.fromkeys(placeholders(template["en"]), "7")
                text = template["en"].format(**values)
                told = translate(found(code, text, text), CATALAN)
                assert getattr(told, part) == template["ca"].format(**values), template["en"]


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


def test_advice_for_what_is_planned_is_translated() -> None:
    """What the language will have one day, and what to write until then."""
    planned = read_planned()
    advice = [*planned["keys"].values()]
    advice += [each for values in planned["values"].values() for each in values.values()]
    for text in advice:
        told = translate(found("FTC040", text, text), CATALAN)
        assert told.help != text


@pytest.mark.parametrize(
    ("finding", "message", "help_"),
    [
        (
            found("FTC004", "`my spec.json` is empty", "`ftc new` writes a starter spec"),
            "`my spec.json` és buit",
            "`ftc new` escriu una especificació inicial",
        ),
        (
            found(
                "FTC034",
                '`training.epochs` cannot be `"3 or 4"`',
                "write `auto` or a number above 0 and at most 1,000",
            ),
            '`training.epochs` no pot ser `"3 or 4"`',
            "escriu `auto` o un nombre de més de 0 i com a màxim 1.000",
        ),
        (
            found(
                "FTC243",
                "labels differ only in spelling: `bed and bath` and `Bed and bath`, and 3 more",
                "write each label one way in the data",
            ),
            (
                "hi ha etiquetes que només difereixen en la manera d'escriure-les: "
                "`bed and bath` i `Bed and bath`, i 3 més"
            ),
            "escriu cada etiqueta d'una sola manera a les dades",
        ),
        (
            found(
                "FTC420",
                "30.5 GiB are needed at the peak (optimizer step), and RTX-4090 has 23.5 GiB per "
                "process",
                "what would fit: LoRA instead of a full fine-tune: 18.2 GiB; optimizer states in "
                "the host's memory and 2 GPUs with ZeRO-2: 20.0 GiB",
            ),
            (
                "calen 30,5 GiB al pic (en el pas de l'optimitzador), i RTX-4090 té 23,5 GiB per "
                "procés"
            ),
            (
                "què hi cabria: LoRA en comptes d'un ajust complet: 18,2 GiB; els estats de "
                "l'optimitzador a la memòria de l'ordinador i 2 GPU amb ZeRO-2: 20,0 GiB"
            ),
        ),
    ],
)
def test_values_go_through(finding: Finding, message: str, help_: str) -> None:
    """Names stay letter by letter, numbers take the language's signs, words are said."""
    told = translate(finding, CATALAN)
    assert (told.message, told.help) == (message, help_)
    assert translate(finding, Voice()) == finding


def test_what_has_no_template_is_said_in_english() -> None:
    """An unknown code, an unknown text and braces among the values are no error."""
    for code, text in (("FTC998", "it broke"), ("FTC004", "another sentence {x}")):
        assert translate(found(code, text, text), CATALAN).message == text
    braces = translate(found("FTC001", "there is no file `{0}.json`", ""), CATALAN)
    assert braces.message == "no hi ha cap fitxer `{0}.json`"


def test_numbers_are_respelt_and_versions_are_not() -> None:
    """Only what is a number as a whole, outside of backticks."""
    assert respell("1,234.5 GiB", "es") == "1.234,5 GiB"
    assert respell("ftc 0.1.0", "es") == "ftc 0.1.0"
    text = "A100 (compute capability 7.5) lacks 4-bit kernels"
    assert "7.5" in translate(found("FTC330", text, ""), CATALAN).message


def test_severities_and_failures_are_said() -> None:
    """A finding's line begins with its severity in words; a failure has two lines."""
    line = tell(found("FTC004", "`a` is empty", ""), Voice(language="es"))
    assert line == "error[FTC004] `a` está vacío"
    warning = Finding(code="FTC255", name="x", severity="warning", message="x", help="")
    assert tell(warning, CATALAN) == "avís[FTC255] x"
    failure = EnvironmentFailure(
        message="another `ftc compile` is writing to `b`", help="save it under another name"
    )
    assert tell_failure(failure, CATALAN) == (
        "un altre `ftc compile` està escrivint a `b`\ndesa-la amb un altre nom"
    )


def test_what_became_of_the_bundle_is_said() -> None:
    """A refusal of the disk keeps its three parts: where, why and what is left."""
    failure = EnvironmentFailure(
        message="could not write to `b`: no space left on device; the bundle is as it was before",
        help="free some disk space, then compile again",
    )
    assert tell_failure(failure, CATALAN) == (
        "no s'ha pogut escriure a `b`: no queda espai al disc; el paquet és com abans\n"
        "allibera espai de disc, i torna a compilar"
    )


def test_reasons_are_given_with_their_numbers() -> None:
    """The same values as in English, written as the language writes them."""
    because = Because(key="rows.share", values={"share": 0.125, "rows": 12_000})
    assert give_reason(because, Voice()) == "12.5 % of 12,000 usable rows"
    assert give_reason(because, CATALAN) == "12,5 % de 12.000 files útils"


def test_a_conversation_in_catalan_says_its_findings_in_catalan(session: Session) -> None:
    """The trouble that a session asks about, and the reason of a decision."""
    session.voice = CATALAN
    session.reply("llama 3.1 8b on my 4090, tickets.csv, full fine-tuning, Q4_K_M")
    said = "\n".join(line.text for line in session.transcript)
    assert "error[FTC420]" in said
    assert "al pic (" in said
    assert "en comptes d'un ajust complet" in said
    session.reply("lora")
    lines = session.reply("què és precision")
    assert "que no necessita escalar la pèrdua" in "\n".join(line.text for line in lines)
