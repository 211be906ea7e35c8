"""The file of a tower and its projector: what the converter is given, and when it is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from ftc.runtime.compare import image_fidelity
from ftc.runtime.export import projector
from ftc.runtime.files import read_json, write_json
from ftc.runtime.run import Run

SOUND: dict[str, Any] = {"answers": True, "same_answers": 0.9}


def found(cosine: float = 0.9999, rows: int = 100, **more: Any) -> dict[str, Any]:
    """Return what was measured of a projector and one file of the language model."""
    return {"cosine": cosine, "rows": rows, "files": {"Q8_0": SOUND | more}}


def measured(drop: float, changed: int = 4) -> dict[str, Any]:
    """Return the metric of a file's answers."""
    numbers = {"metric": 0.9 - drop, "trained_metric": 0.9, "metric_drop": drop}
    return {**numbers, "changed_answers": changed}


@pytest.mark.parametrize(
    "sound",
    [
        found(),
        found(**measured(0.0, changed=0)),
        found(**measured(-0.2)),
        found(**measured(0.06)),  # three standard errors of four answers in a hundred
    ],
)
def test_a_sound_file_has_no_fault(sound: dict[str, Any]) -> None:
    """It answers, and its metric is that of the trained model or changed by chance."""
    assert projector.find_fault(sound) is None


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (found(cosine=0.99), "a cosine of the projector's output is 0.9900"),
        (found(cosine=float("nan")), "a cosine of the projector's output is nan"),
        (found(answers=False), "Q8_0 writes nothing after any prompt"),
        (found(**measured(0.07)), "the metric of Q8_0 is 0.830, and that of the trained model 0.9"),
        (found(**measured(0.01, changed=0)), "the metric of Q8_0 is 0.890"),
        (found(**measured(float("nan"))), "the metric of Q8_0 is nan"),
    ],
)
def test_a_faulty_file_is_named(faulty: dict[str, Any], said: str) -> None:
    """A number that is none is a fault too."""
    assert str(projector.find_fault(faulty)).startswith(said)


# -----------------------------------------------------------------------------
# What the converter reads


def write_merged(folder: Path, kind: str, names: list[str]) -> Path:
    """Write a merged model with one tensor of each name."""
    write_json(folder / "config.json", {"architectures": [kind]})
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    tensors = {name: torch.full((2,), float(n)) for n, name in enumerate(names)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


INTERN = "InternVLForConditionalGeneration"
OLD = ["vision_tower.a", "multi_modal_projector.b", "language_model.c"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("LlavaForConditionalGeneration", OLD),
        (INTERN, [f"model.{name}" for name in OLD]),
        (INTERN, ["language_model.c"]),
    ],
)
def test_a_folder_with_the_converter_s_names_is_used_as_it_is(
    tmp_path: Path, kind: str, names: list[str]
) -> None:
    """No copy is made of it."""
    merged = write_merged(tmp_path / "merged", kind, names)

    assert projector.name_for_converter(merged, tmp_path / "copy") == merged
    assert not (tmp_path / "copy").exists()


def test_a_tower_with_other_names_is_copied(tmp_path: Path) -> None:
    """The tower and the projector alone, with the small files; an unfinished copy is replaced."""
    merged = write_merged(tmp_path / "merged", INTERN, OLD)
    write_merged(tmp_path / "copy", INTERN, ["old"])
    copy = projector.name_for_converter(merged, tmp_path / "copy")

    weights = load_file(copy / "model.safetensors")
    assert {name: weight.tolist() for name, weight in weights.items()} == {
        "model.vision_tower.a": [0.0, 0.0],
        "model.multi_modal_projector.b": [1.0, 1.0],
    }
    assert (copy / "tokenizer.json").is_file()
    assert load_file(merged / "model.safetensors").keys() == set(OLD)


# -----------------------------------------------------------------------------
# The stage


class Converting:
    """A converter that writes a file at once."""

    def convert(self, _run: Run, *arguments: Any, into: Path) -> None:
        """Write what it was given."""
        into.write_text(" ".join(map(str, arguments)), encoding="utf-8")


MEASURE = """
import json, sys
from pathlib import Path
job = json.loads(Path("run/projector/job.json").read_text())
assert Path("run", job["projector"]).is_file()
{end}
"""


def make_job(bundle: Path, end: str) -> projector.Job:
    """Return the stage of a bundle, whose measurement ends as it is told to."""
    (bundle / "runtime" / "compare").mkdir(parents=True)
    for folder in ("runtime", "runtime/compare"):
        (bundle / folder / "__init__.py").write_text("", encoding="utf-8")
    text = MEASURE.format(end=end)
    (bundle / "runtime" / "compare" / "image_fidelity.py").write_text(text, encoding="utf-8")
    (bundle / "export.py").write_text("", encoding="utf-8")
    write_merged(bundle / "run" / "merged", "LlavaForConditionalGeneration", OLD)
    converter: Any = Converting()
    return projector.Job(
        run=Run(bundle, stage="projector", script="export.py"),
        name="tiny", types=("Q8_0",), converter=converter, rows=bundle / "run/data/test.jsonl",
        rule={"kind": "fixed"}, token=7, answer_tokens=4, context_tokens=64, attention="sdpa",
        on_gpu=False, scorer="exact_match",
    )  # fmt: skip


@pytest.fixture(name="_measured")
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure by the module of the bundle, as a bundle does, and not by that of the tests."""
    monkeypatch.setattr(image_fidelity, "__name__", "runtime.compare.image_fidelity")


def end_with(said: dict[str, Any]) -> str:
    """Return what prints the numbers of a measurement."""
    return f"print({json.dumps(json.dumps(said))})"


@pytest.mark.usefixtures("_measured")
def test_a_sound_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a record, and with what was measured; one of an earlier start is replaced."""
    job = make_job(tmp_path, end_with(found(**measured(0.01))))
    job.out.mkdir()
    (job.out / "tiny-mmproj.gguf").write_text("old", encoding="utf-8")
    projector.write_projector(job, job.run.identify(tmp_path / "run" / "merged"))

    written = (job.out / "tiny-mmproj.gguf").read_text(encoding="utf-8")
    assert "--mmproj --outtype f16" in written
    assert read_json(job.out / "report.json")["cosine"] == 0.9999
    assert (tmp_path / "run" / "done" / "projector.json").is_file()
    assert not (job.out / "unfinished.gguf").exists()
    noted = read_json(job.out / "job.json")
    assert noted["rows"] == "run/data/test.jsonl"
    assert noted["files"] == {"Q8_0": "quantize/tiny-Q8_0.gguf"}
    assert "Q8_0 answers 90% of 100 rows with images as the trained model does" in (
        capsys.readouterr().out
    )


@pytest.mark.usefixtures("_measured")
@pytest.mark.parametrize(
    ("end", "said", "left"),
    [
        (end_with(found(cosine=0.5)), "a cosine of the projector's output", "tiny-mmproj.failed"),
        ("sys.exit('no memory is left')", "reading images .* failed: no memory", "unfinished.gguf"),
    ],
)
def test_a_file_that_fails_cannot_be_taken_for_a_sound_one(
    tmp_path: Path, end: str, said: str, left: str
) -> None:
    """Its name is another one, and the stage has no record."""
    job = make_job(tmp_path, end)
    with pytest.raises(SystemExit, match=said):
        projector.write_projector(job, job.run.identify(tmp_path / "run" / "merged"))

    assert [path.name for path in job.out.iterdir() if path.suffix != ".json"] == [left]
    assert not (tmp_path / "run" / "done" / "projector.json").exists()
