"""A run is found where it is followed: TensorBoard's reader, an MLflow server, W&B, Trackio.

Each training is told to stop after a few steps and goes on in another process, with smaller passes:
one run has to be there, with the whole curve.
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.process import LIMIT_SECONDS, ROOT, compile_spec, read_rows, run
from tests.tiny_models import add_to, write_model, write_rows

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ftc" / "trackers"
PYTHON: Final = Path(os.environ.get("FTC_TRACKERS", CACHE)) / "bin" / "python"
pytestmark = [
    pytest.mark.prove,
    pytest.mark.skipif(
        not PYTHON.is_file(), reason="the trackers are not installed: run .ci/trackers"
    ),
]
HERE: Final = Path(__file__).parent
TRACKERS: Final = ("tensorboard", "wandb", "mlflow", "trackio")
NAMES: Final = {"project": "tickets", "run": "first-try"}
STEPS: Final = 40
EVERY: Final = 20
SMALL: Final = {"hidden_size": 64, "intermediate_size": 128, "torch_dtype": "float32"}
Points = Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Bundles by their trackers, how their trainings ended, and where MLflow's server is."""

    bundles: Mapping[str, Path]
    codes: Mapping[str, list[int]]
    server: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real MLflow server on a free port; return its address."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    store = f"sqlite:///{folder / 'runs.db'}"
    command = [str(PYTHON), "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", store, "--workers", "1"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address, process, folder / "log")
        yield address
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(LIMIT_SECONDS * 4):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.25)
    pytest.fail(f"the server does not answer: {log.read_text(encoding='utf-8')}")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory, server: str) -> Followed:
    """Train a bundle for each tracker."""
    folder = tmp_path_factory.mktemp("tracked")
    write_rows(folder)
    add_to(write_model(folder / "model") / "config.json", **SMALL)
    built = run(
        sys.executable, HERE.parent / "builders/build_models.py", folder / "model", cwd=folder
    )
    assert built.code == 0, built.said
    bundles = {each: _compile(folder, each) for each in TRACKERS}
    script = (sys.executable, "-m", "tests.end_to_end.methods.run_tracked", str(_packages()))
    extra = {"WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": server, "OMP_NUM_THREADS": "1"}
    # cold: libraries look for trackers while they are imported
    ended = run(*script, *map(str, bundles.values()), cwd=ROOT, extra=extra, cold=True)
    assert ended.code == 0, ended.said
    return Followed(bundles=bundles, codes=json.loads(ended.out.splitlines()[-1]), server=server)


def _compile(folder: Path, tracker: str) -> Path:
    """Compile a bundle that is named after its tracker."""
    spec = {
        "name": tracker,
        "model": "./model",
        "data": {"source": "tickets.csv", "max_rows": 120},
        "hardware": "cpu",
        "method": "full",
        "training": {
            "max_steps": STEPS,
            "global_batch": 8,
            "learning_rate": 0.002,
            "evaluation": {"every_steps": EVERY, "samples": 2},
        },
        "tracking": {"type": tracker, **(NAMES if tracker != "tensorboard" else {})},
        "export": [],
    }
    return compile_spec(folder, spec, name=f"{tracker}.json")


def _packages() -> Path:
    """Return the folder of the trackers' packages."""
    (found,) = PYTHON.parents[1].glob("lib/python3*/site-packages")
    return found


def ask(script: str, *arguments: str | Path) -> Any:
    """Return what a script prints as JSON that runs where the trackers are."""
    done = run(PYTHON, "-c", script, *arguments, cwd=ROOT)
    assert done.code == 0, done.said
    return json.loads(done.out.splitlines()[-1])


def logged(bundle: Path, name: str) -> Points:
    """Return a measurement as the bundle's own log has it, the newest of each step."""
    rows = read_rows(bundle / "run/train/log.jsonl")
    return {row["step"]: row[name] for row in rows if name in row}


def same(found: Mapping[Any, float], bundle: Path, name: str = "loss") -> bool:
    """Return whether a curve is the one that the bundle logged; trackers may keep 32 bits."""
    wanted = logged(bundle, name)
    points = {int(step): value for step, value in found.items()}
    assert set(wanted) >= (set(range(1, STEPS + 1)) if name == "loss" else {EVERY, STEPS})
    return points.keys() == wanted.keys() and all(
        math.isclose(points[step], value, rel_tol=1e-5) for step, value in wanted.items()
    )


def test_every_training_was_stopped_and_went_on(followed: Followed) -> None:
    """The first process left with the code of a preemption, before the last step."""
    assert followed.codes == {each: [75, 0] for each in TRACKERS}
    for bundle in followed.bundles.values():
        rows = read_rows(bundle / "run/train/log.jsonl")
        begun = [row for row in rows if row.get("event") == "began"]
        assert begun[0]["step"] == 0 < begun[1]["step"] < STEPS
        assert begun[1]["micro_batch"] < begun[0]["micro_batch"]


def test_sample_answers_are_logged_at_each_evaluation(followed: Followed) -> None:
    """The same two validation rows each time, with what the model said by then."""
    for bundle in followed.bundles.values():
        rows = read_rows(bundle / "run/train/log.jsonl")
        found = {row["step"]: row["samples"] for row in rows if row.get("event") == "samples"}
        held_out = read_rows(bundle / "run/data/validation.jsonl")[:2]
        assert set(found) == {0, EVERY, STEPS}
        for samples in found.values():
            assert [each["answer"] for each in samples] == [row["answer"] for row in held_out]
            assert all(each["prompt"] for each in samples)
        assert any(each["said"] for each in found[STEPS])


def test_tensorboard_reads_the_run(followed: Followed) -> None:
    """Its own reader finds every scalar of training and validation, and the rate."""
    bundle = followed.bundles["tensorboard"]
    found = ask(
        "import json, sys\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "events = EventAccumulator(sys.argv[1])\n"
        "events.Reload()\n"
        "scalars = {tag: {e.step: e.value for e in events.Scalars(tag)}\n"
        "           for tag in events.Tags()['scalars']}\n"
        "texts = {tag: [e.step for e in events.Tensors(tag)] for tag in events.Tags()['tensors']}\n"
        "print(json.dumps(scalars | texts))\n",
        bundle / "run/train/tensorboard",
    )

    assert found["samples/text_summary"] == [0, EVERY, STEPS]
    assert same(found["train/loss"], bundle)
    assert same(found["eval/loss"], bundle, "eval_loss")
    assert len(found["train/learning_rate"]) == STEPS


def test_an_mlflow_server_has_the_run(followed: Followed) -> None:
    """One run of that name in that experiment, finished, with the parameters and both halves."""
    api = f"{followed.server}/api/2.0/mlflow"
    experiment = _get(f"{api}/experiments/get-by-name?experiment_name=tickets")["experiment"]
    body = {"experiment_ids": [experiment["experiment_id"]]}
    (found,) = _get(f"{api}/runs/search", body)["runs"]
    bundle = followed.bundles["mlflow"]
    run_id = found["info"]["run_id"]

    def curve(name: str) -> Points:
        query = urllib.parse.urlencode({"run_id": run_id, "metric_key": name})
        points = _get(f"{api}/metrics/get-history?{query}")["metrics"]
        return {int(point["step"]): point["value"] for point in points}

    assert (bundle / "run/train/mlflow_run").read_text() == run_id
    assert (found["info"]["run_name"], found["info"]["status"]) == ("first-try", "FINISHED")
    params = {each["key"]: each["value"] for each in found["data"]["params"]}
    assert params["learning_rate"] == "0.002"
    assert same(curve("loss"), bundle)
    assert same(curve("eval_loss"), bundle, "eval_loss")
    listed = _get(f"{api}/artifacts/list?run_id={run_id}&path=samples")["files"]
    assert {each["path"] for each in listed} == {f"samples/step-{n}.md" for n in (0, EVERY, STEPS)}


def _get(address: str, body: Mapping[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_wandb_keeps_the_run_to_be_sent_later(followed: Followed) -> None:
    """Offline, each process leaves a file; they are of one run, and W&B's messages are in them."""
    bundle = followed.bundles["wandb"]
    files = sorted((bundle / "run/train/wandb").glob("offline-run-*/run-*.wandb"))
    told = ask(WANDB_READER, *files)
    curve = {}
    for each in told:
        curve.update({int(step): value for step, value in each["loss"].items()})

    assert len(files) == 2
    note = (bundle / "run/train/wandb_run").read_text()
    assert [(each["id"], each["project"], each["name"]) for each in told] == [
        (note, "tickets", "first-try")
    ] * 2
    assert same(curve, bundle)


#: Records of LevelDB's log format after a head of 7 bytes, each one of W&B's own messages.
WANDB_READER: Final = """
import json, struct, sys
from wandb.proto.wandb_internal_pb2 import Record

def records(data):
    place, whole = 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield Record.FromString(whole)
            whole = b""

told = []
for name in sys.argv[1:]:
    said = {"loss": {}}
    for record in records(open(name, "rb").read()):
        if record.HasField("run"):
            said.update(id=record.run.run_id, project=record.run.project,
                        name=record.run.display_name)
        keys = {"/".join(item.nested_key) or item.key: json.loads(item.value_json)
                for item in record.history.item}
        if "train/loss" in keys:
            said["loss"][int(keys["train/global_step"])] = keys["train/loss"]
    told.append(said)
print(json.dumps(told))
"""


def test_trackio_has_the_run(followed: Followed) -> None:
    """Under the bundle's own folder, one run that holds every step, by Trackio's own reader."""
    bundle = followed.bundles["trackio"]
    runs = ask(
        "import json, os, sys\n"
        "os.environ['TRACKIO_DIR'] = sys.argv[1]\n"
        "import trackio\n"
        "from trackio.sqlite_storage import SQLiteStorage\n"
        "runs = [run.name for run in trackio.Api().runs('tickets')]\n"
        "print(json.dumps({name: SQLiteStorage.get_logs('tickets', name) for name in runs}))\n",
        bundle / "run/train/trackio",
    )

    assert list(runs) == ["first-try"]
    logs = runs["first-try"]
    assert same(
        {log["train/global_step"]: log["train/loss"] for log in _with(logs, "loss")}, bundle
    )


def _with(logs: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [log for log in logs if f"train/{name}" in log]
