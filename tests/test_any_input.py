"""Any text can be checked without a traceback; the same spec always gives the same bundle."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ftc.compiler.pipeline import check, compile_bundle, write
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.schema import fields
from tests.test_properties import BASE, outcome_of, put, write_folder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted(field.name for field in fields())
EXAMPLES = [value for field in fields() for value in field.schema["examples"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the specs name."""
    return write_folder(tmp_path_factory.mktemp("any-input"))


def hold_total(folder: Path, text: str) -> None:
    """Assert that a text gives findings or files, or the one exception for a failed world."""
    try:
        outcome = outcome_of(folder, text)
    except EnvironmentFailure:
        return
    assert outcome.failed or outcome.files
    for found in outcome.findings:
        assert found.message
        assert found.help


@given(text=st.text() | JSON.map(json.dumps))
@example(text="")
@example(text="\ufeff{}")
@example(text='{"name": "\ud800"}')
@example(text="[" * 5_000)
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_any_text_gives_findings(folder: Path, text: str) -> None:
    """Whatever the file holds, it is told what is wrong with it."""
    hold_total(folder, text)


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(NAMES), JSON | st.sampled_from(EXAMPLES)),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
def test_anything_near_the_schema_gives_findings_or_a_bundle(
    folder: Path, monkeypatch: pytest.MonkeyPatch, changes: list[tuple[str, Any]]
) -> None:
    """A sound spec with a few fields set to anything is judged, never a surprise."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    spec = dict(BASE)
    for name, value in changes:
        spec = put(spec, name, value)
    hold_total(folder, json.dumps(spec))


def read_all(folder: Path) -> dict[str, bytes]:
    """Return every file of a bundle."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


#: ftc in a process that took its locale over, and stops where that has no comma for decimals.
SPEAKING = """
import locale, sys
locale.setlocale(locale.LC_ALL, "")
point = locale.localeconv()["decimal_point"]
assert point == ("." if locale.getlocale()[0] in (None, "C") else ","), point
from ftc.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the Catalan and the Spanish locale, built from glibc's sources."""
    place = tmp_path_factory.mktemp("locales")
    build = shutil.which("localedef")
    if build is None:
        pytest.skip("needs localedef, to build locales that may not be installed")
    for name in ("ca_ES", "es_ES"):
        command = [build, "-i", name, "-f", "UTF-8", str(place / f"{name}.UTF-8")]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip(f"needs the sources of {name} (Debian's package `locales`)")
    return place


def test_a_bundle_does_not_depend_on_where_and_how_it_is_compiled(
    folder: Path, tmp_path: Path, locales: Path
) -> None:
    """Locale, hash seed, working directory and the process change no byte."""
    spec = folder / "same.json"
    spec.write_text(json.dumps({**BASE, "export": {"types": ["Q8_0"]}}), encoding="utf-8")
    bundle = folder / "triage"
    shutil.rmtree(bundle, ignore_errors=True)
    write(compile_bundle(str(spec)))
    expected = read_all(bundle)
    for locale, seed, cwd, said in (
        ("C", "0", folder, "same.json"),
        ("ca_ES.UTF-8", "1", tmp_path, str(spec)),
        ("es_ES.UTF-8", "2", folder.parent, f"{folder.name}/same.json"),
    ):
        shutil.rmtree(bundle)
        speech = {"LC_ALL": locale, "LANG": locale, "LOCPATH": str(locales)}
        environment = {**os.environ, **speech, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SPEAKING, "compile", said]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert read_all(bundle) == expected

    assert "train.py" in expected


def test_check_and_compile_say_the_same(folder: Path) -> None:
    """The findings of `ftc check` are those of `ftc compile`."""
    path = folder / "checked.json"
    path.write_text(json.dumps(put(BASE, "training.warmup", 0.8)), encoding="utf-8")

    assert check(str(path)).findings == compile_bundle(str(path)).findings != ()
