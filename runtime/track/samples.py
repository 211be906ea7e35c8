"""Sends sample answers to a tracker.

A sample has the `prompt`, the right `answer` and what the model `said`.
"""

import os
from collections.abc import Mapping, Sequence

COLUMNS = ("prompt", "answer", "said")

Samples = Sequence[Mapping[str, str]]


def send_samples(kind: str, step: int, samples: Samples) -> None:
    """Send the answers of a step; `kind` is the Trainer's name of the tracker."""
    senders = {
        "mlflow": _send_to_mlflow,
        "tensorboard": _send_to_tensorboard,
        "trackio": _send_to_trackio,
        "wandb": _send_to_wandb,
    }
    senders[kind](step, samples)


def _send_to_mlflow(step: int, samples: Samples) -> None:
    """Add the answers as a file of the run."""
    import mlflow

    if (run := mlflow.active_run()) is not None:
        text = write_table(samples)
        mlflow.MlflowClient().log_text(run.info.run_id, text, f"samples/step-{step}.md")


def _send_to_tensorboard(step: int, samples: Samples) -> None:
    """Add the answers as a text, in a separate event file.

    Names of event files have the time in seconds: without the step, a second file of the same
    second would replace the first.
    """
    from tensorboardX import SummaryWriter

    folder = os.environ["TENSORBOARD_LOGGING_DIR"]
    with SummaryWriter(folder, filename_suffix=f".samples-{step}") as writer:
        writer.add_text("samples", write_table(samples), step)


def _send_to_trackio(step: int, samples: Samples) -> None:
    """Add the answers as a text."""
    import trackio

    trackio.log({"samples": trackio.Markdown(write_table(samples)), "train/global_step": step})


def _send_to_wandb(step: int, samples: Samples) -> None:
    """Add the answers as a table."""
    import wandb

    rows = [[sample[name] for name in COLUMNS] for sample in samples]
    table = wandb.Table(columns=list(COLUMNS), data=rows)
    wandb.log({"samples": table, "train/global_step": step})


def write_table(samples: Samples) -> str:
    """Return answers as a table in Markdown."""
    rows = [[_escape(sample[name]) for name in COLUMNS] for sample in samples]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escape(text: str) -> str:
    """Return a text as one cell of a table."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return shown.replace("\n", "<br>")
