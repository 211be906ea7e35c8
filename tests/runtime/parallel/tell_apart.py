"""The rows that a loss tells apart on two processes: of each step, and of an evaluation."""

from collections.abc import Sequence
from typing import Any

import tokenizers
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from ftc.runtime.parallel.apart_rows import StepBatches, divide_apart
from ftc.runtime.parallel.shared_evaluation import share_loss
from ftc.runtime.upstream.trainer_parts import note_passes


class Apart(MultipleNegativesRankingLoss):
    """The loss of embedding models, which notes how many rows of each process it compares."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, gather_across_devices=True)
        self.seen: list[int] = []

    def forward(self, sentence_features: Any, labels: Any) -> torch.Tensor:
        """Return the loss."""
        sentence_features = list(sentence_features)
        self.seen.append(len(sentence_features[0]["offsets"]))
        return super().forward(sentence_features, labels)


def make_embedder(rows: Dataset, held: Dataset) -> tuple[Any, Apart]:
    """Return a trainer of static vectors, as train.py makes it, and its loss."""
    words = {
        f"{kind}{number}": 20 * (kind == "d") + number for kind in "qd" for number in range(20)
    }
    tokenizer = tokenizers.Tokenizer(WordLevel(words, unk_token="q0"))
    tokenizer.pre_tokenizer = Whitespace()
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")
    loss = Apart(model)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            batch_sampler=StepBatches,
            output_dir="run/train/checkpoints",
            num_train_epochs=2,
            per_device_train_batch_size=5,
            per_device_eval_batch_size=5,
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
            logging_steps=1,
        ),
        train_dataset=rows,
        eval_dataset=held,
        loss=loss,
    )
    share_loss(trainer, by_token=False, divide=divide_apart)
    return trainer, loss


def pair_up(queries: Sequence[int]) -> Dataset:
    """Return a document for each of these queries."""
    rows = [{"anchor": f"q{query}", "positive": f"d{n}"} for n, query in enumerate(queries)]
    return Dataset.from_list(rows)


def find() -> dict[str, Any]:
    """Return the texts of each step of this process, and what evaluations of few rows had."""
    trainer, _ = make_embedder(pair_up([n // 2 for n in range(20)]), pair_up(range(9)))
    tokenizer = trainer.model.tokenizer
    steps: list[list[str]] = []

    def note(inputs: Any, _loss: Any) -> None:
        ids = [inputs[f"{name}_input_ids"].tolist() for name in ("anchor", "positive")]
        steps.append(tokenizer.decode([*ids[0], *ids[1]]).split())

    note_passes(trainer, note)
    trainer.train()
    evaluations = []
    for queries in (range(9), [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0], [0]):
        trainer, loss = make_embedder(pair_up(range(20)), pair_up(queries))
        evaluations.append([trainer.evaluate()["eval_loss"], loss.seen])
    return {"steps": steps, "evaluations": evaluations}
