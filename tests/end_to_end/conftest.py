"""What end-to-end tests start from: a small model, a part of the tickets, and one whole run."""

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.process import QUICKSTART, Ended, compile_spec, run

INTENTS = ("cancel_order", "discount_code", "damaged_item", "password_reset")
ROWS = 640
STEPS = 50
SETTINGS = {
    "max_steps": STEPS,
    "global_batch": 16,
    "learning_rate": 0.002,
    "evaluation": {"every_steps": 25},
}


PLANTED = "hf_PLANTEDPLANTEDPLANTEDPLANTEDPLANTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A bundle of the quickstart that ran to its end; nobody may change it."""

    bundle: Path
    ended: Ended


@pytest.fixture(scope="session")
def tickets() -> list[list[str]]:
    """Return the tickets of four intents, blemishes included, the header first."""
    with (QUICKSTART / "tickets.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return [header, *[row for row in rows if row[1] in INTENTS][:ROWS]]


def write_table(path: Path, rows: list[list[str]]) -> None:
    """Write rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="session")
def whole_run(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]], sdist: Path
) -> WholeRun:
    """Compile a miniature of the quickstart and run all of its stages."""
    folder = tmp_path_factory.mktemp("quickstart")
    (folder / "model").symlink_to(model)
    write_table(folder / "tickets.csv", tickets)
    spec = {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": SETTINGS,
        "export": ["Q8_0", "Q4_K_M"],
    }
    bundle = compile_spec(folder, spec)
    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY")
    secrets = dict.fromkeys(names, PLANTED)
    ended = run("./run.sh", cwd=bundle, extra={"FTC_LLAMA_CPP_SDIST": str(sdist), **secrets})
    return WholeRun(bundle=bundle, ended=ended)
