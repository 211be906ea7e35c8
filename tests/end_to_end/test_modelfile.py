"""A Modelfile that says something else than training is caught where it lies, and by --check."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.end_to_end.conftest import WholeRun
from tests.end_to_end.process import Ended, run

pytestmark = pytest.mark.prove
WRONG: Mapping[str, Callable[[str], str]] = {
    "a marker of another family": lambda text: text.replace("<|assistant|>", "<|im_start|>"),
    "a space that is not there": lambda text: text.replace("|> {{ .Content", "|>{{ .Content"),
    "no token at the beginning": lambda text: text.replace('{{ "<s>" }}', ""),
    "it twice": lambda text: text.replace('{{ "<s>" }}', '{{ "<s><s>" }}'),
    "no header for the answer": lambda text: text.replace(
        "{{ if $last }}<|assistant|>{{ end }}", ""
    ),
    "a system message of its own": lambda text: text + 'SYSTEM """Be rude."""\n',
    "a function that is not known": lambda text: text.replace("{{ .Content }}", "{{ json . }}", 1),
    "quotes without an end": lambda text: text.rstrip('"\n'),
    "no template": lambda text: re.sub(r'TEMPLATE """.*', "", text, flags=re.DOTALL),
}


def judge(folder: Path) -> Ended:
    """Run the stage that compares the Modelfile with the rows; the others are done."""
    return run(sys.executable, "export.py", cwd=folder)


@pytest.fixture
def copied(whole_run: WholeRun, tmp_path: Path) -> Path:
    """Return a copy of the bundle that ran, which a test may change."""
    assert whole_run.ended.code == 0, whole_run.ended.said
    folder = tmp_path / "triage"
    shutil.copytree(whole_run.bundle, folder, symlinks=True)
    (tmp_path / "model").symlink_to(whole_run.bundle.parent / "model")
    return folder


def test_the_run_has_held_its_modelfile(whole_run: WholeRun) -> None:
    """The stage ran behind the quantization, on every row of the test split."""
    out = whole_run.ended.out
    assert re.search(r"with Modelfile Ollama reads all \d+ rows as training did", out)


def test_a_wrong_modelfile_is_caught(copied: Path) -> None:
    """One sentence and an error, whatever is wrong; and the right one is sound again."""
    path = copied / "Modelfile"
    right = path.read_text(encoding="utf-8")
    for what, change in WRONG.items():
        text = change(right)
        assert text != right, what
        path.write_text(text, encoding="utf-8")
        ended = judge(copied)
        assert ended.code == 1, (what, ended.said)
        assert "export.py: " in ended.said, what
        assert "Traceback" not in ended.said, ended.said
    path.write_text(right, encoding="utf-8")
    assert judge(copied).code == 0


def test_a_stop_inside_of_answers_is_caught(copied: Path) -> None:
    """Ollama would cut answers short wherever it occurs in them."""
    path = copied / "Modelfile"
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace('stop """</s>"""', 'stop "_order"'), encoding="utf-8")

    ended = judge(copied)
    assert ended.code == 1, ended.said
    assert "'_order' of Modelfile would cut" in ended.said


def test_drift_of_the_modelfile_is_found(whole_run: WholeRun, copied: Path) -> None:
    """`ftc compile --check` holds it to the spec without a tokenizer or a model."""
    path = copied / "Modelfile"
    path.write_text(path.read_text(encoding="utf-8").replace("<|", "<||"), encoding="utf-8")

    folder = whole_run.bundle.parent
    ended = run("ftc", "compile", "spec.json", "-o", copied, "--check", cwd=folder)
    assert ended.code == 1, ended.said
    assert "Modelfile" in ended.said
