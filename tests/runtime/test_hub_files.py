"""Files of a data set on the Hub: fetched once, at a commit, from a hub on this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.compiler.resolve.local_hub import COMMIT, serve

FETCH = """
import json, sys
from ftc.runtime.hub_files import fetch
print(json.dumps([str(path) for path in fetch("acme/tickets", sys.argv[1], sys.argv[2:])]))
"""


def fetch(home: Path, endpoint: str, *names: str) -> subprocess.CompletedProcess[str]:
    """Fetch in a process of its own: huggingface_hub reads the environment once."""
    own = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0"}
    return subprocess.run(
        [sys.executable, "-c", FETCH, COMMIT, *names],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_file_is_downloaded_once(tmp_path: Path) -> None:
    """The paths have the order of the names, and later stages need no network for them."""
    parts = {f"data/{n}.jsonl": f'{{"n": {n}}}\n'.encode() for n in range(2)}
    with serve() as hub:
        hub.add("datasets/acme/tickets", parts)
        first = fetch(tmp_path, hub.endpoint, "data/1.jsonl", "data/0.jsonl")
        served = hub.served_bytes
        again = fetch(tmp_path, hub.endpoint, "data/1.jsonl", "data/0.jsonl")
        assert hub.served_bytes == served
        missing = fetch(tmp_path, hub.endpoint, "data/2.jsonl")

    assert first.returncode == 0, first.stderr
    paths = [Path(path) for path in json.loads(first.stdout)]
    assert [json.loads(path.read_bytes())["n"] for path in paths] == [1, 0]
    assert again.stdout == first.stdout
    assert missing.returncode != 0
