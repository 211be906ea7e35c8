"""Measures how noise in the weights changes this model's predictions, and derives bounds.

Rounding weights to a smaller type adds noise of a known size. While the trained model is in memory,
`measure` adds noise of several sizes to its weights and records how the next-token distributions
change. From that, `expect` predicts the divergence of a file, and `derive` sets its bounds.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..models.output_head import find_head

Row = Mapping[str, Any]  # `ids`, and `learned`: whether each judged position is part of an answer

BLOCK_WEIGHTS = 32  # noise is scaled to blocks of this many weights, as rounding is
CHUNK_WEIGHTS = 1 << 24  # noise is drawn for this many weights at once
SMALL = 0.05  # relative error at which divergence still grows with the square of the error
DRAWS = 3  # of small noise for each part of the model
LEVELS = (0.15, 0.3, 0.6)  # relative errors of the whole model, beyond the quadratic range

#: llama.cpp multiplies quantized weights with 8-bit activations. This is the relative error of
#: those activations, and the largest one, for activations with outliers.
ACTIVATION_ERROR = 0.008
MOST_ACTIVATION_ERROR = 0.016
MARGIN = 2.5  # times the expected divergence; benchmarks/gguf_bounds.md has the measured ratios
CHANCES = 3  # standard errors that are added to every bound
DECISIVE_TOKENS = 10  # about this many tokens decide whether a longer answer is right

# -----------------------------------------------------------------------------
# Measured on the trained model, with torch


def measure(model: Any, rows: Sequence[Row], run: Callable[[Row], Any]) -> dict[str, Any] | None:
    """Return how noise in the weights changes the predictions on `rows`; the model is left noisy.

    `run(row)` returns the logits of the judged positions of a row, on any device. The cost is
    twelve more passes over these rows. Returns None for offloaded weights: they cannot be changed.
    """
    parts = _parts(model)
    if any(weight.is_meta for weights in parts.values() for weight in weights):
        return None
    trained = [run(row).log_softmax(dim=-1).cpu() for row in rows]
    small: dict[str, list[dict[str, Any]]] = {part: [] for part in parts}
    for part in ("embedding", "head"):  # few weights, so that a copy can be kept
        for draw in range(DRAWS if part in parts else 0):
            kept = [weight.detach().cpu().clone() for weight in parts[part]]
            _add_noise(parts[part], SMALL, draw)
            small[part].append(_compare(rows, trained, run) | {"noise": SMALL**2})
            for weight, copy in zip(parts[part], kept, strict=True):
                weight.data.copy_(copy)
    power = 0.0  # of the noise in the layers, over that of their weights
    for draw in range(DRAWS):
        _add_noise(parts["layers"], SMALL, draw)
        power += SMALL**2 * (1 + power)
        small["layers"].append(_compare(rows, trained, run) | {"noise": power})
    powers = dict.fromkeys(parts, 0.0) | {"layers": power}
    levels = []
    for number, level in enumerate(LEVELS):
        for part, weights in parts.items():
            more = (level**2 - powers[part]) / (1 + powers[part])
            _add_noise(weights, math.sqrt(more), DRAWS + number)
            powers[part] = level**2
        levels.append(_compare(rows, trained, run) | {"noise": level**2})
    return {
        "rows": len(rows),
        "tokens": sum(len(row["learned"]) for row in rows),
        "answer_tokens": sum(map(sum, (row["learned"] for row in rows))) / len(rows),
        "small": small,
        "levels": levels,
    }


def _parts(model: Any) -> dict[str, list[Any]]:
    """Return the matrices of the embedding, the head if it is separate, and the layers."""
    embedding, head = model.get_input_embeddings(), find_head(model)
    parts = {"embedding": [embedding.weight]}
    if head is not None and head.weight is not embedding.weight:
        parts["head"] = [head.weight]
    outside = {id(weight) for weights in parts.values() for weight in weights}
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    return {**parts, "layers": [weight for weight in matrices if id(weight) not in outside]}


def _add_noise(weights: Iterable[Any], error: float, draw: int) -> None:
    """Add Gaussian noise to matrices, relative to the size of each block of weights."""
    import torch

    with torch.no_grad():
        for number, weight in enumerate(weights):
            generator = torch.Generator(weight.device).manual_seed(1_000_003 * draw + number)
            width = weight.shape[-1]
            width = BLOCK_WEIGHTS if width % BLOCK_WEIGHTS == 0 else width
            for part in weight.data.view(-1, width).split(max(1, CHUNK_WEIGHTS // width)):
                size = part.float().square().mean(dim=1, keepdim=True).sqrt()
                noise = torch.randn(part.shape, generator=generator, device=part.device)
                part.add_((error * size * noise).to(part.dtype))


def _compare(
    rows: Sequence[Row], trained: Sequence[Any], run: Callable[[Row], Any]
) -> dict[str, Any]:
    """Return how far the model's predictions are from those of the trained model."""
    divergences: list[list[float]] = []
    disagreements: list[bool] = []
    losses: list[float] = []
    lost: list[float] = []
    for row, theirs in zip(rows, trained, strict=True):
        ours = run(row).log_softmax(dim=-1).cpu()
        divergences.append((theirs.exp() * (theirs - ours)).sum(dim=-1).tolist())
        best, before = ours.argmax(dim=-1), theirs.argmax(dim=-1)
        disagreements.extend((best != before).tolist())
        true = best.new_tensor(row["ids"][-len(row["learned"]) :])
        learned = best.new_tensor(row["learned"]).bool()
        cost = (theirs - ours).gather(1, true[:, None])[:, 0]
        losses.extend(cost[learned].tolist())
        right = (before == true).float() - (best == true).float()
        lost.extend(right[learned].tolist())
    return {
        "divergence": float(np.mean(np.concatenate(divergences))),
        "by_row": [float(np.mean(row)) for row in divergences],
        "disagreement": float(np.mean(disagreements)),
        "loss": float(np.mean(losses or [0.0])),
        "lost": float(np.mean(lost or [0.0])),
    }


# -----------------------------------------------------------------------------
# Bounds of a file


def expect(
    response: Mapping[str, Any], errors: Mapping[str, float], activation_error: float
) -> float:
    """Return the divergence, in nats per token, that a file with these rounding errors should have.

    `errors` are relative, one for each part of the model. For small noise the divergences of the
    parts add up. For larger noise the sum is scaled as measured on the whole model.
    """
    costs = {
        part: np.mean([one["divergence"] / one["noise"] for one in found])
        for part, found in response["small"].items()
    }
    power = {part: errors.get(part, errors["embedding"]) ** 2 for part in costs}
    small = sum(cost * (power[part] + activation_error**2) for part, cost in costs.items())
    whole = sum(costs.values())
    if whole == 0:
        return 0.0
    noises = [SMALL**2, *(level["noise"] for level in response["levels"])]
    scales = [1.0, *(level["divergence"] / level["noise"] / whole for level in response["levels"])]
    return float(small * np.interp(math.log(max(small / whole, 1e-12)), np.log(noises), scales))


def find_uncertainty(response: Mapping[str, Any], tokens: int) -> float:
    """Return the relative standard error of a file's expected divergence, at most 0.5.

    The rounding of a file acts like one more sample of the noise, and the divergence varies between
    samples. It also varies between rows, which matters if a
    file is judged on more rows than `measure` read.
    """
    small = [[one["divergence"] / one["noise"] for one in found] for found in _draws(response)]
    whole = max(sum(map(np.mean, small)), 1e-12)
    variance = sum(np.var(costs, ddof=1) * (1 + 1 / len(costs)) for costs in small) / whole**2
    by_row = np.mean([one["by_row"] for found in _draws(response) for one in found], axis=0)
    if len(by_row) == 1:
        return 0.5
    if response["tokens"] < tokens:
        variance += by_row.var(ddof=1) / len(by_row) / max(by_row.mean(), 1e-12) ** 2
    return min(0.5, math.sqrt(variance))


def _draws(response: Mapping[str, Any]) -> list[Any]:
    """Return the measurements with small noise of each part that has any."""
    return [found for found in response["small"].values() if found]


def derive(
    response: Mapping[str, Any],
    errors: Mapping[str, float],
    floor: float,
    found: Mapping[str, Any],
    activation_errors: tuple[float, float] = (ACTIVATION_ERROR, MOST_ACTIVATION_ERROR),
) -> tuple[float, dict[str, float]]:
    """Return a file's expected divergence and its bounds.

    `errors` are the rounding errors by part, `floor` is the divergence of the 16-bit file, and
    `found` has the measurements of the file. `activation_errors` are the expected and the largest
    relative error of the activations of all parts, by default those of llama.cpp. How many tokens
    and answers were compared decides how much each bound allows for chance.
    """
    floor = max(0.0, floor)  # rounding can make a divergence of nothing negative
    quantized = any(errors.values())
    usual, largest = activation_errors
    expected = expect(response, errors, usual * quantized) + floor
    outlying = expect(response, errors, largest * quantized) + floor
    margin = MARGIN * (1 + CHANCES * find_uncertainty(response, found["tokens"]))
    most = max(margin * expected, outlying)
    disagreement = _scale(response, "disagreement", most)
    tokens, learned = found["tokens"], max(1, found["learned_tokens"])
    seen = min(tokens, response["tokens"])
    chance = CHANCES * math.sqrt(disagreement * (1 - min(1, disagreement)) / seen) + CHANCES / seen
    loss = max(most, _scale(response, "loss", most)) + CHANCES * math.sqrt(2 * most / learned)
    bounds = {
        "max_divergence": most,
        "min_agreement": max(0.0, 1 - disagreement - chance),
        "max_perplexity_ratio": math.exp(min(loss, 50.0)),
    }
    if "metric_drop" in found:
        lost = min(1.0, max(0.0, _scale(response, "lost", most)))
        decisive = min(max(1.0, response["answer_tokens"]), DECISIVE_TOKENS)
        drop = 1 - (1 - lost) ** decisive
        by_chance = CHANCES * math.sqrt(found["changed_answers"]) + 1
        bounds["max_metric_drop"] = min(1.0, drop + by_chance / found["asked_rows"])
    return expected, bounds


def _scale(response: Mapping[str, Any], name: str, divergence: float) -> float:
    """Return a measure at a divergence, interpolated over the root of the divergence."""
    small = [one for found in response["small"].values() for one in found]
    noted = sorted((math.sqrt(max(0, one["divergence"])), one[name]) for one in small)
    noted += [(math.sqrt(max(0, one["divergence"])), one[name]) for one in response["levels"]]
    roots, values = zip((0.0, 0.0), *sorted(noted), strict=True)
    root = math.sqrt(max(0.0, divergence))
    beyond = max(1.0, root / max(roots[-1], 1e-12))
    return float(np.interp(root, roots, values) * beyond)
