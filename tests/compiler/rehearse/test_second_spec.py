"""The rehearsal's spec: decisions are kept, and sizes are small."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check
from ftc.compiler.rehearse.second_spec import ROWS, STEPS, make_second_spec
from ftc.compiler.resolve.facts import known
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate

SpecMaker = Callable[..., Path]


def rehearsed(path: Path) -> tuple[dict[str, Any], Spec]:
    """Return the second spec as data and as a typed spec."""
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
    """One process, few rows and steps, an additional 16-bit file, the same method."""
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
    """The strategy that the plan chose for eight GPUs is set for two processes."""
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
    """A fraction of zero stays zero; a small fraction becomes enough rows to measure."""
    splits = {"test": 0, "validation": 0.02}
    _, spec = rehearsed(make_spec(data={"source": "tickets.csv", "splits": splits}))
    assert (spec.data.splits.test, spec.data.splits.validation) == (0, 0.1)
    assert spec.training.evaluation.every_steps == STEPS // 2


def test_paths_are_seen_from_the_rehearsal(make_spec: SpecMaker) -> None:
    """The path of the user's chat template is adapted."""
    path = make_spec(model={"id": "./model", "chat_template": "own.jinja"})
    (path.parent / "own.jinja").write_text("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    data, _ = rehearsed(path)
    assert data["model"] == {"id": "./model", "chat_template": "../../own.jinja"}


def test_a_four_bit_base_stays_four_bit(make_spec: SpecMaker) -> None:
    """The method is the real one, with the user's settings."""
    method = {"type": "qlora", "rank": 8, "double_quantization": False}
    data, spec = rehearsed(make_spec(method=method, export=["Q8_0"]))
    assert data["method"] == method
    assert (spec.method.type, spec.hardware.gpu) == ("qlora", "cpu")


def test_numbers_of_layers_are_left_to_the_miniature(make_spec: SpecMaker) -> None:
    """The miniature has few layers, of which the last quarter is trained."""
    data, _ = rehearsed(make_spec(method={"type": "freeze", "layers": [1], "also_train": ["head"]}))
    assert data["method"] == {"type": "freeze", "also_train": ["head"]}


def test_a_pattern_becomes_the_kinds_that_it_matches(make_spec: SpecMaker) -> None:
    """Layer numbers that the miniature does not have would match nothing."""
    pattern = r".*layers\.1\.self_attn\.(q|v)_proj"
    data, _ = rehearsed(make_spec(method={"type": "lora", "target_pattern": pattern}))
    assert data["method"]["target_pattern"] == r".*\.(q_proj|v_proj)"


def test_what_waits_on_the_host_waits_there(make_spec: SpecMaker) -> None:
    """The offload that the plan chose for eight GPUs is set for two processes."""
    sharded = {"strategy": "zero3", "offload": "parameters"}
    path = make_spec(method="full", hardware="8x H100-SXM5-80GB", distribution=sharded)
    _, spec = rehearsed(path)
    assert (spec.distribution.strategy, spec.distribution.offload) == ("zero3", "parameters")
    assert spec.hardware.count == 2


def test_an_untrained_model_is_judged_by_its_divergence(make_spec: SpecMaker) -> None:
    """Limits that only a trained model can meet are dropped."""
    own = {"types": ["Q4_K_M"], "verify": {"min_agreement": 0.99, "max_divergence": 0.01}}
    _, spec = rehearsed(make_spec(export=own))
    assert spec.export.verify.max_divergence == "auto"
    assert (spec.export.verify.min_agreement, spec.export.verify.max_metric_drop) == (0, 1)


def test_a_rehearsal_is_started_here(make_spec: SpecMaker) -> None:
    """Several nodes and their launcher become two processes of this machine."""
    hardware = {"gpu": "H100-SXM5-80GB", "count": 8, "nodes": 2}
    path = make_spec(hardware=hardware, launch={"type": "slurm", "partition": "gpu"})
    _, spec = rehearsed(path)
    assert (spec.hardware.count, spec.hardware.nodes) == (2, 1)
    assert spec.launch.type == "local"


def test_every_source_is_rehearsed(make_spec: SpecMaker) -> None:
    """Each source of a mixture gives a few rows, with an adapted path and its weight."""
    sources = [
        {"source": "tickets.csv", "weight": 2},
        {"source": "more.csv", "weight": 1, "max_rows": 5},
    ]
    path = make_spec(data={"sources": sources})
    table = (path.parent / "tickets.csv").read_text(encoding="utf-8").splitlines()
    rows = [row.replace('"', "") for row in table[1:20]]
    (path.parent / "more.csv").write_text("\n".join([table[0], *rows]), encoding="utf-8")

    data, spec = rehearsed(path)

    assert data["data"]["sources"] == [
        {"source": "../../tickets.csv", "weight": 2, "max_rows": ROWS // 2},
        {"source": "../../more.csv", "weight": 1, "max_rows": 5},
    ]
    assert spec.data.max_rows is None


@pytest.mark.parametrize("tracking", ["wandb", {"type": "mlflow", "project": "mine"}])
def test_nothing_is_sent_to_the_tracker(make_spec: SpecMaker, tracking: Any) -> None:
    """A run of a miniature does not belong among the user's own."""
    data, spec = rehearsed(make_spec(tracking=tracking))
    assert data["tracking"] == {"type": "none"}
    assert spec.tracking.type == "none"
