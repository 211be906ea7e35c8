"""The validation loss: a mean over learned tokens, not over batches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from ftc.runtime.parallel.shared_evaluation import share_loss, split
from ftc.runtime.upstream.validation_loss import average_loss

LEARNED = (3, 17, 1, 9, 2, 30, 5)  # tokens of each row, after a prompt of two


@pytest.fixture(scope="module")
def rows() -> Dataset:
    """Return rows of which one learns thirty times as many tokens as another."""
    ids = [
        [5 + (7 * row + place) % 90 for place in range(count + 2)]
        for row, count in enumerate(LEARNED)
    ]
    return Dataset.from_dict(
        {"input_ids": ids, "labels": [[-100, -100, *tokens[2:]] for tokens in ids]}
    )


def nats_of(folder: Path, rows: Dataset) -> Iterator[torch.Tensor]:
    """Yield the log-probabilities of all tokens at each learned place of each row, alone."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    for row in rows:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row["input_ids"]])).logits[0]
        yield logits.log_softmax(-1)[1:-1].double()


def evaluate(
    folder: Path, out: Path, rows: Dataset, *, splits: bool, **options: Any
) -> dict[str, Any]:
    """Return what the trainer logs of an evaluation."""
    config = SFTConfig(
        output_dir=str(out),
        use_cpu=True,
        bf16=False,
        report_to="none",
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        disable_tqdm=True,
        activation_checkpointing=False,
        **options,
    )
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    trainer = SFTTrainer(
        model=model,
        args=config,
        train_dataset=rows,
        eval_dataset=rows,
        processing_class=AutoTokenizer.from_pretrained(folder),
    )
    if splits:  # as for several processes
        share_loss(trainer, by_token=True)
    else:
        average_loss(trainer)
    found: dict[str, Any] = trainer.evaluate()
    assert trainer.state.log_history[-1]["eval_loss"] == found["eval_loss"]
    return found


@pytest.mark.filterwarnings("ignore:.label_smoothing_factor. is deprecated:FutureWarning")
@pytest.mark.parametrize("loss", ["nll", "smoothed", "dft"])
def test_the_loss_is_a_mean_over_learned_tokens(
    model: Path, tmp_path: Path, rows: Dataset, loss: str
) -> None:
    """Whatever the rows of a batch, their order, and how many processes a bundle is for."""
    nats, tokens = 0.0, sum(LEARNED)
    for row, scores in zip(rows, nats_of(model, rows), strict=True):
        right = scores.gather(1, torch.tensor(row["input_ids"][2:])[:, None])[:, 0]
        if loss == "dft":
            nats -= (right * right.exp()).sum().item()
        elif loss == "smoothed":
            nats -= (0.9 * right + 0.1 * scores.mean(-1)).sum().item()
        else:
            nats -= right.sum().item()
    said: dict[str, dict[str, Any]] = {
        "nll": {},
        "smoothed": {"label_smoothing_factor": 0.1},
        "dft": {"loss_type": "dft"},
    }

    ordered = rows.select(sorted(range(len(LEARNED)), key=LEARNED.__getitem__))
    for some, most, splits in (
        (rows, 1, False),
        (rows, 3, False),
        (rows, 8, False),
        (ordered, 3, False),
        (rows, 2, True),
    ):
        found = evaluate(
            model, tmp_path, some, splits=splits, per_device_eval_batch_size=most, **said[loss]
        )
        assert found["eval_loss"] == pytest.approx(nats / tokens, rel=1e-6), (most, splits)


@given(rows=st.integers(1, 70), most=st.integers(1, 9), processes=st.sampled_from([1, 2, 4, 8]))
def test_batches_of_all_processes_hold_each_row_once(rows: int, most: int, processes: int) -> None:
    """Each step has as many rows on each process; what is repeated comes last."""
    batches = split(range(rows), most, processes)

    assert len(batches) % processes == 0
    found = [row for batch in batches for row in batch]
    assert found == [*range(rows), *[0] * (len(found) - rows)]
    assert len(found) - rows < processes
    for step in range(0, len(batches), processes):
        assert len({len(batch) for batch in batches[step : step + processes]}) == 1
    assert max(map(len, batches)) <= most
    assert len(batches) < rows / most + 2 * processes
