"""The published schema, held to the examples by a tool that knows nothing of ftc."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.spec.schema import read_schema

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/spec.json"))
SANE = sorted(
    path for path in (ROOT / "tests/sane_specs").glob("*.json") if path.stem != "manifest"
)


def judge(schema: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    """Run check-jsonschema on files, without a network."""
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema)]
    named = [*command, *map(str, files)]
    return subprocess.run(named, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """Return the schema as `ftc schema` prints it."""
    path = tmp_path / "ftc.schema.json"
    path.write_text(json.dumps(read_schema()), encoding="utf-8")
    return path


def test_every_example_is_valid(schema: Path) -> None:
    """Each example and each sane spec, as an editor would read it."""
    assert len(EXAMPLES) >= 4
    done = judge(schema, *EXAMPLES, *SANE)
    assert done.returncode == 0, done.stdout


def test_a_misspelt_key_is_seen(schema: Path, tmp_path: Path) -> None:
    """Closed everywhere: the tool says which key it is."""
    spec = json.loads(EXAMPLES[0].read_text(encoding="utf-8"))
    wrong = tmp_path / "spec.json"
    wrong.write_text(json.dumps({**spec, "mehtod": "lora"}), encoding="utf-8")
    done = judge(schema, wrong)
    assert done.returncode == 1
    assert "mehtod" in done.stdout
