"""Scores a model in memory on the files of regression checks."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..files import read_rows, write_json
from ..metric import exact_match, metrics, numeric_match
from ..run import Run
from . import answers, judging, overlap, regression
from .regression import Check, Scores

WINDOW_TOKENS = 256  # of a text, judged at once; shorter for a short text
WINDOWS = 24  # at least, if each has LEAST_TOKENS
LEAST_TOKENS = 16
TEXT_TOKENS = 65_536  # judged of a text, at most
GRADES = {"exact_match": exact_match.grade, "numeric_match": numeric_match.grade}


def examine_kept(
    run: Run, model: Any, tokenizer: Any, checks: Sequence[Check], *, has_template: bool
) -> list[Scores]:
    """Return the model's scores on the file of each check, with the texts of its questions."""
    found: list[Scores] = []
    scores: Scores
    for check in checks:
        path = run.bundle / check["path"]
        if check["kind"] == "prompts":
            scores = _answer(model, tokenizer, check, path, has_template=has_template)
        elif check["kind"] == "text":
            scores = _read(run, model, tokenizer, path)
        else:
            scores = _ask_task(run, model, tokenizer, path)
        found.append(scores)
    return found


def _answer(
    model: Any, tokenizer: Any, check: Check, path: Path, *, has_template: bool
) -> dict[str, Any]:
    """Return for each prompt whether the model's answer is right."""
    rows = list(read_rows(path))
    encode = partial(_encode_chat if has_template else _encode_text, tokenizer)
    prompts = [{"prompt_ids": encode(row["prompt"])} for row in rows]
    said = answers.write(model, tokenizer, prompts, check["answer_tokens"])
    return {
        "measure": metrics.title(check["metric"]),
        "values": GRADES[check["metric"]](said, [row["answer"] for row in rows]),
        "higher": True,
        "percent": True,
        "texts": [row["prompt"] for row in rows],
    }


def _encode_text(tokenizer: Any, prompt: str) -> list[int]:
    ids: list[int] = tokenizer(prompt)["input_ids"]
    return ids


def _encode_chat(tokenizer: Any, prompt: str) -> list[int]:
    turn = {"role": "user", "content": prompt}
    text = tokenizer.apply_chat_template([turn], tokenize=False, add_generation_prompt=True)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _read(run: Run, model: Any, tokenizer: Any, path: Path) -> dict[str, Any]:
    """Return the loss of each window of a text; each window is read without the ones before."""
    text = path.read_text(encoding="utf-8-sig")
    ids = tokenizer(text, add_special_tokens=False)["input_ids"][:TEXT_TOKENS]
    size = max(LEAST_TOKENS, min(WINDOW_TOKENS, len(ids) // WINDOWS))
    windows = [ids[start : start + size] for start in range(0, len(ids) - size + 1, size)]
    if len(windows) < metrics.LEAST_ROWS:
        run.stop(f"{path.name} has {len(ids)} tokens, too few to tell a loss from noise")
    pairs = [(window, window) for window in windows]
    nats, tokens = judging.measure_loss(model, pairs, judging.choose_padding(tokenizer))
    return {
        "measure": "perplexity",
        "values": nats,
        "tokens": tokens,
        "higher": False,
        "percent": False,
        "texts": [tokenizer.decode(window) for window in windows],
    }


def _ask_task(run: Run, model: Any, tokenizer: Any, path: Path) -> dict[str, Any]:
    """Return the first metric of a task's questions, by EleutherAI's evaluation harness."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    tasks = TaskManager(include_path=path.parent, include_defaults=False)
    places = {name: entry.yaml_path for name, entry in tasks.task_index.items()}
    name = next((name for name, at in places.items() if at and at.samefile(path)), None)
    if name is None:
        run.stop(f"{path.name} is not a task that the evaluation harness can read")
    judged = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=judging.BATCH_ROWS)
    try:
        with contextlib.chdir(path.parent):  # its data files are beside it
            found = simple_evaluate(
                model=judged, tasks=[name], task_manager=tasks, bootstrap_iters=0
            )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        run.stop(f"{path.name} cannot be asked: {type(error).__name__}: {error}")
    samples = found["samples"].get(name)  # a group has none of its own
    if not samples:
        run.stop(f"{path.name} asks no question")
    metric = samples[0]["metrics"][0]
    kept = [one for one in samples if one["filter"] == samples[0]["filter"]]
    values = [one[metric] for one in kept]
    if not all(isinstance(value, int | float) for value in values):
        run.stop(f"{path.name}: {metric} has no number per question: list another metric first")
    if len(values) < metrics.LEAST_ROWS:
        run.stop(f"{path.name} has {len(values)} questions, too few to tell a loss from noise")
    higher = bool(found["higher_is_better"][name][metric])
    return {
        "measure": metric,
        "values": [float(value) for value in values],
        "higher": higher,
        "percent": higher and all(0 <= value <= 1 for value in values),
        "texts": [list_texts(one["doc"]) for one in kept],
    }


def list_texts(doc: Mapping[str, Any]) -> str:
    """Return the texts of a question of the harness, one per line."""
    return "\n".join(value for value in doc.values() if isinstance(value, str))


def compare_kept(
    run: Run,
    tokenizer: Any,
    checks: Sequence[Check],
    before: Sequence[Scores],
    after: Sequence[Scores],
) -> Path:
    """Judge and print each check, with how many of its questions are in training rows.

    Returns the file that was written, run/evaluate/regression.json.
    """
    judged = regression.judge(checks, before, after)
    overlaps = [
        overlap.measure(each["texts"], read_training_texts(run, tokenizer)) for each in after
    ]
    entries = [each | {"overlap": found} for each, found in zip(judged, overlaps, strict=True)]
    for line in regression.lines(entries):
        run.say(line)
    path = run.folder / regression.REPORT
    write_json(path, regression.describe(entries))
    return path


def read_training_texts(run: Run, tokenizer: Any) -> Iterator[str]:
    """Yield the texts of the training rows."""
    for row in run.read_rows(run.folder / "data" / "train.jsonl"):
        for name, ids in row.items():
            if name.endswith("_ids"):
                yield tokenizer.decode(ids, skip_special_tokens=True)
