"""Records the trained model's predictions on held-out rows, the reference for quantized files.

`note` writes them to run/reference once. Files are then measured without the trained model.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..files import read_json, write_json
from ..run import Run
from ..tokens.encoding import NOT_LEARNED
from . import noise_response

ROW_TOKENS: Final = 256  # judged at the end of each row, which has the answer
#: What 16-bit weights and arithmetic may cost, as a relative error of the weights.
SOURCE_ERROR: Final = 0.0125
SOURCE_ERROR_ON_GPU: Final = 0.04  # there the trained model computes in 16 bits as well
#: A change of this module recomputes the reference; a change of the calling script does not.
SCRIPT: Final = "runtime/compare/reference.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How quantized files are measured; run/fidelity.json passes it to the measuring process.

    `rows` names the split whose rows are judged. At most `tokens` positions are judged, and answers
    have at most `answer_tokens`. On a GPU the trained model computes in 16 bits, else in fp32.
    `answered` names the modules that choose the rows and score the answers, and the metric, if
    there is one.
    """

    rows: str
    tokens: int
    answer_tokens: int
    attention: str
    on_gpu: bool
    custom_code: bool = False
    answered: Mapping[str, str] | None = None

    @property
    def source_error(self) -> float:
        """What 16 bits may cost, as a relative error of the weights."""
        return SOURCE_ERROR_ON_GPU if self.on_gpu else SOURCE_ERROR

    def find_rows(self, run: Run) -> Path:
        """Return the file of the judged rows."""
        return run.folder / "data" / f"{self.rows}.jsonl"


def note(run: Run, job: Job) -> None:
    """Write the trained model's logits for every judged token, unless they are written already.

    Each position takes two bytes of disk per word of the vocabulary: 4,096 positions with 128,256
    words take 1 GiB. The most likely token and the true token's loss in nats are stored exactly.
    """
    folder, merged = run.folder / "reference", run.folder / "merged"
    settings = job.tokens, job.attention, str(job.on_gpu), str(job.custom_code)
    identity = run.identify(merged, job.find_rows(run), *settings)
    if run.is_done(identity):
        return
    import torch  # only here: the process that measures a file stays small

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.json").unlink(missing_ok=True)  # written last, when the logits are complete
    model = load(merged, job)
    compute = make_compute(model, job)
    rows = choose_rows(run.read_rows(job.find_rows(run)), job.tokens)
    with (folder / "logits.f16").open("wb") as file:
        for row in rows:
            logits = compute(row)
            row["best"] = logits.argmax(dim=-1).tolist()
            true = torch.tensor(row["ids"][-len(logits) :], device=logits.device)
            row["nats"] = torch.nn.functional.cross_entropy(logits, true, reduction="none").tolist()
            centred = logits - logits.mean(dim=-1, keepdim=True)  # small, so exact in 16 bits
            file.write(centred.half().cpu().numpy().tobytes())
    began = time.monotonic()
    response = noise_response.measure(model, _choose_noise_rows(rows, job.tokens), compute)
    write_json(folder / "response.json", response)
    run.say(f"measured the effect of noise in the weights in {time.monotonic() - began:.0f} s")
    write_json(folder / "rows.json", {"vocabulary": logits.shape[1], "rows": rows})
    run.mark_done(identity, folder)


def load(folder: Path, job: Job) -> Any:
    """Return the model in a folder, on the GPU if the job says so, else in 32 bits."""
    from ..language_models import find_class

    trust = {"trust_remote_code": True} if job.custom_code else {}
    return (
        find_class(folder, **trust)
        .from_pretrained(
            folder,
            dtype="auto" if job.on_gpu else "float32",
            attn_implementation=job.attention,
            device_map="auto" if job.on_gpu else "cpu",  # over several GPUs if one is too small
            use_safetensors=True,
            **trust,
        )
        .eval()
    )


def make_compute(model: Any, job: Job) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that computes the logits of a row with the model from `load`."""
    import torch

    def compute(row: Mapping[str, Any]) -> Any:
        """Return the logits of the evaluated positions, of shape positions x vocabulary."""
        ids, keep = torch.tensor([row["ids"]], device=model.device), len(row["learned"])
        with torch.inference_mode():
            if job.custom_code:  # a model's own code may not know `logits_to_keep`
                return model(ids[:, :-1]).logits[0, -keep:].float()
            return model(ids[:, :-1], logits_to_keep=keep).logits[0].float()

    return compute


def choose_rows(everything: Sequence[Mapping[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """Return rows in a fixed random order that have at most `tokens` judged positions in all.

    They have at most four times as many tokens, so that long prompts do not take hours. At least
    one row is returned if any has two tokens.
    """
    rows: list[dict[str, Any]] = []
    judged = read = 0
    for row in random.Random(0).sample(everything, len(everything)):  # noqa: S311 - a fixed order
        ids = row["input_ids"]
        keep = min(len(ids) - 1, ROW_TOKENS, tokens - judged)
        if keep < 1 or (rows and read + len(ids) > 4 * tokens):
            continue
        labels = row.get("labels", ids)[-keep:]  # a prompt alone counts as a whole
        learned = [label != NOT_LEARNED for label in labels]
        prompt = {"prompt_ids": row["prompt_ids"]} if "prompt_ids" in row else {}
        rows.append({"ids": ids, "learned": learned, **prompt})
        judged, read = judged + keep, read + len(ids)
    return rows


def _choose_noise_rows(rows: Sequence[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """Return the first rows for twelve passes with noise in the weights.

    At least two, so that the difference between rows is known.
    """
    enough = max(512, tokens // 8)
    chosen: list[dict[str, Any]] = []
    judged = read = 0
    for row in rows:
        if len(chosen) > 1 and (judged >= enough or read >= 4 * enough):
            break
        chosen.append(row)
        judged, read = judged + len(row["learned"]), read + len(row["ids"])
    return chosen


def read_response(run: Run, job: Job) -> tuple[dict[str, Any], float]:
    """Return how noise in its weights changes the trained model, and what 16 bits may cost it.

    The cost is in nats per token.
    """
    path = run.folder / "reference" / "response.json"
    found: dict[str, Any] | None = read_json(path)
    if found is None:
        run.stop(
            "the trained model does not fit in this machine's memory, so its bounds cannot be"
            " measured: set bounds in export.verify, or use a larger machine"
        )
    errors = dict.fromkeys(found["small"], job.source_error)
    return found, noise_response.expect(found, errors, activation_error=0.0)
