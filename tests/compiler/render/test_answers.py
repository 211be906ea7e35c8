"""The generated answers.py measures what its metric's name says."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

from ftc.compiler.pipeline import compile_bundle
from tests.test_properties import BASE, CONFIG, put, write_model

SAID = ["lost", "late", "late", "sent"]
RIGHT = ["lost", "late", "sent", "sent"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small model, without weights, and rows with labels."""
    folder = tmp_path_factory.mktemp("answers")
    write_model(folder / "model", CONFIG)
    rows = "".join(f"where is {n}?,{RIGHT[n % 4]}\n" for n in range(60))
    (folder / "tickets.csv").write_text("prompt,completion\n" + rows, encoding="utf-8")
    return folder


def measure(folder: Path, metric: str, said: Sequence[str], right: Sequence[str]) -> Any:
    """Return what the generated module of a metric says of these answers."""
    path = folder / f"{metric}.json"
    path.write_text(json.dumps(put(BASE, "training.evaluation.metric", metric)), encoding="utf-8")
    files = {file.name: file.text for file in compile_bundle(str(path)).files}
    script = folder / f"answers_{metric}.py"
    script.write_text(files["answers.py"], encoding="utf-8")
    found = importlib.util.spec_from_file_location(script.stem, script)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.measure(list(said), list(right))


def test_accuracy_is_the_share_that_is_right(folder: Path) -> None:
    """Three of four."""
    assert measure(folder, "accuracy", SAID, RIGHT) == 0.75


def test_macro_f1_weighs_labels_alike(folder: Path) -> None:
    """The F1 of lost is 1, of late and of sent 2/3."""
    assert measure(folder, "macro_f1", SAID, RIGHT) == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)


def test_exact_match_forgives_white_space_and_case(folder: Path) -> None:
    """Another word is not forgiven."""
    said = ["The  answer\n", "the answers"]

    assert measure(folder, "exact_match", said, ["the answer", "the answer"]) == 0.5


def test_numeric_match_reads_the_last_number(folder: Path) -> None:
    """Thousands are grouped, a full stop ends a sentence, and no number is not right."""
    said = ["5 + 5 = 10, so #### 1,250", "it is -3.50.", "none", "12 or 13", "about 7"]
    right = ["#### 1250", "-3.5", "none", "12", "7.0"]

    assert measure(folder, "numeric_match", said, right) == 3 / 5


def test_rouge_is_the_longest_common_subsequence(folder: Path) -> None:
    """Of five words on each side three are common in order: F is 3/5."""
    said = ["the cat sat on mats"]

    assert measure(folder, "rouge_l", said, ["the dog sat on rugs"]) == pytest.approx(3 / 5)


def test_chrf_is_that_of_its_library(folder: Path) -> None:
    """It is 1 for equal texts, and sacrebleu's own number, as a share, for others."""
    said, right = ["on the shelf"], ["on a shelf"]

    assert measure(folder, "chrf", right, right) == pytest.approx(1)
    assert measure(folder, "chrf", said, right) == pytest.approx(
        sacrebleu.corpus_chrf(said, [right]).score / 100
    )
