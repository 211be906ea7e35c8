"""Writes a few generated answers at each evaluation, to be read while training runs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from transformers.trainer_callback import TrainerCallback

from ..track.samples import send_samples
from . import answers

Write = Callable[..., list[str]]  # called with a model, a tokenizer, rows and a limit of tokens
SHOWN_CHARACTERS = 300  # of a prompt (its end) and of an answer (its beginning)


class SampleAnswers(TrainerCallback):
    """Has the model answer the same validation rows at each evaluation.

    The answers are printed, written to run/train/log.jsonl and sent to the tracker. `rows` have
    `prompt_ids` and `answer`; an answer has at most `tokens` tokens. Every process generates the
    same answers, because sharded weights need all of them. `write` generates them. `images` is an
    image_batches.ImageReader for rows with images.
    """

    def __init__(
        self,
        session: Any,
        rows: Sequence[Mapping[str, Any]],
        *,
        tokens: int,
        write: Write = answers.write,
        images: Any = None,
    ) -> None:
        self.session, self.rows, self.tokens = session, rows, tokens
        self.write = write if images is None else partial(write, images=images)
        self.is_over = False  # whether training has ended; the kept weights are evaluated once more

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Note that training is over."""
        self.is_over = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Answer the rows."""
        if self.is_over:
            return
        tokenizer = kwargs["processing_class"]
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # of a processor
        found = self.write(kwargs["model"], tokenizer, self.rows, self.tokens)
        if not state.is_world_process_zero:
            return
        samples = [
            {
                "prompt": tokenizer.decode(row["prompt_ids"]),
                "answer": row.get("answer", ""),  # a prompt alone has none
                "said": said,
            }
            for row, said in zip(self.rows, found, strict=True)
        ]
        self.session.log(state, event="samples", samples=samples)
        self.session.progress.clear()
        for sample in samples:
            self.session.run.say(f"step {state.global_step:,}: {describe(sample)}")
        if self.session.tracker is not None:
            send_samples(self.session.tracker.kind, state.global_step, samples)


def describe(sample: Mapping[str, str]) -> str:
    """Return a sample on separate lines, with long texts shortened."""
    prompt = " ".join(sample["prompt"].split())
    shown = {
        "asked": f"...{prompt[-SHOWN_CHARACTERS:]}" if len(prompt) > SHOWN_CHARACTERS else prompt,
        "expected": _shorten(sample["answer"]) or "(the data has no answer)",
        "answered": _shorten(sample["said"]),
    }
    return "sample answer" + "".join(f"\n    {name}: {text}" for name, text in shown.items())


def _shorten(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return f"{line[:SHOWN_CHARACTERS]}..." if len(line) > SHOWN_CHARACTERS else line
