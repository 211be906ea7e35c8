"""Escape by construction: no string of a spec, a model or a data file becomes code.

Two walls are tested with hostile strings in every free field at once: the rendered syntax trees
equal those of harmless strings, constants aside; and the scripts, really started, leave no canary.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.facts import (
    DataFacts,
    HardwareFacts,
    KnownFacts,
    Label,
    ModelFacts,
    TokenizerFacts,
)
from ftc.compiler.resolve.stored_facts import restore_fact
from ftc.compiler.verify.verifier import verify_files
from ftc.spec.sections import Spec
from ftc.spec.validate import to_spec
from tests.end_to_end.process import run

LOCK = Path(__file__).parent / "golden" / "quickstart" / "ftc.lock.json"
CANARY = "canary-file"
PAYLOADS = (
    f'"""; open("{CANARY}", "w"); """',
    f"'''; open('{CANARY}', 'w'); '''",
    f"\"); open('{CANARY}', 'w'); (\"",
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"; touch {CANARY} #",
    f"x\nopen('{CANARY}', 'w')\n",
    f"x\u2028open('{CANARY}', 'w')\u2029",
    f"x\r\nimport os; os.system('touch {CANARY}')",
    f"{{{{ ''.__class__.__mro__ }}}}{{% include '/etc/passwd' %}} {CANARY}",
    f"../../{CANARY}",
    f"\\\nopen('{CANARY}', 'w')",
    f"{{open('{CANARY}', 'w')}}",
    f"%(x)s %s {{0}} \x00 {CANARY}",
    f"| a | <script>{CANARY}</script> [x](javascript:1)\n# heading",
    f"${{IFS}}touch${{IFS}}{CANARY}\\",
)
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"method": "full", "hardware": "cpu", "export": ["Q8_0", "Q4_K_M"]},
    "lora": {"method": {"type": "lora", "targets": ["q_proj"]}, "hardware": "cpu"},
    "zero": {"method": "full", "hardware": "2x cpu", "distribution": "zero3"},
}


@pytest.fixture(scope="module")
def facts() -> KnownFacts:
    """Give the quickstart's facts, from its committed lock."""
    stored = json.loads(LOCK.read_text(encoding="utf-8"))["facts"]
    return KnownFacts(
        model=restore_fact(stored["model"], ModelFacts),
        tokenizer=restore_fact(stored["tokenizer"], TokenizerFacts),
        data=restore_fact(stored["data"], DataFacts),
        hardware=restore_fact(stored["hardware"], HardwareFacts),
    )


def render(facts: KnownFacts, variant: str, word: Callable[[str], str]) -> list[RenderedFile]:
    """Render a bundle in which every free string is `word` of its place."""
    spec = fill_spec(variant, word)
    filled = fill_facts(facts, word)
    source = BundleSource(
        spec=spec,
        written={"name": "free", "model": word("model"), "data": word("data")},
        facts=replace(filled, hardware=replace(filled.hardware, count=spec_count(spec))),
        plan=make_plan(
            spec, replace(facts, hardware=replace(facts.hardware, count=spec_count(spec)))
        ),
        data_path=word("data_path"),
        model_path=word("model_path"),
        chat_template=word("template"),
    )
    return list(render_bundle(source))


def spec_count(spec: Spec) -> int:
    """Return the processes that a spec asks for."""
    return spec.hardware.count if isinstance(spec.hardware.count, int) else 1


def fill_spec(variant: str, word: Callable[[str], str]) -> Spec:
    """Return a spec with `word` in each field that takes free text."""
    base = {"name": "free", "model": "./model", "data": {"source": "x.csv"}, **VARIANTS[variant]}
    spec = to_spec(base)
    data = replace(
        spec.data,
        source=word("source"),
        revision=word("data_revision"),
        subset=word("subset"),
        split=word("split"),
        system=word("system"),
        template_options={"style": word("option")},
    )
    model = replace(
        spec.model, id=word("id"), revision=word("revision"), chat_template=word("chat_template")
    )
    return replace(spec, data=data, model=model)


def fill_facts(facts: KnownFacts, word: Callable[[str], str]) -> KnownFacts:
    """Return facts with `word` in each field that a model or a data file brings."""
    data = replace(
        facts.data,
        source=word("source"),
        path=word("path"),
        revision=word("data_commit"),
        prompt=word("prompt"),
        completion=word("completion"),
        columns=tuple(word(f"column{i}") for i in range(3)),
        labels=tuple(Label(name=word(f"label{i}"), rows=9) for i in range(3)),
    )
    model = replace(
        facts.model, id=word("id"), revision=word("commit"), licence=word("licence"), path=None
    )
    tokenizer = replace(
        facts.tokenizer, bos=word("bos"), eos=word("eos"), pad=word("pad"), unk=word("unk")
    )
    return replace(facts, data=data, model=model, tokenizer=tokenizer)


def skeleton(text: str) -> str:
    """Return a syntax tree without its constants; a literal of a constant has any length."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper():
            with suppress(ValueError):
                ast.literal_eval(node.value)
                node.value = ast.Constant(value=None)
        if isinstance(node, ast.Constant):
            node.value, node.kind = None, None
    return ast.dump(tree)


def harmless(place: str) -> str:
    """Return a plain word for a place."""
    return f"plain_{place}"


@pytest.mark.parametrize(
    "variant",
    [
        "lora",
        pytest.param("full", marks=pytest.mark.prove_all),
        pytest.param("zero", marks=pytest.mark.prove),
    ],
)
@given(words=st.lists(st.sampled_from(PAYLOADS) | st.text(max_size=40), min_size=8, max_size=8))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_strings_change_constants_only(
    facts: KnownFacts, variant: str, words: list[str]
) -> None:
    """Every script has the same syntax tree, and every other file passes the verifier."""

    def hostile(place: str) -> str:
        return words[sum(map(ord, place)) % len(words)]

    plain = {file.name: file for file in render(facts, variant, harmless)}
    bad = {file.name: file for file in render(facts, variant, hostile)}

    assert plain.keys() == bad.keys()
    for name, file in bad.items():
        if file.language == "python":
            assert skeleton(file.text) == skeleton(plain[name].text), name
        if file.language == "shell":
            assert file.text == plain[name].text
    assert verify_files(tuple(f for f in bad.values() if f.name != "chat_template.jinja")) == ()


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 8))
def test_started_scripts_leave_no_canary(facts: KnownFacts, start: int, tmp_path: Path) -> None:
    """The scripts run their constants with real imports, and nothing planted runs."""
    pytest.importorskip("trl")
    words = PAYLOADS[start : start + 8]
    files = render(facts, "full", lambda place: words[sum(map(ord, place)) % len(words)])
    for file in files:
        (tmp_path / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / file.name).write_text(file.text, encoding="utf-8", newline="\n")
    scripts = [file.name for file in files if file.language == "python"]
    (tmp_path / "start.py").write_text(
        "import runpy, sys\n"
        f"for name in {scripts!r}:\n"
        "    sys.argv = [name, '--help']\n"
        "    try:\n"
        "        runpy.run_path(name, run_name='__main__')\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, (name, end.code)\n"
        "print('ran', len(sys.argv))\n"
    )

    done = run(sys.executable, "start.py", cwd=tmp_path, extra={"HOME": str(tmp_path)})

    assert done.code == 0, done.said
    assert "ran" in done.out
    assert not list(tmp_path.rglob(f"*{CANARY}*"))
    assert not (tmp_path.parent / CANARY).exists()


def test_run_script_starts_only_words_of_its_own(facts: KnownFacts, tmp_path: Path) -> None:
    """`run.sh`, with recorders in place of python and accelerate, starts no word of a spec."""
    files = render(facts, "full", lambda place: PAYLOADS[sum(map(ord, place)) % len(PAYLOADS)])
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("python", "accelerate"):
        script = tools / tool
        supervise = f'if [ "$1" = -m ]; then exec "{sys.executable}" "$@"; fi\n'
        script.write_text(f'#!/bin/sh\n{supervise}echo "{tool} $*" >>"{tmp_path}/started"\n')
        script.chmod(0o755)
    (tmp_path / "run").mkdir()
    for file in files:
        if file.name == "run.sh" or file.language == "runtime":
            (tmp_path / file.name).parent.mkdir(exist_ok=True)
            (tmp_path / file.name).write_text(file.text)

    done = subprocess.run(
        ["bash", "run.sh"],
        cwd=tmp_path,
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    started = (tmp_path / "started").read_text().splitlines()
    assert [line.split()[1] for line in started] == [
        "prepare.py",
        "launch",
        "export.py",
        "evaluate.py",
        "export.py",
    ]
    assert CANARY not in (tmp_path / "started").read_text()
    assert not list(tmp_path.rglob(f"*{CANARY}*"))
