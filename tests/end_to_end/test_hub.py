"""Model and data from the Hub, played by a local server that speaks the Hub's protocol."""

from pathlib import Path

import pytest

from tests.compiler.resolve.local_hub import COMMIT, serve
from tests.end_to_end.process import QUICKSTART, read_json, run, write_json

pytest.importorskip("trl")


@pytest.mark.prove
def test_a_bundle_trains_from_the_hub(tmp_path: Path, model: Path, sdist: Path) -> None:
    """Compile and run all stages with nothing local; both revisions are pinned to their commits."""
    spec = {
        "name": "from-hub",
        "model": "acme/tiny",
        "data": "acme/tickets",
        "hardware": "cpu",
        "method": {"type": "lora", "rank": 8},
        "training": {"max_steps": 3, "global_batch": 8},
        "export": ["Q8_0"],
    }
    write_json(tmp_path / "spec.json", spec)
    with serve() as hub:
        hub.add("models/acme/tiny", {path.name: path.read_bytes() for path in model.iterdir()})
        tickets = (QUICKSTART / "tickets.csv").read_bytes()
        hub.add("datasets/acme/tickets", {"train.csv": tickets, "README.md": b"# tickets"})
        online = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_TOKEN": "hf_planted",
            "FTC_LLAMA_CPP_SDIST": str(sdist),
        }
        compiled = run("ftc", "compile", "spec.json", cwd=tmp_path, extra=online)
        ended = run("./run.sh", cwd=tmp_path / "from-hub", extra=online)

    assert compiled.code == 0, compiled.said
    assert ended.code == 0, ended.said
    bundle = tmp_path / "from-hub"
    facts = read_json(bundle / "ftc.lock.json")["facts"]
    assert (facts["model"]["revision"], facts["data"]["revision"]) == (COMMIT, COMMIT)
    report = read_json(bundle / "run" / "data" / "report.json")
    assert report["rows_used"] == facts["data"]["usable_rows"]
    assert (bundle / "run" / "quantize" / "from-hub-Q8_0.gguf").is_file()
    scripts = [path for path in bundle.iterdir() if path.is_file()]
    assert not [path.name for path in scripts if b"hf_planted" in path.read_bytes()]
    weights = f"GET acme/tiny/resolve/{COMMIT}/model.safetensors"
    assert weights in hub.requests
    assert hub.requests.index(weights) > hub.requests.index(
        f"GET datasets/acme/tickets/resolve/{COMMIT}/train.csv"
    )
