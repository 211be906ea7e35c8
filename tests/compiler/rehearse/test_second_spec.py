"""The rehearsal's own spec: what was decided stays, and what costs is small."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ftc.compiler.pipeline import check
from ftc.compiler.plan.known import known
from ftc.compiler.rehearse.second_spec import ROWS, STEPS, make_second_spec
from ftc.spec.document import Document
from ftc.spec.sections import Spec
from ftc.spec.validate import validate

SpecMaker = Callable[..., Path]


def rehearsed(path: Path) -> tuple[dict[str, Any], Spec]:
    """Return the second spec as data and as the language reads it."""
    outcome = check(str(path))
    assert outcome.document is not None
    assert outcome.spec is not None
    assert outcome.facts is not None
    assert outcome.plan is not None
    facts = known(outcome.facts)
    assert facts is not None
    folder = path.parent / "away" / "rehearsal"
    data = make_second_spec(
        outcome.document, spec=outcome.spec, plan=outcome.plan, data=facts.data, folder=folder
    )
    document = Document(name="-", folder=folder, text="", data=data, positions={})
    spec = validate(document)
    assert isinstance(spec, Spec), spec
    return data, spec


def test_a_lora_on_one_gpu(make_spec: SpecMaker) -> None:
    """One process, few rows and steps, a 16-bit file beside the wanted ones, method as it was."""
    path = make_spec(method={"type": "lora", "rank": 8}, export=["Q4_K_M"], training={"epochs": 3})
    data, spec = rehearsed(path)
    assert data["model"] == {"id": "./model"}
    assert data["data"]["source"] == "../../tickets.csv"
    assert data["method"] == {"type": "lora", "rank": 8}
    assert spec.data.max_rows == ROWS
    assert (spec.training.max_steps, spec.training.epochs) == (STEPS, "auto")
    assert spec.export.types == ("F16", "Q4_K_M")
    assert (spec.hardware.gpu, spec.hardware.count) == ("cpu", 1)
    assert spec.distribution.strategy == "auto"


def test_what_shares_a_model_is_shared_by_two(make_spec: SpecMaker) -> None:
    """The strategy that the plan chose for eight GPUs is said for two processes."""
    path = make_spec(
        method="full", hardware="8x H100-SXM5-80GB", distribution="zero3", export=["Q8_0"]
    )
    _, spec = rehearsed(path)
    assert (spec.hardware.gpu, spec.hardware.count) == ("cpu", 2)
    assert spec.distribution.strategy == "zero3"
    assert isinstance(spec.training.global_batch, int)
    assert spec.training.global_batch % 2 == 0


def test_nothing_to_export_stays_nothing(make_spec: SpecMaker) -> None:
    """Without GGUF types there is no GGUF to rehearse."""
    _, spec = rehearsed(make_spec())
    assert spec.export.types == ()


def test_splits_that_are_off_stay_off(make_spec: SpecMaker) -> None:
    """A share of nothing stays nothing; a small share becomes rows enough to measure."""
    splits = {"test": 0, "validation": 0.02}
    _, spec = rehearsed(make_spec(data={"source": "tickets.csv", "splits": splits}))
    assert (spec.data.splits.test, spec.data.splits.validation) == (0, 0.1)
    assert spec.training.evaluation.every_steps == STEPS // 2


def test_paths_are_seen_from_the_rehearsal(make_spec: SpecMaker) -> None:
    """A chat template of the user's own is found again."""
    path = make_spec(model={"id": "./model", "chat_template": "own.jinja"})
    (path.parent / "own.jinja").write_text("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    data, _ = rehearsed(path)
    assert data["model"] == {"id": "./model", "chat_template": "../../own.jinja"}
