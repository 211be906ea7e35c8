"""Compares the next-token predictions of a quantized model with those of the trained model.

`reference.note` wrote the latter to run/reference. This module also has the bounds of quantized
models.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..files import read_json
from ..run import Run
from . import noise_response

SIZE_TOLERANCE: Final = 0.02  # of the planned size; the plan of the disk allows for it
CHUNK_TOKENS: Final = 64  # compared at once: each has a number per word of the vocabulary

Row = Mapping[str, Any]
Reader = Callable[[Row], Iterable[Any]]


def read_rows(run: Run) -> tuple[list[dict[str, Any]], int]:
    """Return the recorded rows, and the number of recorded logits per position."""
    noted = read_json(run.folder / "reference" / "rows.json")
    return noted["rows"], noted["vocabulary"]


def compare(run: Run, read: Reader) -> dict[str, Any]:
    """Return how far the predictions that `read` computes are from the recorded ones.

    `read(row)` yields arrays of logits, of shape positions x vocabulary, for the judged positions
    of a row in their order.

    divergence        mean KL divergence from the trained model's next token, in nats per token
    agreement         share of positions at which both find the same token most likely
    logit_error       root of the mean squared difference of the logits over their own spread
    perplexity_ratio  perplexity of the learned tokens over the trained model's
    """
    rows, words = read_rows(run)
    logits_path = run.folder / "reference" / "logits.f16"
    noted: Any = np.memmap(logits_path, np.float16, "r").reshape(-1, words)
    true = np.concatenate([row["ids"][-len(row["learned"]) :] for row in rows])
    best, trained_nats, learned = (
        np.concatenate([row[name] for row in rows]) for name in ("best", "nats", "learned")
    )
    bests: list[int] = []
    nats: list[float] = []
    divergences: list[float] = []
    errors: list[float] = []
    spreads: list[float] = []
    for row in rows:
        for logits in read(row):
            common = min(words, logits.shape[1])  # a converter may pad the vocabulary
            for part in np.split(logits, range(CHUNK_TOKENS, len(logits), CHUNK_TOKENS)):
                span = slice(len(nats), len(nats) + len(part))
                ours, theirs = _log_softmax(part[:, :common]), _log_softmax(noted[span, :common])
                bests.extend(ours.argmax(axis=1))
                nats.extend(-ours[range(len(part)), true[span]])
                divergences.extend((np.exp(theirs) * (theirs - ours)).sum(axis=1))
                errors.extend((theirs - ours).var(axis=1))
                spreads.extend(theirs.var(axis=1))
    loss, trained_loss = np.mean(np.array(nats)[learned]), np.mean(trained_nats[learned])
    return {
        "rows": len(rows),
        "tokens": len(nats),
        "learned_tokens": int(learned.sum()),
        "divergence": float(np.mean(divergences)),
        "agreement": float(np.mean(np.array(bests) == best)),
        "logit_error": float(np.sqrt(np.mean(errors) / np.mean(spreads))),
        "perplexity": float(np.exp(loss)),
        "trained_perplexity": float(np.exp(trained_loss)),
        "perplexity_ratio": float(np.exp(loss - trained_loss)),
    }


def _log_softmax(logits: Any) -> Any:
    logits = logits.astype(np.float32)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def keep_finite(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measurements, with None for each number that is not finite."""
    return {name: number if math.isfinite(number) else None for name, number in found.items()}


# -----------------------------------------------------------------------------
# Bounds


def find_bounds(
    bounds: Mapping[str, Any],
    noise: Mapping[str, Any],
    parts: Mapping[str, float],
    floor: float,
    found: Mapping[str, Any],
    **more: Any,
) -> tuple[float, dict[str, Any]]:
    """Return the divergence that a model should have, and its bounds.

    `bounds` have the names of the spec, and "measured" is replaced by a number. The other arguments
    are those of `noise_response.derive`. A missing number in `found` is taken as 0: such a model
    fails any bound.
    """
    numbers = {name: 0.0 if number is None else number for name, number in found.items()}
    expected, measured = noise_response.derive(noise, parts, floor, numbers, **more)
    return expected, {
        name: measured[name] if bound == "measured" else bound for name, bound in bounds.items()
    }


def find_fault(found: Mapping[str, Any], bounds: Mapping[str, float]) -> str | None:
    """Return the first measure beyond its bound as a clause, or None.

    A bound has the name of the spec: `max_` or `min_`, and what was measured.
    """
    if not found["answers"]:
        return "it writes nothing after any prompt"
    for name, bound in bounds.items():
        side, measured = name.split("_", 1)
        value = found[measured]
        is_good = value is not None and (value <= bound if side == "max" else value >= bound)
        if not is_good:
            shown = "no number" if value is None else f"{value:.4g}"
            words = measured.replace("_", " ")
            return f"its {words} is {shown}, and export.verify.{name} is {bound:.3g}"
    return None


def warn_of_size(run: Run, name: str, size_bytes: int, predicted_bytes: int) -> None:
    """Print a warning if a size is not the planned one."""
    off = size_bytes / predicted_bytes - 1
    if abs(off) > SIZE_TOLERANCE:
        run.say(f"warning: the size of {name} differs from the planned one by {off:+.1%}")


def stop_if_failed(run: Run, entries: Sequence[Mapping[str, Any]]) -> None:
    """End the stage if an entry of quality.json has a fault."""
    failed = [entry for entry in entries if entry["fault"] is not None]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more types failed)" if len(failed) > 1 else ""
        run.stop(f"{first['type']} differs too much from the trained model: {first['fault']}{more}")


def show(number: float | None, layout: str) -> str:
    """Return a measured number as text, or a dash if there is none."""
    return "-" if number is None else format(number, layout)
